// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers, which update the enable bits of one address space each.
 *
 * A program can block its own worker for as long as it likes, and a workqueue
 * runs a limited number of work items at a time. An address space beyond that
 * number waits for a free slot. After a timeout it gets a thread of its own, so
 * that blocked workers do not delay the others.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>

#include "debug_counter.h"
#include "enabler.h"
#include "mm.h"
#include "worker.h"

/*
 * A workqueue runs at least this many work items at a time on each node
 * (WQ_DFL_MIN_ACTIVE). Since Linux 6.9, whether it runs more depends on the
 * number of CPUs.
 */
#define UE_NR_SLOTS		8

/* How long to wait for a slot, and before another attempt to create a thread. */
#define UE_SLOT_WAIT		msecs_to_jiffies(20)

/* How long to wait for memory at first; doubled each time, up to the maximum. */
#define UE_MEMORY_WAIT		msecs_to_jiffies(10)
#define UE_MEMORY_WAIT_MAX	((unsigned long)HZ)

static struct workqueue_struct *ue_workqueue;
static int (*ue_worker_update)(struct ue_mm *ue_mm);

/**
 * struct ue_slot - one of the work items
 * @work: updates the enable bits of @ue_mm
 * @ue_mm: the address space; NULL if the slot is free
 */
struct ue_slot {
	struct work_struct work;
	struct ue_mm *ue_mm;
};

/* Protected by ue_enabler_mutex. */
static struct ue_slot ue_slots[UE_NR_SLOTS];
static LIST_HEAD(ue_waiting);

/* Return: false if an event has changed since the last pass began. */
static bool ue_worker_try_finish(struct ue_mm *ue_mm)
{
	bool done;

	mutex_lock(&ue_enabler_mutex);
	done = !ue_mm->update_again;
	ue_mm->update_again = false;
	if (done) {
		/* After the bits are written. Pairs with ue_reference_set(). */
		smp_store_release(&ue_mm->update_pending, false);
		ue_update_wait_end(&ue_mm->wait);
	}
	mutex_unlock(&ue_enabler_mutex);
	return done;
}

/* Return: false if the program has exited. */
static bool ue_worker_hold_mm(struct ue_mm *ue_mm)
{
	bool held;

	mutex_lock(&ue_enabler_mutex);
	held = mmget_not_zero(ue_mm->mm);
	ue_mm->worker_holds_mm = held;
	mutex_unlock(&ue_enabler_mutex);
	return held;
}

static void ue_worker_release_mm(struct ue_mm *ue_mm)
{
	mutex_lock(&ue_enabler_mutex);
	ue_mm->worker_holds_mm = false;
	/* Not mmput(): the end of an address space takes the mutex. */
	mmput_async(ue_mm->mm);
	mutex_unlock(&ue_enabler_mutex);
}

/* Pages that are faulted in are charged to the program's memory cgroup. */
static int ue_worker_update_charged(struct ue_mm *ue_mm)
{
	struct mem_cgroup *group, *old;
	int err;

	group = get_mem_cgroup_from_mm(ue_mm->mm);
	old = set_active_memcg(group);
	err = ue_worker_update(ue_mm);
	set_active_memcg(old);
	mem_cgroup_put(group);
	return err;
}

/* Waits for one program, and for no other. */
static void ue_worker_run(struct ue_mm *ue_mm)
{
	struct mm_struct *mm = ue_mm->mm;
	unsigned long wait = UE_MEMORY_WAIT;
	int err;

	do {
		err = 0;
		if (ue_worker_hold_mm(ue_mm)) {
			err = ue_worker_update_charged(ue_mm);
			ue_worker_release_mm(ue_mm);
		}
		if (err) {
			schedule_timeout_idle(wait);
			wait = min(2 * wait, UE_MEMORY_WAIT_MAX);
		}
	} while (err || !ue_worker_try_finish(ue_mm));
	ue_debug_count(UE_COUNT_WORKERS, -1);
	ue_mm_put(ue_mm);
	mmdrop(mm);
}

