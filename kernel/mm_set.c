// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replaces and copies the enabler set of an address space.
 */
#include <linux/module.h>

#include "enabler.h"
#include "mm.h"
#include "mm_set.h"
#include "worker.h"

void ue_mm_join_set(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (ue_mm->set)
		hlist_add_head(&ue_mm->of_set, &ue_mm->set->mms);
}

void ue_mm_replace_set(struct ue_mm *ue_mm, struct ue_enabler_set *set)
{
	struct ue_enabler_set *old = ue_mm->set;

	/* A forked child that was killed before it ran is in no list. */
	hlist_del_init(&ue_mm->of_set);
	spin_lock(&ue_mm->lock);
	ue_mm->set = set;
	spin_unlock(&ue_mm->lock);
	ue_mm_join_set(ue_mm);
	if (old)
		ue_enabler_set_put_locked(old);
}

/*
 * Replaces a shared set by a copy, unless another thread has done so by then.
 * The additional reference keeps the set unchanged while it is copied.
 */
static int ue_mm_copy_set(struct ue_mm *ue_mm, unsigned long max, gfp_t gfp)
{
	struct ue_enabler_set *set = ue_mm->set, *copy;

	atomic_inc(&set->references);
	ue_enabler_unlock();
	copy = ue_enabler_set_copy(set, max, gfp);
	ue_enabler_lock();

	if (!IS_ERR(copy)) {
		if (copy->nr)
			__module_get(THIS_MODULE);
		if (ue_mm->set == set) {
			/*
			 * Before the address space has the copy: a fork that
			 * takes it must see the pending update.
			 */
			if (copy->changes)
				ue_worker_start(ue_mm);
			ue_mm_replace_set(ue_mm, copy);
		} else {
			ue_enabler_set_put_locked(copy);
		}
	}
	ue_enabler_set_put_locked(set);
	return PTR_ERR_OR_ZERO(copy);
}

int ue_mm_own_set(struct ue_mm *ue_mm, unsigned long max, gfp_t gfp)
{
	int err = 0;

	lockdep_assert_held(&ue_enabler_mutex);
	while (!err && atomic_read(&ue_mm->set->references) > 1)
		err = ue_mm_copy_set(ue_mm, max, gfp);
	return err;
}

bool ue_mm_lock_own_set(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	spin_lock(&ue_mm->lock);
	if (atomic_read(&ue_mm->set->references) == 1) {
		/* For sparse: the caller unlocks. */
		__release(&ue_mm->lock);
		return true;
	}
	spin_unlock(&ue_mm->lock);
	return false;
}
