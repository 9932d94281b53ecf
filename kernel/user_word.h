/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One bit of a word in a program's memory. Knows neither events nor sets.
 */
#ifndef UE_USER_WORD_H
#define UE_USER_WORD_H

#include <linux/types.h>

struct mm_struct;
struct page;

/**
 * struct ue_user_bit - a bit in a program's memory
 * @address: of the word, a multiple of @size
 * @bit: counted from the word's least significant one
 * @size: of the word, 4 or 8 bytes
 */
struct ue_user_bit {
	unsigned long address;
	u8 bit;
	u8 size;
};

/**
 * ue_user_bit_write() - write the bit, if that needs no waiting
 * @mm: whose memory; held by the caller (mmget()), its mmap_lock held for
 *	reading
 * @word: which bit
 * @value: of the bit
 * @page: the page that ue_user_bit_fault_in() gave, with mmap_lock held since;
 *	or NULL
 *
 * One atomic operation on the word; no other bit is touched.
 *
 * Context: may sleep, but waits for no program.
 * Return: 0; -EAGAIN when the page is absent, not writable as it is, locked, or a
 * clean one of a file that is written back, or can't be told to be none of these.
 */
int ue_user_bit_write(struct mm_struct *mm, const struct ue_user_bit *word,
		      bool value, struct page *page);

/**
 * ue_user_bit_clear() - clear the bit for good, if that needs no waiting
 * @mm: as above
 * @word: which bit
 * @page: as above
 *
 * Cheaper in the current task's own memory, as it need not be memory that others
 * can write as well.
 *
 * Context, Return: as above.
 */
int ue_user_bit_clear(struct mm_struct *mm, const struct ue_user_bit *word,
		      struct page *page);

/**
 * ue_user_bit_fault_in() - make the bit's page present, writable and dirty
 * @mm: as above
 * @word: which bit
 * @locked: set to 0 when the mmap_lock is not held any more
 * @page: set to the page as long as that is held, to be given back with
 *	unpin_user_page(); else to NULL
 *
 * Context: waits for the program, as long as that pleases, such that the kernel
 * does not report a hung task. No lock but the mmap_lock may be held.
 * Return: 0; -EFAULT where the program itself could not write; -ENOMEM;
 * -EINTR when the caller is being killed.
 */
int ue_user_bit_fault_in(struct mm_struct *mm, const struct ue_user_bit *word,
			 int *locked, struct page **page);

#endif /* UE_USER_WORD_H */
