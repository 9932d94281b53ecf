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

/*
 * In the program itself, where writing a bit does not sleep, or in its worker, which no
 * limit of the program applies to.
 */
static void ue_access_lock(const struct ue_mm *ue_mm)
{
	if (ue_mm->mm == current->mm)
		ue_enabler_lock();
	else
		mutex_lock(&ue_enabler_mutex);
}

static void ue_access_unlock(const struct ue_mm *ue_mm)
{
	if (ue_mm->mm == current->mm)
		ue_enabler_unlock();
	else
		mutex_unlock(&ue_enabler_mutex);
}

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
		err = -EAGAIN;
		if (access->page || !access->with_page) {
			ue_access_lock(ue_mm);
			err = write(ue_mm, access);
			ue_access_unlock(ue_mm);
		}
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
