// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for workers that update enable bits.
 *
 * The tracing core reports a change with event_mutex held, under which no task
 * may wait for a program. So the task that makes the change waits later, on its
 * way back to user space. A program that blocks its own worker cannot delay
 * other tasks again and again: after a timeout, tasks do not wait for the next
 * updates of this program. Programs that block their workers in turns, each for
 * less than the timeout, delay a change for one second at most.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait.h>

#include "programs/enabler.h"
#include "programs/update_wait.h"

/* The timeout without progress, and the limit for a change. */
#define UE_WAIT_TIME		msecs_to_jiffies(200)
#define UE_WAIT_TIME_MAX	((unsigned long)HZ)

/* After a timeout, skip waiting for this address space for this many updates. */
#define UE_SKIP_WAITS		20

/*
 * Changed with ue_enabler_mutex held; the counters are also read without. The newest update is the
 * first in the list.
 */
static LIST_HEAD(ue_awaited);
static unsigned int ue_nr_awaited;
static unsigned long ue_progress;

static DECLARE_WAIT_QUEUE_HEAD(ue_updates_ended);

/**
 * struct ue_return_wait - a task that waits when it returns to user space
 * @task_work: waits, in the task
 * @end: when the task stops waiting, in jiffies
 */
struct ue_return_wait {
	struct callback_head task_work;
	unsigned long end;
};

void ue_update_wait_begin(struct ue_update_wait *wait)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (wait->skip_waits) {
		wait->skip_waits--;
		return;
	}
	wait->since = jiffies;
	list_add(&wait->node, &ue_awaited);
	WRITE_ONCE(ue_nr_awaited, ue_nr_awaited + 1);
}

void ue_update_wait_end(struct ue_update_wait *wait)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (list_empty(&wait->node))
		return;
	list_del_init(&wait->node);
	WRITE_ONCE(ue_progress, ue_progress + 1);
	WRITE_ONCE(ue_nr_awaited, ue_nr_awaited - 1);
	if (!ue_nr_awaited)
		wake_up_all(&ue_updates_ended);
}

void ue_update_wait_progress(struct ue_update_wait *wait)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (!list_empty(&wait->node))
		WRITE_ONCE(ue_progress, ue_progress + 1);
}

static void ue_updates_time_out(void)
{
	struct ue_update_wait *wait;
	unsigned int nr = 0;

	mutex_lock(&ue_enabler_mutex);
	/* The oldest is the last. */
	while (!list_empty(&ue_awaited)) {
		wait = list_last_entry(&ue_awaited, struct ue_update_wait, node);
		/* This update and all others have only just become pending. */
		if ((u32)jiffies - wait->since < UE_WAIT_TIME)
			break;
		wait->skip_waits = UE_SKIP_WAITS;
		ue_update_wait_end(wait);
		if (++nr % UE_ENABLERS_AT_ONCE == 0)
			ue_enabler_pause();
	}
	mutex_unlock(&ue_enabler_mutex);
}

/*
 * While workers make progress, the task keeps waiting until @end: there may just
 * be many bits.
 *
 * Return: false if the time is up and updates are still pending; true if no
 * update is pending, or if the task was killed.
 */
static bool ue_wait_until(unsigned long end)
{
	unsigned long progress;
	long left;

	do {
		progress = READ_ONCE(ue_progress);
		left = clamp_t(long, end - jiffies, 0, UE_WAIT_TIME);
		left = wait_event_killable_timeout(ue_updates_ended,
						   !READ_ONCE(ue_nr_awaited),
						   left);
	} while (!left && progress != READ_ONCE(ue_progress) &&
		 time_before(jiffies, end));
	return left;
}

static void ue_wait_for_updates(struct callback_head *task_work)
{
	struct ue_return_wait *wait =
		container_of(task_work, struct ue_return_wait, task_work);

	if (!ue_wait_until(wait->end))
		ue_updates_time_out();
	kfree(wait);
	/*
	 * At unload, synchronize_rcu_tasks() waits for the rest of this
	 * function.
	 */
	module_put(THIS_MODULE);
}

/*
 * One system call may change many events, and each change adds a wait. The limit
 * of each wait counts from this call, not from when the wait begins. So the
 * waits overlap and do not add up.
 */
void ue_update_wait_on_return(void)
{
	struct ue_return_wait *wait;

	if ((current->flags & PF_KTHREAD) || !READ_ONCE(ue_nr_awaited))
		return;
	wait = kmalloc(sizeof(*wait), GFP_KERNEL);
	if (!wait)
		return;
	init_task_work(&wait->task_work, ue_wait_for_updates);
	wait->end = jiffies + UE_WAIT_TIME_MAX;
	__module_get(THIS_MODULE);
	if (task_work_add(current, &wait->task_work, TWA_RESUME)) {
		/* The task is exiting. */
		kfree(wait);
		module_put(THIS_MODULE);
	}
}
