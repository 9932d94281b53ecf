// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for workers that update enable bits.
 *
 * The tracing core reports a change with event_mutex held, under which no task
 * may wait for a program. So the task that makes the change waits later, on its
 * way back to user space. A program that blocks its own worker cannot delay
 * other tasks again and again: after a timeout they skip its next updates.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait.h>

#include "enabler.h"
#include "update_wait.h"

/* The timeout without progress, and what each update adds to the total limit. */
#define UE_WAIT_TIME		msecs_to_jiffies(200)
#define UE_WAIT_TIME_EACH	msecs_to_jiffies(10)

/* After a timeout, skip waiting for this address space for this many updates. */
#define UE_SKIP_WAITS		20

/* Changed with ue_enabler_mutex held; the counters are also read without. */
static LIST_HEAD(ue_awaited);
static unsigned int ue_nr_awaited;
static unsigned long ue_nr_ended;

static DECLARE_WAIT_QUEUE_HEAD(ue_updates_ended);

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
	WRITE_ONCE(ue_nr_ended, ue_nr_ended + 1);
	WRITE_ONCE(ue_nr_awaited, ue_nr_awaited - 1);
	if (!ue_nr_awaited)
		wake_up_all(&ue_updates_ended);
}

static void ue_updates_time_out(void)
{
	struct ue_update_wait *wait, *next;

	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry_safe(wait, next, &ue_awaited, node) {
		/* This update has only just become pending. */
		if ((u32)jiffies - wait->since < UE_WAIT_TIME)
			continue;
		wait->skip_waits = UE_SKIP_WAITS;
		ue_update_wait_end(wait);
	}
	mutex_unlock(&ue_enabler_mutex);
}

/*
 * While updates keep ending, the task keeps waiting: there may just be many.
 * The total is limited as well, so that programs cannot extend it by taking
 * turns.
 */
static void ue_wait_for_updates(struct callback_head *task_work)
{
	const unsigned long end = jiffies + UE_WAIT_TIME +
		READ_ONCE(ue_nr_awaited) * UE_WAIT_TIME_EACH;
	unsigned long nr_ended;
	long left;

	do {
		nr_ended = READ_ONCE(ue_nr_ended);
		left = wait_event_killable_timeout(ue_updates_ended,
						   !READ_ONCE(ue_nr_awaited),
						   UE_WAIT_TIME);
	} while (!left && nr_ended != READ_ONCE(ue_nr_ended) &&
		 time_before(jiffies, end));

	if (!left)
		ue_updates_time_out();
	kfree(task_work);
	/* ue_exit_parts() waits for the rest of this function. */
	module_put(THIS_MODULE);
}

void ue_update_wait_on_return(void)
{
	struct callback_head *task_work;

	if ((current->flags & PF_KTHREAD) || !READ_ONCE(ue_nr_awaited))
		return;
	task_work = kmalloc(sizeof(*task_work), GFP_KERNEL);
	if (!task_work)
		return;
	init_task_work(task_work, ue_wait_for_updates);
	__module_get(THIS_MODULE);
	if (task_work_add(current, task_work, TWA_RESUME)) {
		/* The task is exiting. */
		kfree(task_work);
		module_put(THIS_MODULE);
	}
}
