// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses a bit of an address space. Page faults are taken with no lock held
 * except the mmap_lock.
 */
#include <linux/mm.h>

#include "enabler.h"
#include "mm.h"
#include "mm_access.h"

/* The page may be reclaimed again after each fault; this limits the attempts. */
#define UE_FAULTS_MAX	16

int ue_mm_access(struct ue_mm *ue_mm, struct ue_access *access,
		 int (*write)(struct ue_mm *ue_mm, struct ue_access *access))
{
	struct mm_struct *mm = ue_mm->mm;
	int locked = 0, err = 0;

	for (int faults = 0; !err; faults++) {
		/* A killable wait, which is not reported as a hung task. */
		if (!locked && mmap_read_lock_killable(mm))
			return -EINTR;
		locked = 1;
		mutex_lock(&ue_enabler_mutex);
		err = ue_mm_has_exited(ue_mm, 0) ? -ESRCH :
						   write(ue_mm, access);
		mutex_unlock(&ue_enabler_mutex);
		if (access->page)
			unpin_user_page(access->page);
		access->page = NULL;
		if (err != -EAGAIN || faults == UE_FAULTS_MAX)
			break;
		/* Most faults keep the mmap_lock: no fork runs before the write. */
		err = ue_user_bit_fault_in(mm, &access->bit, &locked,
					   &access->page);
	}
	if (locked)
		mmap_read_unlock(mm);
	return err == -EAGAIN ? -EFAULT : err;
}
