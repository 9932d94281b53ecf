// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stale address spaces, and the task_works that write their bits.
 *
 * While an address space is stale, each of its tasks has a task_work, or is writing the bits, or
 * the work item below will find the task. So a further change is only counted: a task that has
 * written all bits begins again if there was one meanwhile.
 */
#include <linux/delay.h>
#include <linux/hashtable.h>
#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "port/compat.h"
#include "port/debug_counter.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/stale.h"

/* How many threads a change looks at. The work item finds the others. */
#define UE_TASKS_AT_ONCE	256

/* How often a task writes all bits before it goes on although there is another change. */
#define UE_PASSES_MAX		4

/* How long the work item waits: for memory, and as a multiple of how long it has run. */
#define UE_SEARCH_WAIT		msecs_to_jiffies(10)
#define UE_SEARCH_REST		10

/**
 * struct ue_return - a task that looks at its bits when it returns to user space
 * @work: does so
 * @task: the task. It cannot end before @work has run.
 * @by_task: node in the table
 */
struct ue_return {
	struct callback_head work;
	struct task_struct *task;
	struct hlist_node by_task;
};

/* Inside this lock, only locks of the kernel are taken that protect the task_works of a task. */
static DEFINE_SPINLOCK(ue_returns_lock);
static DEFINE_HASHTABLE(ue_returns, 10);

/* Those in the table, and those that run. */
static atomic_t ue_nr_returns;

/* How many task_works are taken back at once. */
#define UE_CANCELLED_AT_ONCE	64

/* How many address spaces are stale. */
static atomic_t ue_nr_stale;

static void ue_search(struct work_struct *unused);

static DECLARE_DELAYED_WORK(ue_search_work, ue_search);

/* When the last search ended, and how long the next one has to wait then, in jiffies. */
static unsigned long ue_search_ended, ue_search_rest;

static void ue_search_later(unsigned long wait)
{
	const unsigned long rested = jiffies - READ_ONCE(ue_search_ended);
	const unsigned long rest = READ_ONCE(ue_search_rest);

	queue_delayed_work(ue_unbound_wq, &ue_search_work,
			   rested < rest ? max(wait, rest - rested) : wait);
}

/* After this, unloading waits for the caller by synchronize_rcu_tasks(): it must not sleep. */
static void ue_return_end(void)
{
	ue_debug_count(UE_COUNT_RETURNS, -1);
	atomic_dec(&ue_nr_returns);
}

/*
 * Mostly runs right before user space, without locks. A task that has an io_uring also comes here
 * in the middle of exec, with cred_guard_mutex held. Nothing that this waits for takes that mutex.
 */
static void ue_return_run(struct callback_head *work)
{
	struct ue_return *entry = container_of(work, struct ue_return, work);
	struct ue_mm *ue_mm;

	/* Before the address space is looked at: from now on, the task can get another one. */
	spin_lock(&ue_returns_lock);
	hash_del(&entry->by_task);
	spin_unlock(&ue_returns_lock);
	kfree(entry);
	/* An exiting task has no memory any more. After exec, the memory is another one. */
	ue_mm = ue_mm_find_current();
	if (ue_mm)
		ue_mm_refresh(ue_mm);
	ue_return_end();
}

static bool ue_has_return(const struct task_struct *task)
{
	const struct ue_return *entry;

	hash_for_each_possible(ue_returns, entry, by_task, (unsigned long)task) {
		if (entry->task == task)
			return true;
	}
	return false;
}

/* Return: false if memory is short. */
static bool ue_return_add_locked(struct task_struct *task)
{
	struct ue_return *entry;

	if (ue_has_return(task))
		return true;
	entry = kmalloc(sizeof(*entry), GFP_NOWAIT | __GFP_NOWARN);
	if (!entry)
		return false;
	init_task_work(&entry->work, ue_return_run);
	entry->task = task;
	/* Fails if the task is exiting. */
	if (task_work_add(task, &entry->work, TWA_RESUME)) {
		kfree(entry);
		return true;
	}
	ue_debug_count(UE_COUNT_RETURNS, 1);
	atomic_inc(&ue_nr_returns);
	hash_add(ue_returns, &entry->by_task, (unsigned long)task);
	return true;
}

/*
 * Threads of io_uring and vhost never return to user space, and read no bits.
 *
 * Return: false if memory is short.
 */
static bool ue_return_add(struct task_struct *task)
{
	bool added;

	if (task->flags & UE_PF_NEVER_RETURNS)
		return true;
	spin_lock(&ue_returns_lock);
	added = ue_return_add_locked(task);
	spin_unlock(&ue_returns_lock);
	return added;
}

/*
 * The memory may also be used by other processes, or held by another part of the kernel. Then a
 * work item looks for more tasks.
 *
 * Return: how many threads were looked at.
 */
static unsigned int ue_interrupt_threads(struct ue_mm *ue_mm)
{
	struct mm_struct *mm = ue_mm->mm;
	/* Before @users is read: fork counts a thread there, and sets its start_time later. */
	const u64 now = ktime_get_ns();
	int users = atomic_read(&mm->mm_users);
	struct task_struct *owner, *thread;
	unsigned int nr = 0;

	rcu_read_lock();
	owner = ue_mm_owner(mm);
	if (owner) {
		for_each_thread(owner, thread) {
			if (nr++ == UE_TASKS_AT_ONCE)
				break;
			/* Those that begin later are not counted in @users. */
			if (READ_ONCE(thread->mm) == mm && ue_return_add(thread) &&
			    thread->start_time <= now)
				users--;
		}
	}
	rcu_read_unlock();
	if (users > 0)
		ue_search_later(0);
	return nr;
}

