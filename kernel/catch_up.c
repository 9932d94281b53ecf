// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for workers that bring address spaces up to date.
 *
 * Tracing tells of a change with event_mutex held, under which nobody may wait
 * for a program. So the task that makes the change waits later, on its way
 * back to user space. A program that hinders its own worker can't make it
 * wait again and again: whoever was waited for in vain is not expected any more
 * until its work has been done, nor the next few times.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait.h>

#include "catch_up.h"
#include "enabler.h"
#include "process.h"

/* Without any progress; and for each that is expected, at the most. */
#define UE_CATCH_UP_TIME	msecs_to_jiffies(200)
#define UE_CATCH_UP_EACH	msecs_to_jiffies(10)

/* How often nobody waits for whom somebody has waited in vain. */
#define UE_CATCH_UP_WITHOUT	20

/* Protected by ue_enabler_mutex, but that @ue_nr_expected is read without. */
static LIST_HEAD(ue_expected);
static unsigned int ue_nr_expected;

/* Those that have ceased to be expected; counted, and read, likewise. */
static unsigned long ue_nr_done;

static DECLARE_WAIT_QUEUE_HEAD(ue_caught_up);

void ue_catch_up_expect(struct ue_process *process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (process->unexpected) {
		process->unexpected--;
		return;
	}
	process->expected_since = jiffies;
	list_add(&process->expected, &ue_expected);
	WRITE_ONCE(ue_nr_expected, ue_nr_expected + 1);
}

void ue_catch_up_done(struct ue_process *process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (list_empty(&process->expected))
		return;
	list_del_init(&process->expected);
	WRITE_ONCE(ue_nr_done, ue_nr_done + 1);
	WRITE_ONCE(ue_nr_expected, ue_nr_expected - 1);
	if (!ue_nr_expected)
		wake_up_all(&ue_caught_up);
}

static void ue_catch_up_give_up(void)
{
	struct ue_process *process, *next;

	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry_safe(process, next, &ue_expected, expected) {
		/* Another change has just begun to wait for it. */
		if ((u32)jiffies - process->expected_since < UE_CATCH_UP_TIME)
			continue;
		process->unexpected = UE_CATCH_UP_WITHOUT;
		ue_catch_up_done(process);
	}
	mutex_unlock(&ue_enabler_mutex);
}

/*
 * As long as some catch up, the others may just be many. Yet each may take only
 * so much longer, lest they take turns at it.
 */
static void ue_catch_up_wait(struct callback_head *task_work)
{
	const unsigned long end = jiffies + UE_CATCH_UP_TIME +
		READ_ONCE(ue_nr_expected) * UE_CATCH_UP_EACH;
	unsigned long nr_done;
	long left;

	do {
		nr_done = READ_ONCE(ue_nr_done);
		left = wait_event_killable_timeout(ue_caught_up,
						   !READ_ONCE(ue_nr_expected),
						   UE_CATCH_UP_TIME);
	} while (!left && nr_done != READ_ONCE(ue_nr_done) &&
		 time_before(jiffies, end));

	if (!left)
		ue_catch_up_give_up();
	kfree(task_work);
	/* Last; unloading waits for the few instructions that follow. */
	module_put(THIS_MODULE);
}

void ue_catch_up_on_return(void)
{
	struct callback_head *task_work;

	if ((current->flags & PF_KTHREAD) || !READ_ONCE(ue_nr_expected))
		return;
	task_work = kmalloc(sizeof(*task_work), GFP_KERNEL);
	if (!task_work)
		return;
	init_task_work(task_work, ue_catch_up_wait);
	__module_get(THIS_MODULE);
	if (task_work_add(current, task_work, TWA_RESUME)) {
		/* The task is exiting. */
		kfree(task_work);
		module_put(THIS_MODULE);
	}
}
