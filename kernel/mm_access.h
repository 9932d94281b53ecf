/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses a bit of an address space, with page faults where they are needed.
 */
#ifndef UE_MM_ACCESS_H
#define UE_MM_ACCESS_H

#include "user_bit.h"

struct ue_mm;

/**
 * struct ue_access - a bit that is to be accessed
 * @bit: the bit
 * @page: its page, pinned, if it was faulted in and the mmap_lock has been held
 *	since; else NULL
 * @tried: for the function that writes: how many bits it has tried to write
 * @with_page: call the function that writes with a page only
 */
struct ue_access {
	struct ue_user_bit bit;
	struct page *page;
	unsigned int tried;
	bool with_page;
};

/**
 * ue_mm_access() - call a function that writes a bit, with page faults if needed
 * @ue_mm: the current task's address space, or that of the calling worker,
 *	which holds the memory (mmget())
 * @access: the bit, without a page
 * @write: returns -EAGAIN if it needs a page fault first, and -ESRCH if the program
 *	has exited. It is called with the mmap_lock held for reading and with
 *	ue_enabler_mutex held.
 *
 * Context: may sleep; no lock held. Waits for the program's memory, in a
 * killable sleep, with at most the mmap_lock held.
 * Return: 0; what else @write returns; -EFAULT if the page cannot be written;
 * -ENOMEM; -EINTR if the current task was killed; -ESRCH if the program has
 * exited (not for the current task's own address space).
 */
int ue_mm_access(struct ue_mm *ue_mm, struct ue_access *access,
		 int (*write)(struct ue_mm *ue_mm, struct ue_access *access));

#endif /* UE_MM_ACCESS_H */
