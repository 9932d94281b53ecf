// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child inherits the enabler set that its parent had when fork copied the
 * memory, because the enable bits in the copy belong to that set. The kernel
 * reports the copy and, later, the new child (sched_process_fork). A snapshot
 * keeps a reference to the set in between.
 *
 * Neither report may sleep, so neither takes ue_enabler_mutex. Without the
 * mutex, a reference to a set is taken only through an address space that has
 * the set, with the lock of that address space held.
 */
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/task_work.h>

#include "debug_counter.h"
#include "enabler.h"
#include "fork_snapshot.h"
#include "mm.h"

/* With this many snapshots, all expire before another one is added. */
#define UE_SNAPSHOTS_MAX	8

/**
 * struct ue_fork_snapshot - a fork that has begun to copy the memory
 * @expire: ends the snapshot in the forking task, after the fork
 * @of_mm: node in the list of @ue_mm
 * @ue_mm: the address space that is copied; a reference once @expiry_queued is
 *	set
 * @task: the forking task; a reference
 * @inherited: for the child; its set is NULL once the child has got it
 * @expiry_queued: @expire is queued
 */
struct ue_fork_snapshot {
	struct callback_head expire;
	struct hlist_node of_mm;
	struct ue_mm *ue_mm;
	struct task_struct *task;
	struct ue_inherited_set inherited;
	bool expiry_queued;
};

static void ue_snapshot_free(struct ue_fork_snapshot *snapshot)
{
	ue_debug_count(UE_COUNT_FORK_SNAPSHOTS, -1);
	put_task_struct(snapshot->task);
	kfree(snapshot);
}

/* If the fork has failed, the snapshot still has its reference to the set. */
static void ue_snapshot_expire(struct callback_head *task_work)
{
	struct ue_fork_snapshot *snapshot =
		container_of(task_work, struct ue_fork_snapshot, expire);
	struct ue_mm *ue_mm = snapshot->ue_mm;

	spin_lock(&ue_mm->lock);
	hlist_del_init(&snapshot->of_mm);
	spin_unlock(&ue_mm->lock);
	if (snapshot->inherited.set)
		ue_enabler_set_put(snapshot->inherited.set);
	ue_snapshot_free(snapshot);
	ue_mm_put(ue_mm);
	/* At unload, synchronize_rcu_tasks() waits for the rest of this. */
	module_put(THIS_MODULE);
}

/*
 * If the expiry is queued, it drops the set and frees the snapshot. Else the
 * address space has the same set: this put is not the last.
 */
static void ue_snapshot_remove(struct ue_fork_snapshot *snapshot)
{
	lockdep_assert_held(&snapshot->ue_mm->lock);
	hlist_del_init(&snapshot->of_mm);
	if (snapshot->expiry_queued)
		return;
	snapshot->ue_mm->nr_snapshots--;
	if (snapshot->inherited.set)
		atomic_dec(&snapshot->inherited.set->references);
	ue_snapshot_free(snapshot);
}

void ue_fork_snapshots_expire(struct ue_mm *ue_mm)
{
	struct ue_fork_snapshot *snapshot;
	struct hlist_node *next;

	lockdep_assert_held(&ue_mm->lock);
	hlist_for_each_entry_safe(snapshot, next, &ue_mm->snapshots, of_mm) {
		if (snapshot->expiry_queued)
			continue;
		init_task_work(&snapshot->expire, ue_snapshot_expire);
		if (task_work_add(snapshot->task, &snapshot->expire,
				  TWA_RESUME)) {
			/* An exiting task does not fork. */
			ue_snapshot_remove(snapshot);
			continue;
		}
		snapshot->expiry_queued = true;
		ue_mm->nr_snapshots--;
		refcount_inc(&ue_mm->references);
		/* The set has enablers, which hold a reference to the module. */
		__module_get(THIS_MODULE);
	}
}

/* Return: false if the set has no enablers. */
static bool ue_reference_set(struct ue_mm *ue_mm,
			     struct ue_inherited_set *inherited)
{
	struct ue_enabler_set *set = ue_mm->set;

