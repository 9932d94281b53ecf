// SPDX-License-Identifier: GPL-2.0-only
/*
 * Updates enable bits when their event gets or loses a recorder.
 *
 * Each bit is written with ue_enabler_mutex held, from the state that its event
 * has at that time. So the last of several writes is correct, whichever task
 * makes it.
 *
 * An update has a number. In the list of an event, the enablers that its last
 * update has not reached come first. So an update can release the mutex and
 * continue later.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "events/event.h"
#include "port/compat.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/update.h"
#include "programs/worker.h"

/*
 * How many bits are written directly in each interval, over all events and
 * address spaces. Workers write the rest, because all other tracing operations
 * wait while event_mutex is held. Each update may write a few directly, so that
 * an event with few bits does not wait behind the workers of other events.
 */
#define UE_DIRECT_WRITES	4096
#define UE_DIRECT_INTERVAL	msecs_to_jiffies(100)
#define UE_DIRECT_WRITES_LEAST	32U

/*
 * An update writes for this long, whatever a bit takes. The clock is read now and
 * then.
 */
#define UE_DIRECT_TIME		(2 * NSEC_PER_MSEC)
#define UE_WRITES_PER_CLOCK	16

/* Protected by event_mutex. */
static unsigned int ue_writes_left;
static unsigned long ue_interval_start;

/* Protected by ue_enabler_mutex. */
static u32 ue_last_update;

/**
 * struct ue_direct - the direct writes of an update
 * @start: when the update began; local_clock()
 * @workers_started: bits that could not be written directly are left to workers
 * @mm: the address space that is being written, whose memory is held; NULL if
 *	there is none. Kept from one bit to the next: most have several to write.
 * @locked: the mmap_lock of @mm is held; it could be taken without waiting
 */
struct ue_direct {
	u64 start;
	bool workers_started;
	bool locked;
	struct mm_struct *mm;
};

static void ue_release_mm(struct ue_direct *direct)
{
	if (!direct->mm)
		return;
	if (direct->locked)
		mmap_read_unlock(direct->mm);
	mmput_async(direct->mm);
	direct->mm = NULL;
}

/* Return: false if the program has exited. */
static bool ue_hold_mm(struct ue_direct *direct, struct mm_struct *mm)
{
	if (direct->mm == mm)
		return true;
	ue_release_mm(direct);
	if (!mmget_not_zero(mm))
		return false;
	direct->mm = mm;
	direct->locked = mmap_read_trylock(mm);
	return true;
}

static void ue_leave_to_worker(struct ue_direct *direct, struct ue_mm *ue_mm)
{
	direct->workers_started = true;
	ue_worker_start(ue_mm);
}

/* Writes without waiting, or starts a worker. */
static void ue_write_or_start_worker(struct ue_direct *direct,
				     struct ue_mm *ue_mm,
				     const struct ue_enabler *enabler)
{
	int err = -EAGAIN;

	if (!ue_hold_mm(direct, ue_mm->mm))
		return;
	if (direct->locked)
		err = ue_mm_write(ue_mm, 1, enabler, NULL);
	if (err && err != -ESRCH)
		ue_leave_to_worker(direct, ue_mm);
}

static bool ue_time_is_up(const struct ue_direct *direct, unsigned int left)
{
	return left % UE_WRITES_PER_CLOCK == 0 &&
	       local_clock() - direct->start >= UE_DIRECT_TIME;
}

/*
 * Writes a bit in all address spaces that have the set: the first @left of them
 * directly, as long as there is time.
 *
 * Return: how many more bits may be written directly.
 */
static unsigned int ue_write_bits(struct ue_direct *direct,
				  const struct ue_enabler *enabler,
				  unsigned int left)
{
	const unsigned int before = left;
	struct ue_mm *ue_mm;

	hlist_for_each_entry(ue_mm, &enabler->set->mms, of_set) {
		if (left) {
			ue_write_or_start_worker(direct, ue_mm, enabler);
			left--;
			if (ue_time_is_up(direct, left))
				left = 0;
		} else {
			ue_leave_to_worker(direct, ue_mm);
		}
		if (need_resched())
			cond_resched();
	}
	/* An enabler without an address space takes time as well. */
	return left < before ? left : left - 1;
}

/* Starts a worker for each address space that has the set. */
static void ue_start_workers(const struct ue_enabler *enabler)
{
	struct ue_enabler_set *set = enabler->set;
	struct ue_mm *ue_mm;

	/*
	 * The workers were already started for another enabler of the set, and
	 * write this bit too.
	 */
	if (set->left_to_workers == enabler->event->update)
		return;
	set->left_to_workers = enabler->event->update;
	hlist_for_each_entry(ue_mm, &set->mms, of_set) {
		ue_worker_start(ue_mm);
		if (need_resched())
			cond_resched();
	}
}

