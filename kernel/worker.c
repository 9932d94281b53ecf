// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that waits for the memory of one address space.
 *
 * A program can hinder its own worker for as long as it likes, and a workqueue
 * runs so many items at a time and no more. What is beyond that number waits
 * for a place, and when it has waited too long gets a thread of its own, so
 * that those who hang keep nobody waiting.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "catch_up.h"
#include "enabler.h"
#include "process.h"
#include "tally.h"
#include "worker.h"

/*
 * What a workqueue runs at a time on any node (WQ_DFL_MIN_ACTIVE), which since
 * 6.9 gets no more than its share by number of processors.
 */
#define UE_IN_QUEUE_MAX		8

/* How long to wait for a place; also, to try again to make a thread. */
#define UE_PLACE_WAIT		msecs_to_jiffies(20)

/* How long to wait for memory: at first, and twice as long each time up to this. */
#define UE_MEMORY_WAIT		msecs_to_jiffies(10)
#define UE_MEMORY_WAIT_MAX	((unsigned long)HZ)

static struct workqueue_struct *ue_workqueue;
static int (*ue_worker_settle)(struct ue_process *process);

/**
 * struct ue_place - a place in the workqueue
 * @work: brings all bits of @process up to date
 * @process: NULL when the place is free
 */
struct ue_place {
	struct work_struct work;
	struct ue_process *process;
};

/* Protected by ue_enabler_mutex. */
static struct ue_place ue_places[UE_IN_QUEUE_MAX];
static LIST_HEAD(ue_waiting);

/* Return: false when there is more to do. */
static bool ue_worker_done(struct ue_process *process)
{
	bool done;

	mutex_lock(&ue_enabler_mutex);
	done = !process->again;
	process->again = false;
	if (done) {
		/* Whoever reads that reads what was written. Pairs with ue_take_share(). */
		smp_store_release(&process->behind, false);
		ue_catch_up_done(process);
	}
	mutex_unlock(&ue_enabler_mutex);
	return done;
}

/* Return: false when the address space has ended. */
static bool ue_worker_hold_memory(struct ue_process *process)
{
	bool held;

	mutex_lock(&ue_enabler_mutex);
	held = mmget_not_zero(ue_process_mm(process));
	process->held = held;
	mutex_unlock(&ue_enabler_mutex);
	return held;
}

static void ue_worker_let_go(struct ue_process *process)
{
	mutex_lock(&ue_enabler_mutex);
	process->held = false;
	/* The end of an address space takes the mutex. */
	mmput_async(ue_process_mm(process));
	mutex_unlock(&ue_enabler_mutex);
}

/* What is brought in is charged as if the program had done it. */
static int ue_worker_settle_charged(struct ue_process *process)
{
	struct mem_cgroup *group, *old;
	int err;

	group = get_mem_cgroup_from_mm(ue_process_mm(process));
	old = set_active_memcg(group);
	err = ue_worker_settle(process);
	set_active_memcg(old);
	mem_cgroup_put(group);
	return err;
}

/* Waits for one program alone. */
static void ue_worker_run(struct ue_process *process)
{
	struct mm_struct *mm = ue_process_mm(process);
	unsigned long wait = UE_MEMORY_WAIT;
	int err;

	do {
		err = 0;
		if (ue_worker_hold_memory(process)) {
			err = ue_worker_settle_charged(process);
			ue_worker_let_go(process);
		}
		if (err) {
			schedule_timeout_idle(wait);
			wait = min(2 * wait, UE_MEMORY_WAIT_MAX);
		}
	} while (err || !ue_worker_done(process));
	ue_tally(UE_TALLY_WORKERS, -1);
	ue_process_put(process);
	mmdrop(mm);
}

/* Return: false when the workqueue has no place for it. */
static bool ue_worker_queue(struct ue_process *process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	for (int i = 0; i < UE_IN_QUEUE_MAX; i++) {
		if (ue_places[i].process)
			continue;
		ue_places[i].process = process;
		queue_work(ue_workqueue, &ue_places[i].work);
		return true;
	}
	return false;
}

static struct ue_process *ue_waiting_first(void)
{
	lockdep_assert_held(&ue_enabler_mutex);
	return list_first_entry_or_null(&ue_waiting, struct ue_process,
					waiting);
}

static void ue_place_work(struct work_struct *work)
{
	struct ue_place *place = container_of(work, struct ue_place, work);
	struct ue_process *next;

	ue_worker_run(place->process);

	/* The place is the next one's. */
	mutex_lock(&ue_enabler_mutex);
	place->process = NULL;
	next = ue_waiting_first();
	if (next && ue_worker_queue(next))
		list_del_init(&next->waiting);
	/* Unloading waits for what follows: it ends the workqueue. */
	module_put(THIS_MODULE);
	mutex_unlock(&ue_enabler_mutex);
}

static int ue_worker_thread(void *process)
{
	ue_worker_run(process);
	module_put_and_kthread_exit(0);
}

static struct ue_process *ue_take_waiting(void)
{
	struct ue_process *process;

	mutex_lock(&ue_enabler_mutex);
	process = ue_waiting_first();
	if (process)
		list_del_init(&process->waiting);
	mutex_unlock(&ue_enabler_mutex);
	return process;
}

/* Places that have become free meanwhile, when nobody waited, are not offered. */
static void ue_wait_again(struct ue_process *process)
{
	mutex_lock(&ue_enabler_mutex);
	if (!ue_worker_queue(process))
		list_add(&process->waiting, &ue_waiting);
	mutex_unlock(&ue_enabler_mutex);
}

/* Makes threads, which has to wait for memory, where nothing is held. */
static void ue_make_threads(struct work_struct *work)
{
	struct ue_process *process;
	struct task_struct *thread;

	while ((process = ue_take_waiting())) {
		thread = kthread_create(ue_worker_thread, process,
					"user_events");
		if (IS_ERR(thread)) {
			ue_wait_again(process);
			schedule_delayed_work(to_delayed_work(work),
					      UE_PLACE_WAIT);
			return;
		}
		wake_up_process(thread);
	}
}

static DECLARE_DELAYED_WORK(ue_thread_maker, ue_make_threads);

void ue_worker_start(struct ue_process *process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (process->behind) {
		process->again = true;
		return;
	}
	/* Forks look at it without the mutex. */
	WRITE_ONCE(process->behind, true);
	ue_tally(UE_TALLY_WORKERS, 1);
	ue_catch_up_expect(process);
	refcount_inc(&process->references);
	mmgrab(ue_process_mm(process));
	/*
	 * Given back at the end: the program can take away all that it has
	 * registered, and go, while its worker waits.
	 */
	__module_get(THIS_MODULE);
	if (ue_worker_queue(process))
		return;
	list_add_tail(&process->waiting, &ue_waiting);
	schedule_delayed_work(&ue_thread_maker, UE_PLACE_WAIT);
}

int ue_workers_init(int (*settle)(struct ue_process *process))
{
	ue_worker_settle = settle;
	for (int i = 0; i < UE_IN_QUEUE_MAX; i++)
		INIT_WORK(&ue_places[i].work, ue_place_work);
	ue_workqueue = alloc_workqueue("user_events", WQ_UNBOUND, 0);
	return ue_workqueue ? 0 : -ENOMEM;
}

void ue_workers_exit(void)
{
	/* Each worker has held the module until its last few instructions. */
	cancel_delayed_work_sync(&ue_thread_maker);
	destroy_workqueue(ue_workqueue);
}