	lockdep_assert_held(&ue_mm->lock);
	if (!set || !set->nr)
		return false;
	atomic_inc(&set->references);
	inherited->set = set;
	/* Pairs with ue_update_event(). */
	inherited->changes = smp_load_acquire(&set->changes);
	/* Pairs with ue_worker_try_finish(). */
	inherited->stale = smp_load_acquire(&ue_mm->update_pending);
	inherited->notifier_address = 0;
	return true;
}

/* Return: the current task's snapshot that no child has used, or NULL. */
static struct ue_fork_snapshot *ue_snapshot_find(struct ue_mm *ue_mm)
{
	struct ue_fork_snapshot *snapshot;

	lockdep_assert_held(&ue_mm->lock);
	hlist_for_each_entry(snapshot, &ue_mm->snapshots, of_mm) {
		if (snapshot->task == current && snapshot->inherited.set)
			return snapshot;
	}
	return NULL;
}

/* Return: false if the current task has no snapshot. */
static bool ue_inherit_snapshot(struct ue_mm *ue_mm,
				struct ue_inherited_set *inherited)
{
	struct ue_fork_snapshot *snapshot = ue_snapshot_find(ue_mm);

	if (!snapshot)
		return false;
	*inherited = snapshot->inherited;
	snapshot->inherited.set = NULL;
	ue_snapshot_remove(snapshot);
	return true;
}

/* Without a snapshot, the present set is all that is known. */
static bool ue_inherit_present_set(struct ue_mm *ue_mm,
				   struct ue_inherited_set *inherited)
{
	if (!ue_reference_set(ue_mm, inherited))
		return false;
	inherited->stale = true;
	if (!READ_ONCE(ue_mm->snapshots_missing))
		inherited->notifier_address =
			ue_mm->notifier.interval_tree.start;
	return true;
}

bool ue_fork_inherit(struct ue_inherited_set *inherited)
{
	struct ue_mm *ue_mm = ue_mm_find_current();
	bool inherits;

	if (!ue_mm)
		return false;
	spin_lock(&ue_mm->lock);
	inherits = ue_inherit_snapshot(ue_mm, inherited) ||
		   ue_inherit_present_set(ue_mm, inherited);
	spin_unlock(&ue_mm->lock);
	return inherits;
}

/* Return: false, with @snapshot unused, if the set has no enablers. */
static bool ue_snapshot_add(struct ue_mm *ue_mm,
			    struct ue_fork_snapshot *snapshot)
{
	if (!ue_reference_set(ue_mm, &snapshot->inherited))
		return false;
	/* Some may hold references to tasks that have exited. */
	if (ue_mm->nr_snapshots == UE_SNAPSHOTS_MAX)
		ue_fork_snapshots_expire(ue_mm);
	ue_mm->nr_snapshots++;
	snapshot->ue_mm = ue_mm;
	snapshot->task = get_task_struct(current);
	snapshot->expiry_queued = false;
	hlist_add_head(&snapshot->of_mm, &ue_mm->snapshots);
	ue_debug_count(UE_COUNT_FORK_SNAPSHOTS, 1);
	return true;
}

/*
 * The forking task holds the mmap_lock for writing until all memory is copied.
 * In that time no bit is written, no registration begins, and none with a
 * writable bit ends. So the present set belongs to the copy, and the bits there
 * are up to date, except for those of a pending update and of events that
 * change from now on.
 */
void ue_fork_snapshot_take(struct ue_mm *ue_mm)
{
	struct ue_fork_snapshot *old, *snapshot;

	/* Memory reclaim may wait for this mmu notifier. */
	snapshot = kmalloc(sizeof(*snapshot), GFP_NOWAIT | __GFP_NOWARN);
	if (!snapshot)
		WRITE_ONCE(ue_mm->snapshots_missing, true);
	spin_lock(&ue_mm->lock);
	/*
	 * Of an earlier fork of the current task, which has failed. The set may
	 * have been replaced since, so the child must not inherit the old one.
	 */
	old = ue_snapshot_find(ue_mm);
	if (old)
		ue_snapshot_remove(old);
	if (snapshot && ue_snapshot_add(ue_mm, snapshot))
		snapshot = NULL;
	spin_unlock(&ue_mm->lock);
	kfree(snapshot);
}