/* Return: false if no slot is free. */
static bool ue_worker_queue(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	for (int i = 0; i < UE_NR_SLOTS; i++) {
		if (ue_slots[i].ue_mm)
			continue;
		ue_slots[i].ue_mm = ue_mm;
		queue_work(ue_workqueue, &ue_slots[i].work);
		return true;
	}
	return false;
}

/* Return: the address space that has waited longest for a slot, or NULL. */
static struct ue_mm *ue_take_waiting(void)
{
	struct ue_mm *ue_mm;

	lockdep_assert_held(&ue_enabler_mutex);
	ue_mm = list_first_entry_or_null(&ue_waiting, struct ue_mm, waiting);
	if (ue_mm)
		list_del_init(&ue_mm->waiting);
	return ue_mm;
}

static void ue_slot_work(struct work_struct *work)
{
	struct ue_slot *slot = container_of(work, struct ue_slot, work);
	struct ue_mm *next;

	ue_worker_run(slot->ue_mm);

	mutex_lock(&ue_enabler_mutex);
	slot->ue_mm = NULL;
	next = ue_take_waiting();
	if (next)
		ue_worker_queue(next);
	/* At unload, destroy_workqueue() waits for the rest of this function. */
	module_put(THIS_MODULE);
	mutex_unlock(&ue_enabler_mutex);
}

static int ue_worker_thread(void *ue_mm)
{
	ue_worker_run(ue_mm);
	module_put_and_kthread_exit(0);
}

/* Releases the mutex while it creates a thread, which may wait for memory. */
static void ue_create_threads(struct work_struct *work)
{
	struct task_struct *thread = NULL;
	struct ue_mm *ue_mm;

	mutex_lock(&ue_enabler_mutex);
	while (!IS_ERR(thread) && (ue_mm = ue_take_waiting())) {
		mutex_unlock(&ue_enabler_mutex);
		thread = kthread_create(ue_worker_thread, ue_mm, "user_events");
		if (!IS_ERR(thread))
			wake_up_process(thread);
		mutex_lock(&ue_enabler_mutex);
	}
	if (IS_ERR(thread)) {
		/* A slot may have become free while @ue_mm was not in the list. */
		if (!ue_worker_queue(ue_mm))
			list_add(&ue_mm->waiting, &ue_waiting);
		schedule_delayed_work(to_delayed_work(work), UE_SLOT_WAIT);
	}
	mutex_unlock(&ue_enabler_mutex);
}

static DECLARE_DELAYED_WORK(ue_create_threads_work, ue_create_threads);

void ue_worker_start(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (ue_mm->update_pending) {
		ue_mm->update_again = true;
		return;
	}
	/* A forking task reads it without the mutex. */
	WRITE_ONCE(ue_mm->update_pending, true);
	ue_debug_count(UE_COUNT_WORKERS, 1);
	ue_update_wait_begin(&ue_mm->wait);
	refcount_inc(&ue_mm->references);
	mmgrab(ue_mm->mm);
	/*
	 * Dropped by the worker: the program can unregister everything and exit
	 * while its worker waits.
	 */
	__module_get(THIS_MODULE);
	if (ue_worker_queue(ue_mm))
		return;
	list_add_tail(&ue_mm->waiting, &ue_waiting);
	schedule_delayed_work(&ue_create_threads_work, UE_SLOT_WAIT);
}

int ue_workers_init(int (*update)(struct ue_mm *ue_mm))
{
	ue_worker_update = update;
	for (int i = 0; i < UE_NR_SLOTS; i++)
		INIT_WORK(&ue_slots[i].work, ue_slot_work);
	ue_workqueue = alloc_workqueue("user_events", WQ_UNBOUND, 0);
	return ue_workqueue ? 0 : -ENOMEM;
}

void ue_workers_exit(void)
{
	/* Each worker has dropped its reference to the module; none waits. */
	cancel_delayed_work_sync(&ue_create_threads_work);
	destroy_workqueue(ue_workqueue);
}
