// SPDX-License-Identifier: GPL-2.0-only
/*
 * The address spaces that have enablers.
 *
 * An address space is known by its mm_struct. One mmu_notifier for each holds
 * the struct mm_struct (not its memory), and tells when its last user is
 * gone: at exit, at exec.
 *
 * A fork shares the parent's set with the child, which costs the same however
 * many enablers it has. Who registers or unregisters then copies the set
 * first. A share is taken where nothing can sleep, and so without
 * ue_enabler_mutex: while an address space has the only share of its set,
 * another can come only through itself, with its @lock held.
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "catch_up.h"
#include "enabler.h"
#include "process.h"
#include "tally.h"

/* Inlined, as the table's own function would not be. */
static u32 ue_hash_mm(const void *key, u32 length, u32 seed)
{
	return hash_ptr(*(struct mm_struct * const *)key, 32) ^ seed;
}

static const struct rhashtable_params ue_by_mm_params = {
	.hashfn = ue_hash_mm,
	.key_len = sizeof(struct mm_struct *),
	.key_offset = offsetof(struct ue_process, mm),
	.head_offset = offsetof(struct ue_process, by_mm),
	.automatic_shrinking = true,
};

/* Changed with ue_enabler_mutex held; ue_by_mm is read under RCU as well. */
static struct rhashtable ue_by_mm;
static LIST_HEAD(ue_all);

/* Those that ue_free_notifier() has still to be called for. */
static atomic_t ue_nr_notifiers;

static work_func_t ue_process_work;

struct ue_process *ue_process_find(struct mm_struct *mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	return rhashtable_lookup_fast(&ue_by_mm, &mm, ue_by_mm_params);
}

/* Who looks an address space up under RCU may be reading it still. */
void ue_process_put(struct ue_process *process)
{
	if (!refcount_dec_and_test(&process->references))
		return;
	ue_tally(UE_TALLY_PROCESSES, -1);
	kfree_rcu(process, rcu);
}

static void ue_set_put(struct ue_enabler_set *set)
{
	bool used;

	lockdep_assert_held(&ue_enabler_mutex);
	if (!atomic_dec_and_test(&set->shares))
		return;
	used = set->nr;
	ue_enabler_set_free(set);
	/*
	 * The module is in use while a set has enablers. Unloading begins with
	 * the events, and may from here on.
	 */
	if (used)
		module_put(THIS_MODULE);
}

void ue_share_drop(struct ue_enabler_set *set)
{
	mutex_lock(&ue_enabler_mutex);
	ue_set_put(set);
	mutex_unlock(&ue_enabler_mutex);
}

/* Takes the caller's share of @set, if any, and gives up that of the old. */
static void ue_process_set_set(struct ue_process *process,
			       struct ue_enabler_set *set)
{
	struct ue_enabler_set *old = process->set;

	if (old)
		list_del(&process->in_set);
	spin_lock(&process->lock);
	process->set = set;
	spin_unlock(&process->lock);
	if (set)
		list_add(&process->in_set, &set->processes);
	if (old)
		ue_set_put(old);
}

/* Return: false when it has been forgotten already. */
static bool ue_process_forget(struct ue_process *process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (!process->set)
		return false;
	rhashtable_remove_fast(&ue_by_mm, &process->by_mm, ue_by_mm_params);
	list_del(&process->all);
	ue_catch_up_done(process);
	ue_process_set_set(process, NULL);
	return true;
}

static struct ue_process *ue_from_notifier(struct mmu_notifier *notifier)
{
	return container_of(notifier, struct ue_process, notifier);
}

/* With mmap_lock held for writing. */
static struct mmu_notifier *ue_alloc_notifier(struct mm_struct *mm)
{
	struct ue_process *process = kzalloc(sizeof(*process),
					     GFP_KERNEL_ACCOUNT);

	if (!process)
		return ERR_PTR(-ENOMEM);
	ue_tally(UE_TALLY_PROCESSES, 1);
	atomic_inc(&ue_nr_notifiers);
	process->mm = mm;
	refcount_set(&process->references, 1);
	INIT_WORK(&process->work, ue_process_work);
	INIT_LIST_HEAD(&process->clearing);
	INIT_LIST_HEAD(&process->expected);
	spin_lock_init(&process->lock);
	return &process->notifier;
}

static void ue_free_notifier(struct mmu_notifier *notifier)
{
	ue_process_put(ue_from_notifier(notifier));
	if (atomic_dec_and_test(&ue_nr_notifiers))
		wake_up_var(&ue_nr_notifiers);
}

/*
 * The last user of the address space is gone: exit, or exec. The caller may
 * hold event_mutex (uprobes lets go of address spaces under it), so that it
 * can't be taken here.
 */
static void ue_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	bool forgotten;

	mutex_lock(&ue_enabler_mutex);
	forgotten = ue_process_forget(ue_from_notifier(notifier));
	mutex_unlock(&ue_enabler_mutex);
	if (forgotten)
		mmu_notifier_put(notifier);
}

/*
 * A fork says this of each private mapping before it copies it. What is
 * written to a bit from here on, the child's copy may miss. The note is the
 * forking task's: of two that fork at once, the one whose note is lost takes
 * its child's copy for stale. Others than forks say this too, and forks that
 * fail: then the note is older than need be.
 */
