/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes one bit in the memory of a program. Knows neither events nor sets.
 */
#ifndef UE_USER_BIT_H
#define UE_USER_BIT_H

#include <linux/types.h>

struct mm_struct;
struct page;

/**
 * struct ue_user_bit - a bit in the memory of a program
 * @address: of the word that holds the bit, a multiple of @size
 * @nr: number of the bit, from 0 for the least significant one of the word
 * @size: of the word, 4 or 8 bytes
 */
struct ue_user_bit {
	unsigned long address;
	u8 nr;
	u8 size;
};

/**
 * ue_user_bit_write() - write a bit if that needs no page fault
 * @mm: the address space; the caller holds its memory (mmget()) and its
 *	mmap_lock for reading
 * @holders: how many references to its memory are not the program's; if there
 *	are no others, the program has exited, or called exec
 * @bit: the bit
 * @value: its new value
 * @page: the page from ue_user_bit_fault_in(), if the mmap_lock has been held
 *	since; else NULL
 *
 * The write is one atomic operation on the word and changes no other bit.
 *
 * Context: may sleep without a @page, but does not wait for a program.
 * Return: 0; -ESRCH if the program has exited; -EAGAIN if the page is absent, is read-only, or was
 * unmapped since the fault; if it is a file's page that is locked; if it is a clean page
 * of a file that can write back (mapping_can_writeback()); or if pinning it might fault.
 */
int ue_user_bit_write(struct mm_struct *mm, int holders,
		      const struct ue_user_bit *bit, bool value,
		      struct page *page);

/**
 * ue_user_bit_write_own() - write a bit of the current address space
 * @bit: the bit
 * @value: its new value
 * @page: as for ue_user_bit_write()
 *
 * Tries an atomic operation on user memory first.
 *
 * Context: mmap_lock held for reading; does not sleep.
 * Return: 0; -EAGAIN if the bit cannot be written without @page; as
 * ue_user_bit_write().
 */
int ue_user_bit_write_own(const struct ue_user_bit *bit, bool value,
			  struct page *page);

/**
 * ue_user_bit_correct_own() - write a bit of the current address space if it differs
 * @bit: the bit
 * @value: what it has to be
 * @page: as for ue_user_bit_write_own()
 *
 * A forked child that only reads the bit does not have to copy the page.
 *
 * Context: as ue_user_bit_write_own().
 * Return: 0; -EAGAIN if a page fault is needed.
 */
int ue_user_bit_correct_own(const struct ue_user_bit *bit, bool value,
			    struct page *page);

/**
 * ue_user_bit_is_shared() - may other address spaces have the bit's word too?
 * @mm: the address space
 * @bit: the bit
 *
 * Context: mmap_lock of @mm held for reading.
 * Return: true if the word is in a shared mapping that may be written.
 */
bool ue_user_bit_is_shared(struct mm_struct *mm, const struct ue_user_bit *bit);

/**
 * ue_user_bit_is_permitted() - check the protection key of a bit's memory
 * @bit: the bit, in the current address space
 *
 * Context: mmap_lock held for reading.
 * Return: false if the key forbids the current thread to write there.
 */
bool ue_user_bit_is_permitted(const struct ue_user_bit *bit);

/**
 * ue_user_bit_has_server() - does a program have to fill the memory of a bit?
 * @mm: the address space
 * @bit: the bit
 *
 * That may be the task that waits for the page: with userfaultfd and FUSE. A page that the
 * program has to itself, and that was swapped out, needs no other program. But with write
 * protection by userfaultfd, it may.
 *
 * Context: mmap_lock of @mm held for reading.
 * Return: true if a page fault there may wait for a program.
 */
bool ue_user_bit_has_server(struct mm_struct *mm, const struct ue_user_bit *bit);

/**
 * ue_user_bit_fault_in() - make the page of a bit present, writable and dirty
 * @mm: the current address space, with its mmap_lock held for reading
 * @bit: the bit
 * @locked: set to 0 if the mmap_lock was released, else to 1
 * @page: set to the page, pinned, if the mmap_lock is still held; the caller
 *	calls unpin_user_page(). Else set to NULL.
 *
 * Context: may wait for the program indefinitely, in a killable sleep. The
 * caller holds no other lock.
 * Return: 0; -EFAULT if the program itself could not write there; -ENOMEM;
 * -EINTR if the current task was killed.
 */
int ue_user_bit_fault_in(struct mm_struct *mm, const struct ue_user_bit *bit,
			 int *locked, struct page **page);

#endif /* UE_USER_BIT_H */
