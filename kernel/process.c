// SPDX-License-Identifier: GPL-2.0-only
/*
 * The address spaces that have enablers.
 *
 * An address space is known by its mm_struct. A notifier for each holds the
 * struct mm_struct (not its memory), and tells when its last user is gone: at
 * exit, at exec. It is one of an interval, since the end of an address space
 * that has one of the other kind waits for a grace period.
 *
 * A fork shares the parent's set with the child, which costs the same however
 * many enablers it has. Who registers or unregisters then copies the set
 * first. The share is taken as the memory is copied, and kept in a note until
 * there is a child. That is where nothing can sleep, and so without
 * ue_enabler_mutex: while an address space has the only share of its set,
 * another can come only through itself, with its @lock held.
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

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
	.key_offset = offsetof(struct ue_process, notifier.mm),
	.head_offset = offsetof(struct ue_process, by_mm),
	.automatic_shrinking = true,
};

/* Changed with ue_enabler_mutex held; read under RCU as well. */
static struct rhashtable ue_by_mm;

/* Forgotten, and with a notifier still. Protected by ue_enabler_mutex. */
static LIST_HEAD(ue_ended);

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

/* How many notes of an address space are left without an end. */
#define UE_NOTES_MAX	8

/**
 * struct ue_note - a fork that has begun to copy the memory
 * @end: drops it, in the forking task when the fork is over
 * @of_process: its place among those of @process
 * @process: whose memory is copied; referred to once @ends
 * @task: the one that forks; held
 * @share: for the child; without a set once that has been taken
 * @ends: @end is going to run
 *
 * The kernel does not tell of forks that fail. What they leave is of the set that
 * the address space has, and in nobody's way, until that gets another.
 */
struct ue_note {
	struct callback_head end;
	struct hlist_node of_process;
	struct ue_process *process;
	struct task_struct *task;
	struct ue_share share;
	bool ends;
};

static void ue_note_free(struct ue_note *note)
{
	ue_tally(UE_TALLY_NOTES, -1);
	put_task_struct(note->task);
	kfree(note);
}

/* The fork is over. If it has failed, the share is still there. */
static void ue_note_end(struct callback_head *task_work)
{
	struct ue_note *note = container_of(task_work, struct ue_note, end);
	struct ue_process *process = note->process;

	spin_lock(&process->lock);
	hlist_del(&note->of_process);
	spin_unlock(&process->lock);
	if (note->share.set)
		ue_share_drop(note->share.set);
	ue_note_free(note);
	ue_process_put(process);
	/* Last; unloading waits for the few instructions that follow. */
	module_put(THIS_MODULE);
}

/* For a note of the set that the address space has: that is not its last share. */
static void ue_note_drop(struct ue_note *note)
{
	lockdep_assert_held(&note->process->lock);
	hlist_del(&note->of_process);
	note->process->nr_notes--;
	atomic_dec(&note->share.set->shares);
	ue_note_free(note);
}

/*
 * Before the address space gets another set: from here on notes would hold
 * registrations that are nobody's, if their forks have failed.
 */
static void ue_notes_end(struct ue_process *process)
{
	struct ue_note *note;
	struct hlist_node *next;

	lockdep_assert_held(&process->lock);
	hlist_for_each_entry_safe(note, next, &process->notes, of_process) {
		if (note->ends)
			continue;
		init_task_work(&note->end, ue_note_end);
		if (task_work_add(note->task, &note->end, TWA_RESUME)) {
			/* It is exiting, and so does not fork. */
			ue_note_drop(note);
			continue;
		}
		note->ends = true;
		process->nr_notes--;
		refcount_inc(&process->references);
		/* There are enablers. */
		__module_get(THIS_MODULE);
	}
}

/* Takes the caller's share of @set, if any, and gives up that of the old. */
static void ue_process_set_set(struct ue_process *process,
			       struct ue_enabler_set *set)
{
	struct ue_enabler_set *old = process->set;

