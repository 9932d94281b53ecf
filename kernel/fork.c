// SPDX-License-Identifier: GPL-2.0-only
/*
 * A forked child has the registrations of its parent, as of the fork.
 *
 * The tracepoint sched_process_fork comes before the child runs, with
 * preemption off: there the child gets a share of the parent's set. What must
 * sleep is done by the child itself, before its first instruction in user
 * space.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hugetlb_inline.h>
#include <linux/jiffies.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/task_work.h>
#include <linux/tracepoint.h>

#include "enabler.h"
#include "fork.h"
#include "process.h"
#include "registration.h"
#include "tally.h"

/* Forks that find memory when there is none. */
#define UE_FORKS_RESERVED	64

#define UE_FORK_RETRY		msecs_to_jiffies(10)

/**
 * struct ue_fork - what a child is to do
 * @task_work: does it, in the child
 * @share: of the parent's set
 */
struct ue_fork {
	struct callback_head task_work;
	struct ue_share share;
};

static struct tracepoint *ue_fork_tracepoint;
static mempool_t *ue_fork_pool;

/*
 * Signals are pending when one was sent to the child before it has run. The
 * kernel makes no address space's first notifier known then, which is nothing
 * that a signal should hinder: they are put aside meanwhile, but for kills. Who
 * finds one of the flags set looks for what there is to do, which may be nothing
 * by then.
 *
 * Return: as ue_process_know(); -EINTR when a signal has come since.
 */
static int ue_fork_know(struct ue_fork *fork)
{
	bool pending = test_and_clear_thread_flag(TIF_SIGPENDING);
	bool notified = test_and_clear_thread_flag(TIF_NOTIFY_SIGNAL);
	int err = -EINTR;

	/* One that comes from here on sets the flag, and ends any waiting. */
	if (!__fatal_signal_pending(current))
		err = ue_process_know(current->mm, fork->share.set);
	if (pending)
		set_thread_flag(TIF_SIGPENDING);
	if (notified)
		set_thread_flag(TIF_NOTIFY_SIGNAL);
	return err;
}

/*
 * Where there is no memory, the child does not begin before there is some. A
 * signal that comes meanwhile means another try.
 */
static int ue_fork_know_at_last(struct ue_fork *fork)
{
	int err = -EINTR;

	while (!fatal_signal_pending(current)) {
		err = ue_fork_know(fork);
		if (err != -ENOMEM && err != -EINTR)
			break;
		schedule_timeout_killable(UE_FORK_RETRY);
	}
	return err;
}

/*
 * The child's memory is a copy of the parent's, bits included. Only where one
 * of the events has changed since are they gone through.
 */
static void ue_fork_settle(struct ue_fork *fork)
{
	struct ue_process *process;
	bool stale;

	mutex_lock(&ue_enabler_mutex);
	process = ue_process_find(current->mm);
	stale = fork->share.stale ||
		fork->share.changes != process->set->changes;
	mutex_unlock(&ue_enabler_mutex);
	while (stale && ue_registrations_settle(process) &&
	       !fatal_signal_pending(current))
		schedule_timeout_killable(UE_FORK_RETRY);
}

/*
 * Was there nothing to share when the memory was copied? Then what the child has
 * a share of was registered since, by another thread of its parent. The kernel
 * tells of no other kind of memory that it copies it as it does of this.
 */
static bool ue_fork_had_nothing(const struct ue_fork *fork)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *area;
	bool told;

	if (!fork->share.told_by)
		return false;
	if (mmap_read_lock_killable(mm))
		return true;
	area = vma_lookup(mm, fork->share.told_by);
	told = area && area->anon_vma && is_cow_mapping(area->vm_flags) &&
	       !(area->vm_flags & VM_WIPEONFORK) && !is_vm_hugetlb_page(area);
	mmap_read_unlock(mm);
	return told;
}

static void ue_fork_task_work(struct callback_head *task_work)
{
	struct ue_fork *fork = container_of(task_work, struct ue_fork,
					    task_work);

	/* No address space: killed before it has run. */
	if (current->mm && !ue_fork_had_nothing(fork) &&
	    !ue_fork_know_at_last(fork))
		ue_fork_settle(fork);
	else
		ue_share_drop(fork->share.set);
	ue_tally(UE_TALLY_FORKS, -1);
	mempool_free(fork, ue_fork_pool);
}

/* A probe of sched_process_fork; the current task is the parent. */
static void ue_fork_probe(void *data, struct task_struct *parent,
			  struct task_struct *child)
{
	struct ue_fork *fork;

	/* Not a thread, nor a child of vfork(): those share the memory. */
	if (!child->mm || child->mm == parent->mm || !ue_process_find_current())
		return;

	fork = mempool_alloc(ue_fork_pool, GFP_ATOMIC | __GFP_NOWARN);
	if (!fork) {
		pr_warn_ratelimited("no memory: process %d does not get the registrations of its parent\n",
				    child->pid);
		return;
	}
	if (!ue_process_share(&fork->share)) {
		mempool_free(fork, ue_fork_pool);
		return;
	}
	ue_tally(UE_TALLY_FORKS, 1);
	init_task_work(&fork->task_work, ue_fork_task_work);
	/* The child has not run yet, and so can't have ended. */
	WARN_ON_ONCE(task_work_add(child, &fork->task_work, TWA_RESUME));
}

static void ue_find_tracepoint(struct tracepoint *tracepoint, void *data)
{
	if (!strcmp(tracepoint->name, "sched_process_fork"))
		ue_fork_tracepoint = tracepoint;
}

int ue_fork_records_init(void)
{
	ue_fork_pool = mempool_create_kmalloc_pool(UE_FORKS_RESERVED,
						   sizeof(struct ue_fork));
	return ue_fork_pool ? 0 : -ENOMEM;
}

void ue_fork_records_exit(void)
{
	/* A child may have dropped its share, and be about to free its record. */
	synchronize_rcu_tasks();
	mempool_destroy(ue_fork_pool);
}

int ue_fork_init(void)
{
	for_each_kernel_tracepoint(ue_find_tracepoint, NULL);
	if (!ue_fork_tracepoint) {
		pr_err("this kernel lacks the tracepoint sched_process_fork\n");
		return -ENOENT;
	}
	return tracepoint_probe_register(ue_fork_tracepoint, ue_fork_probe,
					 NULL);
}

/* A child that has still to run has a share of a set, which holds the module. */
void ue_fork_exit(void)
{
	tracepoint_probe_unregister(ue_fork_tracepoint, ue_fork_probe, NULL);
	tracepoint_synchronize_unregister();
}