unsigned int ue_mm_set_stale(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	ue_mm->stale_changes++;
	if (ue_mm->stale)
		return 0;
	/* A forking task reads it without the mutex. */
	WRITE_ONCE(ue_mm->stale, true);
	atomic_inc(&ue_nr_stale);
	/*
	 * Orders both before the search for tasks. Pairs with ue_stale_begin_task(): a new task is
	 * found here, or sees that the address space is stale.
	 */
	smp_mb__after_atomic();
	return ue_interrupt_threads(ue_mm);
}

void ue_mm_set_fresh(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (!ue_mm->stale)
		return;
	/* After the bits are written. Pairs with ue_reference_set(). */
	smp_store_release(&ue_mm->stale, false);
	atomic_dec(&ue_nr_stale);
}

/* Return: false if there is a change that the task has not seen. */
static bool ue_refreshed(struct ue_mm *ue_mm, unsigned int changes)
{
	bool fresh;

	ue_enabler_lock();
	fresh = ue_mm->stale_changes == changes;
	if (fresh)
		ue_mm_set_fresh(ue_mm);
	ue_enabler_unlock();
	return fresh;
}

/*
 * Several tasks may be here: none returns to user space before the bits are written. Without
 * enablers nothing keeps the module loaded.
 */
void ue_mm_refresh(struct ue_mm *ue_mm)
{
	int passes = 0, err;
	bool fresh;

	if (!READ_ONCE(ue_mm->stale))
		return;
	ue_enabler_lock();
	if (!ue_mm->set || !ue_mm->set->nr) {
		ue_mm_set_fresh(ue_mm);
		ue_enabler_unlock();
		return;
	}
	__module_get(THIS_MODULE);
	ue_enabler_unlock();
	do {
		const unsigned int changes = READ_ONCE(ue_mm->stale_changes);

		err = ue_mm_update(ue_mm);
		fresh = !err && ue_refreshed(ue_mm, changes);
	} while (!err && !fresh && ++passes < UE_PASSES_MAX);
	if (!fresh)
		ue_search_later(UE_SEARCH_WAIT);
	module_put(THIS_MODULE);
}

void ue_stale_begin_task(struct task_struct *task)
{
	const struct ue_mm *ue_mm;

	/* Pairs with ue_mm_set_stale(). */
	smp_mb();
	if (likely(!atomic_read(&ue_nr_stale)))
		return;
	ue_mm = ue_mm_find_current();
	if (ue_mm && READ_ONCE(ue_mm->stale) && !ue_return_add(task))
		ue_search_later(UE_SEARCH_WAIT);
}

/* The task may exit, or change its memory by exec, at any time. */
static bool ue_task_is_stale(const struct task_struct *task)
{
	struct mm_struct *mm = READ_ONCE(task->mm);
	const struct ue_mm *ue_mm = mm ? ue_mm_find(mm) : NULL;

	return ue_mm && READ_ONCE(ue_mm->stale);
}

/* Goes on with process or thread *@nr. Return: false after the last one. */
static bool ue_search_some(int *nr, bool *short_of_memory)
{
	struct pid *pid = NULL;

	rcu_read_lock();
	for (int i = 0; i < UE_ENABLERS_AT_ONCE; i++, ++*nr) {
		struct task_struct *task;

		pid = idr_get_next(&init_pid_ns.idr, nr);
		if (!pid)
			break;
		task = pid_task(pid, PIDTYPE_PID);
		if (task && ue_task_is_stale(task) && !ue_return_add(task))
			*short_of_memory = true;
	}
	rcu_read_unlock();
	return pid;
}

/*
 * Looks at all tasks of the machine, since nothing lists those that use one memory. Takes at most
 * about a tenth of a processor, however often programs ask for it.
 */
static void ue_search(struct work_struct *unused)
{
	const unsigned long start = jiffies;
	bool short_of_memory = false;
	int nr = 1;

	while (ue_search_some(&nr, &short_of_memory))
		cond_resched();
	WRITE_ONCE(ue_search_ended, jiffies);
	WRITE_ONCE(ue_search_rest, (jiffies - start) * UE_SEARCH_REST);
	if (short_of_memory)
		ue_search_later(UE_SEARCH_WAIT);
}

static bool ue_is_work(struct callback_head *work, void *which)
{
	return work == which;
}

/*
 * While the entry is in the table, its task has not ended.
 *
 * Return: false if the task_work is about to run.
 */
static bool ue_return_cancel(struct ue_return *entry)
{
	if (!static_call(ue_task_work_cancel_match)(entry->task, ue_is_work, &entry->work))
		return false;
	hash_del(&entry->by_task);
	kfree(entry);
	ue_return_end();
	return true;
}

static void ue_returns_cancel_some(void)
{
	struct ue_return *entry;
	struct hlist_node *next;
	int bucket, nr = 0;

	spin_lock(&ue_returns_lock);
	hash_for_each_safe(ue_returns, bucket, next, entry, by_task) {
		nr += ue_return_cancel(entry);
		if (nr == UE_CANCELLED_AT_ONCE)
			break;
	}
	spin_unlock(&ue_returns_lock);
}

void ue_stale_exit(void)
{
	cancel_delayed_work_sync(&ue_search_work);
	while (atomic_read(&ue_nr_returns)) {
		ue_returns_cancel_some();
		/* Lets those run that cannot be taken back. */
		usleep_range(10, 100);
	}
}