	if (old)
		hlist_del(&process->in_set);
	spin_lock(&process->lock);
	ue_notes_end(process);
	process->set = set;
	spin_unlock(&process->lock);
	if (set)
		hlist_add_head(&process->in_set, &set->processes);
	if (old)
		ue_set_put(old);
}

static struct ue_process *ue_process_create(void)
{
	struct ue_process *process = kzalloc(sizeof(*process),
					     GFP_KERNEL_ACCOUNT);

	if (process) {
		ue_tally(UE_TALLY_PROCESSES, 1);
		refcount_set(&process->references, 1);
		INIT_LIST_HEAD(&process->expected);
		spin_lock_init(&process->lock);
	}
	return process;
}

/* Waits for what goes on in the address space, so not in ue_invalidate(). */
static void ue_process_end(struct ue_process *process)
{
	mmu_interval_notifier_remove(&process->notifier);
	ue_process_put(process);
}

static void ue_end_task_work(struct callback_head *task_work)
{
	ue_process_end(container_of(task_work, struct ue_process, task_work));
	/* Last; unloading waits for the few instructions that follow. */
	module_put(THIS_MODULE);
}

/*
 * Whoever lets go of the address space removes the notifier, once he is
 * through with that. Return: false when he can't, or the module is unloading.
 */
static bool ue_end_on_return(struct ue_process *process)
{
	if ((current->flags & PF_KTHREAD) || !try_module_get(THIS_MODULE))
		return false;
	init_task_work(&process->task_work, ue_end_task_work);
	if (!task_work_add(current, &process->task_work, TWA_RESUME))
		return true;
	module_put(THIS_MODULE);
	return false;
}

static struct ue_process *ue_take_ended(void)
{
	struct ue_process *process;

	mutex_lock(&ue_enabler_mutex);
	process = list_first_entry_or_null(&ue_ended, struct ue_process, ended);
	if (process)
		list_del(&process->ended);
	mutex_unlock(&ue_enabler_mutex);
	return process;
}

static void ue_end_all(struct work_struct *unused)
{
	struct ue_process *process;

	while ((process = ue_take_ended()))
		ue_process_end(process);
}

static DECLARE_WORK(ue_end_work, ue_end_all);

static void ue_process_leave(struct ue_process *process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	ue_catch_up_done(process);
	ue_process_set_set(process, NULL);
}

/*
 * The last user of the address space is gone: exit, or exec. The caller may
 * hold event_mutex (uprobes lets go of address spaces under it), so that it
 * can't be taken here.
 */
static void ue_release(struct ue_process *process)
{
	mutex_lock(&ue_enabler_mutex);
	/* Else it has been forgotten already, at unload. */
	if (process->set) {
		rhashtable_remove_fast(&ue_by_mm, &process->by_mm,
				       ue_by_mm_params);
		ue_process_leave(process);
		if (!ue_end_on_return(process)) {
			list_add_tail(&process->ended, &ue_ended);
			queue_work(system_unbound_wq, &ue_end_work);
		}
	}
	mutex_unlock(&ue_enabler_mutex);
}

/* Return: false when there is nothing to share. */
static bool ue_take_share(struct ue_process *process, struct ue_share *share)
{
	struct ue_enabler_set *set = process->set;

	lockdep_assert_held(&process->lock);
	if (!set || !set->nr)
		return false;
	atomic_inc(&set->shares);
	share->set = set;
	/* Pairs with ue_registrations_update(). */
	share->changes = smp_load_acquire(&set->changes);
	/* Pairs with ue_worker_done(). */
	share->stale = smp_load_acquire(&process->behind);
	share->told_by = 0;
	return true;
}

/* Return: what the current task has left, or NULL. */
static struct ue_note *ue_find_note(struct ue_process *process)
{
	struct ue_note *note;

	lockdep_assert_held(&process->lock);
	hlist_for_each_entry(note, &process->notes, of_process) {
		if (note->task == current && note->share.set)
			return note;
	}
	return NULL;
}

/* Return: false when the current task has left none. */
static bool ue_take_noted_share(struct ue_process *process,
				struct ue_share *share)
{
	struct ue_note *note = ue_find_note(process);