/*
 * Updates enablers that the last update has not reached yet: writes up to @nr
 * bits directly, or without @direct, leaves up to @nr enablers to workers.
 *
 * Return: the unused part of @nr; if not 0, the update has reached all
 * enablers.
 */
static unsigned int ue_update_enablers(struct ue_event *event,
				       unsigned int nr,
				       struct ue_direct *direct)
{
	struct ue_enabler *enabler;

	lockdep_assert_held(&ue_enabler_mutex);
	list_for_each_entry(enabler, &event->enablers, of_event) {
		struct ue_enabler_set *set = enabler->set;

		if (enabler->update == event->update)
			break;
		if (!nr) {
			list_rotate_to_front(&enabler->of_event,
					     &event->enablers);
			break;
		}
		if (direct) {
			nr = ue_write_bits(direct, enabler, nr);
		} else {
			ue_start_workers(enabler);
			nr--;
		}
		enabler->update = event->update;
		/*
		 * A child that is being forked is not in the list of the set
		 * yet. Either the child sees the new count or update_pending,
		 * or the parent's bits were written before fork copied them.
		 * Pairs with ue_reference_set().
		 */
		smp_store_release(&set->changes, set->changes + 1);
	}
	return nr;
}

/* Whether there are enablers that the last update has not reached. */
static bool ue_has_outdated(const struct ue_event *event)
{
	const struct ue_enabler *enabler =
		list_first_entry(&event->enablers, struct ue_enabler, of_event);

	lockdep_assert_held(&ue_enabler_mutex);
	return !list_empty(&event->enablers) &&
	       enabler->update != event->update;
}

/* Starts workers for the enablers that the last update has not reached. */
static void ue_finish_update(struct ue_event *event)
{
	lockdep_assert_held(&ue_enabler_mutex);
	while (!ue_update_enablers(event, UE_ENABLERS_AT_ONCE, NULL)) {
		mutex_unlock(&ue_enabler_mutex);
		cond_resched();
		mutex_lock(&ue_enabler_mutex);
	}
}

/**
 * struct ue_deferred - an update that a work item finishes
 * @work: the work item
 * @event: the event; a reference
 * @wait: for tasks that wait for pending updates
 */
struct ue_deferred {
	struct work_struct work;
	struct ue_event *event;
	struct ue_update_wait wait;
};

static void ue_deferred_work(struct work_struct *work)
{
	struct ue_deferred *deferred = container_of(work, struct ue_deferred, work);

	mutex_lock(&ue_enabler_mutex);
	ue_finish_update(deferred->event);
	ue_update_wait_end(&deferred->wait);
	mutex_unlock(&ue_enabler_mutex);
	ue_event_unref(deferred->event);
	kfree(deferred);
	/*
	 * At unload, synchronize_rcu_tasks() waits for the rest of this
	 * function.
	 */
	module_put(THIS_MODULE);
}

/*
 * If memory for the work item is short, the update is finished at once, with
 * event_mutex held for longer.
 */
static void ue_finish_later(struct ue_event *event)
{
	struct ue_deferred *deferred = kzalloc(sizeof(*deferred), GFP_KERNEL);

	mutex_lock(&ue_enabler_mutex);
	if (deferred) {
		INIT_WORK(&deferred->work, ue_deferred_work);
		INIT_LIST_HEAD(&deferred->wait.node);
		deferred->event = event;
		ue_event_ref(event);
		/*
		 * The recorder that was added or is removed has a reference to
		 * the module.
		 */
		__module_get(THIS_MODULE);
		ue_update_wait_begin(&deferred->wait);
		queue_work(ue_unbound_wq, &deferred->work);
	} else {
		ue_finish_update(event);
	}
	mutex_unlock(&ue_enabler_mutex);
}

static void ue_refill_writes(void)
{
	lockdep_assert_held(ue_event_mutex);
	if (jiffies - ue_interval_start < UE_DIRECT_INTERVAL)
		return;
	ue_writes_left = UE_DIRECT_WRITES;
	ue_interval_start = jiffies;
}

void ue_update_event(struct ue_event *event)
{
	struct ue_direct direct = { };
	unsigned int granted, unused;
	bool has_rest, wait;

	ue_refill_writes();
	granted = max(ue_writes_left, UE_DIRECT_WRITES_LEAST);
	mutex_lock(&ue_enabler_mutex);
	direct.start = local_clock();
	/* 0 is the number of no update. */
	event->update = ++ue_last_update ?: ++ue_last_update;
	unused = ue_update_enablers(event, granted, &direct);
	ue_release_mm(&direct);
	ue_writes_left -= min(ue_writes_left, granted - unused);
	has_rest = ue_has_outdated(event);
	wait = direct.workers_started || has_rest;
	mutex_unlock(&ue_enabler_mutex);
	if (has_rest)
		ue_finish_later(event);
	/*
	 * If all bits are written, the task does not wait for the bits of other
	 * events.
	 */
	if (wait)
		ue_update_wait_on_return();
}
