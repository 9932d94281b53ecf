// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaches address spaces with a set of enablers, replaces and copies sets, and
 * detaches address spaces that have ended. An address space ends when the last
 * user has dropped the memory: by exit or exec, after a fork that failed, or in
 * another part of the kernel.
 *
 * The kernel then calls exit_mmap(), once for each address space. So a hook
 * there is exact, and nothing has to count tasks. The hook may not sleep, so a
 * task_work or a work item does the rest. Until then nothing is written to the
 * ended address space, because no task can hold its memory any more.
 *
 * Documentation/architecture.rst, Choices, names the alternatives.
 */
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "port/compat.h"
#include "port/kernel_hook.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mm_attach.h"
#include "programs/mute.h"
#include "programs/scope.h"
#include "programs/stale.h"
#include "programs/traced.h"

void ue_mm_join_set(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (ue_mm->set)
		hlist_add_head(&ue_mm->of_set, &ue_mm->set->mms);
}

void ue_set_walk_begin(struct ue_set_walk *walk, struct ue_enabler_set *set)
{
	lockdep_assert_held(&ue_enabler_mutex);
	walk->next = hlist_entry_safe(set->mms.first, struct ue_mm, of_set);
	hlist_add_head(&walk->of_set, &set->walks);
}

struct ue_mm *ue_set_walk_next(struct ue_set_walk *walk)
{
	struct ue_mm *ue_mm = walk->next;

	lockdep_assert_held(&ue_enabler_mutex);
	if (ue_mm)
		walk->next = hlist_entry_safe(ue_mm->of_set.next, struct ue_mm, of_set);
	return ue_mm;
}

void ue_set_walk_end(struct ue_set_walk *walk)
{
	lockdep_assert_held(&ue_enabler_mutex);
	hlist_del_init(&walk->of_set);
}

static void ue_mm_leave_set(struct ue_mm *ue_mm)
{
	struct ue_set_walk *walk;

	/* In no list: the copy of a fork that failed, or a child that died before it ran. */
	if (hlist_unhashed(&ue_mm->of_set))
		return;
	hlist_for_each_entry(walk, &ue_mm->set->walks, of_set) {
		if (walk->next == ue_mm)
			ue_set_walk_next(walk);
	}
	hlist_del_init(&ue_mm->of_set);
}

/*
 * @set: the new set, or NULL; the caller's reference becomes the address space's
 * Drops the reference to the old set, which may release and retake the mutex.
 */