	if (!note)
		return false;
	*share = note->share;
	note->share.set = NULL;
	if (!note->ends) {
		hlist_del(&note->of_process);
		process->nr_notes--;
		ue_note_free(note);
	}
	return true;
}

/* Return: false, with nothing done, where there is nothing to share. */
static bool ue_leave_note(struct ue_process *process, struct ue_note *note)
{
	if (!ue_take_share(process, &note->share))
		return false;
	/* They may be of tasks that have ended, whose remains they hold. */
	if (process->nr_notes == UE_NOTES_MAX)
		ue_notes_end(process);
	process->nr_notes++;
	note->process = process;
	note->task = get_task_struct(current);
	note->ends = false;
	hlist_add_head(&note->of_process, &process->notes);
	ue_tally(UE_TALLY_NOTES, 1);
	return true;
}

/* What the current task has left at a fork that has failed. */
static void ue_drop_old_note(struct ue_process *process)
{
	struct ue_note *note;

	spin_lock(&process->lock);
	note = ue_find_note(process);
	if (note && !note->ends)
		ue_note_drop(note);
	spin_unlock(&process->lock);
}

/*
 * A fork says that it changes the protection of pages, of each private mapping
 * before it copies it, the stack among them. All the while it holds the
 * mmap_lock for writing, so that no bit is written and no registration begins or
 * ends: the set of this moment is what belongs to the child's copy, whose bits
 * are right but for what is left to a worker, or is changed from here on. A fork
 * that has no stack where it was leaves no note, nor does one without memory, nor
 * one of a set without enablers.
 */
static void ue_note_fork(struct ue_process *process)
{
	struct ue_note *note;
	bool left;

	/* A kernel thread does not fork that. */
	if (current->mm != ue_process_mm(process) ||
	    (current->flags & PF_KTHREAD))
		return;
	ue_drop_old_note(process);
	/* Reclaim may wait for what goes on here. */
	note = kmalloc(sizeof(*note), GFP_NOWAIT | __GFP_NOWARN);
	if (!note) {
		WRITE_ONCE(process->notes_missing, true);
		return;
	}
	spin_lock(&process->lock);
	left = ue_leave_note(process, note);
	spin_unlock(&process->lock);
	if (!left)
		kfree(note);
}

/* Sleeps for MMU_NOTIFY_RELEASE alone, which may. */
static bool ue_invalidate(struct mmu_interval_notifier *notifier,
			  const struct mmu_notifier_range *range,
			  unsigned long seq)
{
	struct ue_process *process = container_of(notifier, struct ue_process,
						  notifier);

	if (range->event == MMU_NOTIFY_RELEASE)
		ue_release(process);
	else if (range->event == MMU_NOTIFY_PROTECTION_PAGE)
		ue_note_fork(process);
	return true;
}

static const struct mmu_interval_notifier_ops ue_notifier_ops = {
	.invalidate = ue_invalidate,
};

/* Where no note was left. */
static bool ue_take_present_share(struct ue_process *process,
				  struct ue_share *share)
{
	if (!ue_take_share(process, share))
		return false;
	share->stale = true;
	if (!READ_ONCE(process->notes_missing))
		share->told_by = process->notifier.interval_tree.start;
	return true;
}

/* It is known as long as it has a user, which the caller is. */
struct ue_process *ue_process_find_current(void)
{
	struct mm_struct *mm = current->mm;

	return rhashtable_lookup_fast(&ue_by_mm, &mm, ue_by_mm_params);
}

bool ue_process_share(struct ue_share *share)
{
	struct ue_process *process = ue_process_find_current();
	bool shared;

	if (!process)
		return false;
	spin_lock(&process->lock);
	shared = ue_take_noted_share(process, share) ||
		 ue_take_present_share(process, share);
	spin_unlock(&process->lock);
	return shared;
}

/* Return: 0; -EEXIST; -ENOMEM. */
static int ue_process_remember(struct ue_process *process,
			       struct ue_enabler_set *set)
{
	int err;