static int ue_invalidate_range_start(struct mmu_notifier *notifier,
				     const struct mmu_notifier_range *range)
{
	struct ue_process *process = ue_from_notifier(notifier);

	if (range->event != MMU_NOTIFY_PROTECTION_PAGE ||
	    current->mm != process->mm ||
	    READ_ONCE(process->forking) == current)
		return 0;

	spin_lock(&process->lock);
	/* Pairs with ue_process_changed(). */
	process->fork_changes = smp_load_acquire(&process->changes);
	process->fork_behind = READ_ONCE(process->behind);
	WRITE_ONCE(process->forking, current);
	spin_unlock(&process->lock);
	return 0;
}

static const struct mmu_notifier_ops ue_notifier_ops = {
	.alloc_notifier = ue_alloc_notifier,
	.free_notifier = ue_free_notifier,
	.release = ue_release,
	.invalidate_range_start = ue_invalidate_range_start,
};

/* It is known as long as it has a user, which the caller is. */
static struct ue_process *ue_process_find_current(void)
{
	struct mm_struct *mm = current->mm;

	return rhashtable_lookup_fast(&ue_by_mm, &mm, ue_by_mm_params);
}

bool ue_process_is_known(void)
{
	return ue_process_find_current();
}

bool ue_process_share(struct ue_share *share)
{
	struct ue_process *process = ue_process_find_current();
	struct ue_enabler_set *set;
	bool shared = false;

	if (process) {
		spin_lock(&process->lock);
		set = process->set;
		if (set->nr) {
			shared = true;
			atomic_inc(&set->shares);
			share->set = set;
			/* Pairs with ue_registrations_update(). */
			share->changes = smp_load_acquire(&set->changes);
			share->stale = process->forking != current ||
				process->fork_behind ||
				process->fork_changes !=
				READ_ONCE(process->changes);
		}
		if (process->forking == current)
			WRITE_ONCE(process->forking, NULL);
		spin_unlock(&process->lock);
	}
	return shared;
}

static int ue_process_remember(struct ue_process *process,
			       struct ue_enabler_set *set)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (process->set)
		return -EEXIST;
	/* Before it can be found, so that who finds it finds a set. */
	ue_process_set_set(process, set);
	if (rhashtable_insert_fast(&ue_by_mm, &process->by_mm,
				   ue_by_mm_params)) {
		list_del(&process->in_set);
		process->set = NULL;
		return -ENOMEM;
	}
	list_add(&process->all, &ue_all);
	return 0;
}

int ue_process_know(struct mm_struct *mm, struct ue_enabler_set *set)
{
	struct mmu_notifier *notifier;
	int err;

	/* Gives the same one to two threads that come at once. */
	notifier = mmu_notifier_get(&ue_notifier_ops, mm);
	if (IS_ERR(notifier))
		return PTR_ERR(notifier);

	mutex_lock(&ue_enabler_mutex);
	err = ue_process_remember(ue_from_notifier(notifier), set);
	mutex_unlock(&ue_enabler_mutex);
	if (err)
		mmu_notifier_put(notifier);
	return err;
}

/* Replaces the set by a copy, unless the two differ in size by now. */
static bool ue_process_take_copy(struct ue_process *process,
				 struct ue_enabler_set *copy,
				 struct list_head *blank, unsigned int nr)
{
	if (process->set->nr != nr)
		return false;
	ue_enabler_set_copy(copy, process->set, blank);
	if (copy->nr)
		__module_get(THIS_MODULE);
	ue_process_set_set(process, copy);
	return true;
}

static int ue_process_copy_set(struct ue_process *process, gfp_t gfp)
{
	unsigned int nr = process->set->nr;
	struct ue_enabler_set *copy;
	LIST_HEAD(blank);
	int err = -ENOMEM;

	mutex_unlock(&ue_enabler_mutex);
	copy = ue_enabler_set_create(gfp);
	if (copy)
		err = ue_enablers_create(&blank, nr, gfp);
	mutex_lock(&ue_enabler_mutex);

	if (err || !ue_process_take_copy(process, copy, &blank, nr)) {
		ue_enablers_free(&blank);
		if (copy)
			ue_enabler_set_free(copy);
	}
	return err;
}

int ue_process_own_set(struct ue_process *process, gfp_t gfp)
{
	int err;

	for (;;) {
		lockdep_assert_held(&ue_enabler_mutex);
		spin_lock(&process->lock);
		if (atomic_read(&process->set->shares) == 1) {
			/* From here on it is the caller's; sparse must be told. */
			__release(&process->lock);
			return 0;
		}
		spin_unlock(&process->lock);
		err = ue_process_copy_set(process, gfp);
		if (err)
			return err;
	}
}

int ue_processes_init(work_func_t work)
{
	ue_process_work = work;
	return rhashtable_init(&ue_by_mm, &ue_by_mm_params);
}

/*
 * No set has enablers any more, or the module would be in use; but there may
 * be address spaces that had some.
 */
void ue_processes_exit(void)
{
	struct ue_process *process, *next;

	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry_safe(process, next, &ue_all, all) {
		ue_process_forget(process);
		mmu_notifier_put(&process->notifier);
	}
	mutex_unlock(&ue_enabler_mutex);

	/* Waits for ue_release(), and then for each ue_free_notifier(). */
	mmu_notifier_synchronize();
	wait_var_event(&ue_nr_notifiers, !atomic_read(&ue_nr_notifiers));
	rhashtable_destroy(&ue_by_mm);
}