static void ue_mm_replace_set(struct ue_mm *ue_mm, struct ue_enabler_set *set)
{
	struct ue_enabler_set *old = ue_mm->set;

	ue_mm_leave_set(ue_mm);
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
static int ue_mm_copy_set(struct ue_mm *ue_mm, unsigned int times, gfp_t gfp)
{
	struct ue_enabler_set *set = ue_mm->set, *copy;

	atomic_inc(&set->references);
	ue_enabler_unlock();
	copy = ue_enabler_set_copy(set, times, gfp);
	ue_enabler_lock();

	if (!IS_ERR(copy)) {
		if (copy->nr)
			__module_get(THIS_MODULE);
		if (ue_mm->set == set) {
			/*
			 * Before the address space has the copy: a fork that
			 * takes the copy must see that it is stale.
			 */
			if (copy->changes)
				ue_mm_set_stale(ue_mm);
			ue_mm_replace_set(ue_mm, copy);
		} else {
			ue_enabler_set_put_locked(copy);
		}
	}
	ue_enabler_set_put_locked(set);
	return PTR_ERR_OR_ZERO(copy);
}

int ue_mm_own_set(struct ue_mm *ue_mm, unsigned int times, gfp_t gfp)
{
	int err = 0;

	lockdep_assert_held(&ue_enabler_mutex);
	while (!err && ue_mm_shares_set(ue_mm))
		err = ue_mm_copy_set(ue_mm, times, gfp);
	return err;
}

bool ue_mm_lock_own_set(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	spin_lock(&ue_mm->lock);
	if (!ue_mm_shares_set(ue_mm)) {
		/* For sparse: the caller unlocks. */
		__release(&ue_mm->lock);
		return true;
	}
	spin_unlock(&ue_mm->lock);
	return false;
}

/* The address spaces that ended in a kernel thread. */
static LLIST_HEAD(ue_ended);

static void ue_mm_end(struct ue_mm *ue_mm)
{
	ue_enabler_lock();
	ue_mm_set_fresh(ue_mm);
	ue_mutes_free(ue_mm);
	ue_mm_replace_set(ue_mm, NULL);
	ue_enabler_unlock();
	ue_mm_put(ue_mm);
}

static void ue_mm_detach(struct ue_mm *ue_mm)
{
	ue_mm_erase(ue_mm);
	ue_mm_end(ue_mm);
}

static void ue_end_task_work(struct callback_head *task_work)
{
	struct ue_mm *ue_mm = container_of(task_work, struct ue_mm,
					   end_task_work);

	ue_mm_detach(ue_mm);
	/*
	 * At unload, synchronize_rcu_tasks() waits for the rest of this
	 * function.
	 */
	module_put(THIS_MODULE);
}

static void ue_end_work(struct work_struct *unused)
{
	struct ue_mm *ue_mm, *next;

	llist_for_each_entry_safe(ue_mm, next, llist_del_all(&ue_ended), ended)
		ue_mm_detach(ue_mm);
}

static DECLARE_WORK(ue_ended_work, ue_end_work);

/*
 * The task that called the last mmput() detaches the address space on the way
 * to user space, or later in its exit, before the parent can reap the task.
 */
static bool ue_end_on_return(struct ue_mm *ue_mm)
{
	if ((current->flags & PF_KTHREAD) || !try_module_get(THIS_MODULE))
		return false;
	init_task_work(&ue_mm->end_task_work, ue_end_task_work);
	if (!task_work_add(current, &ue_mm->end_task_work, TWA_RESUME))
		return true;
	module_put(THIS_MODULE);
	return false;
}

/*
 * The caller of mmput() may hold event_mutex (uprobes), or preemption may be
 * disabled, so this takes no mutex.
 */
static void ue_exit_mmap(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct mm_struct *mm = ue_ftrace_argument(fregs, 0);
	struct ue_mm *ue_mm = ue_mm_find(mm);

	if (!ue_mm) {
		/* The copy of a fork that failed. */
		ue_pending_fork_take(mm);
	} else if (!ue_end_on_return(ue_mm)) {
		llist_add(&ue_mm->ended, &ue_ended);
		queue_work(ue_unbound_wq, &ue_ended_work);
	}
}

static struct ftrace_ops ue_exit_mmap_hook = { .func = ue_exit_mmap };

int ue_mm_attach(struct mm_struct *mm, struct ue_enabler_set *set)
{
	struct ue_mm *ue_mm = ue_mm_create(mm, GFP_KERNEL_ACCOUNT);
	int err;

	if (!ue_mm)
		return -ENOMEM;
	ue_mm->set = set;
	ue_scopes_lock(ue_mm);
	err = ue_mm_insert(ue_mm);
	if (!err) {
		ue_mm_join_set(ue_mm);
		ue_mm_look_for_perf(ue_mm);
	}
	ue_enabler_unlock();
	if (err)
		ue_mm_put(ue_mm);
	return err;
}

void ue_mm_detach_ended(void)
{
	flush_work(&ue_ended_work);
}

int ue_mm_attach_init(void)
{
	int err = ue_mm_table_init();

	if (err)
		return err;
	err = ue_kernel_hook_add(&ue_exit_mmap_hook, ue_exit_mmap_entry);
	if (err)
		ue_mm_table_exit(NULL);
	return err;
}

static void ue_end_at_unload(void *ue_mm, void *unused)
{
	ue_mm_end(ue_mm);
}

/* Address spaces may be attached without enablers: those do not stop unloading. */
void ue_mm_attach_exit(void)
{
	ue_kernel_hook_remove(&ue_exit_mmap_hook);
	ue_mm_detach_ended();
	ue_mm_table_exit(ue_end_at_unload);
}