	lockdep_assert_held(&ue_enabler_mutex);
	/* Before it can be found, so that who finds it finds a set. */
	ue_process_set_set(process, set);
	err = rhashtable_lookup_insert_fast(&ue_by_mm, &process->by_mm,
					    ue_by_mm_params);
	if (!err)
		return 0;
	hlist_del(&process->in_set);
	spin_lock(&process->lock);
	process->set = NULL;
	spin_unlock(&process->lock);
	return err == -EEXIST ? err : -ENOMEM;
}

/*
 * On a page that each fork copies and that else hardly ever changes: what happens
 * to others costs little. The end is that of all intervals.
 */
static int ue_process_insert_notifier(struct ue_process *process,
				      struct mm_struct *mm)
{
	int err;

	/* Programs can have it held as long as they like. */
	if (mmap_write_lock_killable(mm))
		return -EINTR;
	err = mmu_interval_notifier_insert_locked(&process->notifier, mm,
						  READ_ONCE(mm->start_stack) & PAGE_MASK,
						  PAGE_SIZE, &ue_notifier_ops);
	mmap_write_unlock(mm);
	return err;
}

int ue_process_know(struct mm_struct *mm, struct ue_enabler_set *set)
{
	struct ue_process *process = ue_process_create();
	int err;

	if (!process)
		return -ENOMEM;
	err = ue_process_insert_notifier(process, mm);
	if (err) {
		ue_process_put(process);
		return err;
	}
	/*
	 * While others' intervals are being invalidated, it is not in its place
	 * yet, and would not be told of the end; this waits for that.
	 */
	mmu_interval_read_begin(&process->notifier);

	mutex_lock(&ue_enabler_mutex);
	err = ue_process_remember(process, set);
	mutex_unlock(&ue_enabler_mutex);
	if (err)
		ue_process_end(process);
	return err;
}

/*
 * Replaces a shared set by a copy, unless another has done so by then. With one
 * more share of it the set stays as it is, whatever the others do with theirs.
 */
static int ue_process_copy_set(struct ue_process *process, gfp_t gfp)
{
	struct ue_enabler_set *set = process->set, *copy;

	atomic_inc(&set->shares);
	mutex_unlock(&ue_enabler_mutex);
	copy = ue_enabler_set_copy(set, gfp);
	mutex_lock(&ue_enabler_mutex);

	if (copy) {
		if (copy->nr)
			__module_get(THIS_MODULE);
		if (process->set == set)
			ue_process_set_set(process, copy);
		else
			ue_set_put(copy);
	}
	ue_set_put(set);
	return copy ? 0 : -ENOMEM;
}

int ue_process_own_set(struct ue_process *process, gfp_t gfp)
{
	int err = 0;

	lockdep_assert_held(&ue_enabler_mutex);
	while (!err && atomic_read(&process->set->shares) > 1)
		err = ue_process_copy_set(process, gfp);
	return err;
}

bool ue_process_lock_own_set(struct ue_process *process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	spin_lock(&process->lock);
	if (atomic_read(&process->set->shares) == 1) {
		/* From here on it is the caller's; sparse must be told. */
		__release(&process->lock);
		return true;
	}
	spin_unlock(&process->lock);
	return false;
}

int ue_processes_init(void)
{
	return rhashtable_init(&ue_by_mm, &ue_by_mm_params);
}

static void ue_forget_at_unload(void *object, void *unused)
{
	struct ue_process *process = object;

	ue_process_leave(process);
	list_add_tail(&process->ended, &ue_ended);
}

/*
 * No set has enablers any more, or the module would be in use; but there may
 * be address spaces that had some.
 */
void ue_processes_exit(void)
{
	mutex_lock(&ue_enabler_mutex);
	rhashtable_free_and_destroy(&ue_by_mm, ue_forget_at_unload, NULL);
	mutex_unlock(&ue_enabler_mutex);

	/* Nobody is forgotten any more. Waits for ue_invalidate() of each. */
	ue_end_all(&ue_end_work);
	flush_work(&ue_end_work);
}
