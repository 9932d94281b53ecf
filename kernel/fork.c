// SPDX-License-Identifier: GPL-2.0-only
/*
 * A forked child inherits the registrations that its parent had at the fork.
 *
 * The tracepoint sched_process_fork runs in the parent before the child does,
 * with preemption off. There the child gets a reference to the parent's set.
 * The rest may sleep, and the child does it itself before it first runs in user
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
#include <trace/events/sched.h>

#include "debug_counter.h"
#include "enabler.h"
#include "fork.h"
#include "fork_snapshot.h"
#include "mm.h"
#include "mm_notifier.h"
#include "update.h"

/* How many forks at a time have reserved memory. */
#define UE_FORKS_RESERVED	64

/* How long a child waits before it tries again to allocate. */
#define UE_FORK_RETRY		msecs_to_jiffies(10)

/**
 * struct ue_fork - what a child has to do before it runs in user space
 * @task_work: does it, in the child
 * @inherited: the set that the child inherits
 */
struct ue_fork {
	struct callback_head task_work;
	struct ue_inherited_set inherited;
};

static struct tracepoint *ue_fork_tracepoint;
static mempool_t *ue_fork_pool;

/*
 * The kernel refuses to add the first notifier of an address space while a
 * signal is pending, even if it was sent before the child first ran. So this
 * clears TIF_SIGPENDING and TIF_NOTIFY_SIGNAL while it attaches. To set a flag
 * again is harmless if there is no work left for it.
 *
 * Return: as ue_mm_attach(); -EINTR also if the child was killed.
 */
static int ue_fork_attach(struct ue_fork *fork)
{
	bool signal = test_and_clear_thread_flag(TIF_SIGPENDING);
	bool notify = test_and_clear_thread_flag(TIF_NOTIFY_SIGNAL);
	int err = -EINTR;

	/* A signal that arrives from here on sets the flag and ends any wait. */
	if (!__fatal_signal_pending(current))
		err = ue_mm_attach(current->mm, fork->inherited.set);
	if (signal)
		set_thread_flag(TIF_SIGPENDING);
	if (notify)
		set_thread_flag(TIF_NOTIFY_SIGNAL);
	return err;
}

/* Tries until there is memory and no signal interferes, or the child is killed. */
static int ue_fork_attach_retry(struct ue_fork *fork)
{
	int err = -EINTR;

	while (!fatal_signal_pending(current)) {
		err = ue_fork_attach(fork);
		if (err != -ENOMEM && err != -EINTR)
			break;
		schedule_timeout_killable(UE_FORK_RETRY);
	}
	return err;
}

/*
 * The child's memory is a copy of its parent's, with the enable bits. They need
 * an update only if they were stale in the copy, or an event has changed since.
 */
static void ue_fork_update(struct ue_fork *fork)
{
	struct ue_mm *ue_mm = ue_mm_find_current();
	bool stale;

	mutex_lock(&ue_enabler_mutex);
	stale = fork->inherited.stale ||
		fork->inherited.changes != ue_mm->set->changes;
	mutex_unlock(&ue_enabler_mutex);
	while (stale && ue_update_mm(ue_mm) && !fatal_signal_pending(current))
		schedule_timeout_killable(UE_FORK_RETRY);
}

/*
 * Finds out whether all enablers in the inherited set were registered after
 * fork had copied the memory, by another thread of the parent. Fork reports the
 * copy of a private mapping with anonymous pages. If the child has such a
 * mapping at the notifier's address, the notifier was called, or not yet
 * inserted. As no snapshot was taken, the parent had no enablers then.
 */
static bool ue_fork_set_is_newer(const struct ue_fork *fork)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *area;
	bool reported;

	if (!fork->inherited.notifier_address)
		return false;
	if (mmap_read_lock_killable(mm))
		return true;
	area = vma_lookup(mm, fork->inherited.notifier_address);
	reported = area && area->anon_vma && is_cow_mapping(area->vm_flags) &&
		   !(area->vm_flags & VM_WIPEONFORK) &&
		   !is_vm_hugetlb_page(area);
	mmap_read_unlock(mm);
	return reported;
}

static void ue_fork_task_work(struct callback_head *task_work)
{
	struct ue_fork *fork = container_of(task_work, struct ue_fork,
					    task_work);

	/* Without an address space, the child was killed before it ran. */
	if (current->mm && !ue_fork_set_is_newer(fork) &&
	    !ue_fork_attach_retry(fork))
		ue_fork_update(fork);
	else
		ue_enabler_set_put(fork->inherited.set);
	ue_debug_count(UE_COUNT_FORKS, -1);
	mempool_free(fork, ue_fork_pool);
}

/* A probe of sched_process_fork; the current task is the parent. */
static void ue_fork_probe(void *data, struct task_struct *parent,
			  struct task_struct *child)
{
	struct ue_fork *fork;

	/* A thread, or a child of vfork(), shares the memory. */
	if (!child->mm || child->mm == parent->mm || !ue_mm_find_current())
		return;

	fork = mempool_alloc(ue_fork_pool, GFP_ATOMIC | __GFP_NOWARN);
	if (!fork) {
		pr_warn_ratelimited("out of memory: process %d does not inherit the registrations of its parent\n",
				    child->pid);
		return;
	}
	if (!ue_fork_inherit(&fork->inherited)) {
		mempool_free(fork, ue_fork_pool);
		return;
	}
	ue_debug_count(UE_COUNT_FORKS, 1);
	init_task_work(&fork->task_work, ue_fork_task_work);
	/* The child has not run yet, so it cannot have exited. */
	WARN_ON_ONCE(task_work_add(child, &fork->task_work, TWA_RESUME));
}

static void ue_find_tracepoint(struct tracepoint *tracepoint, void *data)
{
	if (!strcmp(tracepoint->name, "sched_process_fork"))
		ue_fork_tracepoint = tracepoint;
}

int ue_fork_pool_init(void)
{
	ue_fork_pool = mempool_create_kmalloc_pool(UE_FORKS_RESERVED,
						   sizeof(struct ue_fork));
	return ue_fork_pool ? 0 : -ENOMEM;
}

void ue_fork_pool_exit(void)
{
	/* A child that has dropped its set may still have to free its ue_fork. */
	synchronize_rcu_tasks();
	mempool_destroy(ue_fork_pool);
}

int ue_fork_init(void)
{
	check_trace_callback_type_sched_process_fork(ue_fork_probe);
	for_each_kernel_tracepoint(ue_find_tracepoint, NULL);
	if (!ue_fork_tracepoint) {
		pr_err("this kernel lacks the tracepoint sched_process_fork\n");
		return -ENOENT;
	}
	return tracepoint_probe_register(ue_fork_tracepoint, ue_fork_probe,
					 NULL);
}

void ue_fork_exit(void)
{
	tracepoint_probe_unregister(ue_fork_tracepoint, ue_fork_probe, NULL);
	tracepoint_synchronize_unregister();
}
