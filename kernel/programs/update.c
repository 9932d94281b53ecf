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
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "events/event.h"
#include "port/compat.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/mm_attach.h"
#include "programs/mute.h"
#include "programs/stale.h"
#include "programs/traced.h"
#include "programs/update.h"

/*
 * How many bits are written directly in each interval, over all events and
 * address spaces. A work item writes the rest, because all other tracing operations
 * wait while event_mutex is held. Each update may write a few directly, so that
 * an event with few bits does not wait behind the work items of other events.
 */
#define UE_DIRECT_WRITES	4096
#define UE_DIRECT_INTERVAL	msecs_to_jiffies(100)
#define UE_DIRECT_WRITES_LEAST	32U

/*
 * The value of @update_scopes for an update of all programs. An update for all 64 scopes has this
 * value, too, and then reaches all programs, which does no harm.
 */
#define UE_ALL_PROGRAMS		U64_MAX

/*
 * An update writes bits itself for at most about this long, however many these are. The
 * clock is read now and then.
 */
#define UE_DIRECT_TIME		(2 * NSEC_PER_MSEC)
#define UE_WRITES_PER_CLOCK	16

/* How long the work item sleeps after each UE_ENABLERS_AT_ONCE bits, in microseconds. */
#define UE_DEFERRED_PAUSE	400

/* Protected by event_mutex. */
static unsigned int ue_writes_left;
static unsigned long ue_interval_start;

/* Protected by ue_enabler_mutex. */
static u32 ue_last_update;

static __always_inline void ue_release_mm(struct ue_update *update)
{
	if (!update->mm)
		return;
	if (update->locked)
		mmap_read_unlock(update->mm);
	mmput_async(update->mm);
	update->mm = NULL;
}

/* Return: false if the program has exited. */
static __always_inline bool ue_hold_mm(struct ue_update *update,
				       struct mm_struct *mm)
{
	if (update->mm == mm)
		return true;
	ue_release_mm(update);
	if (!mmget_not_zero(mm))
		return false;
	update->mm = mm;
	update->locked = mmap_read_trylock(mm);
	return true;
}

/* Whether an update for programs with @scopes makes a difference to an address space. */
static __always_inline bool ue_is_concerned(u64 scopes, const struct ue_mm *ue_mm)
{
	return scopes == UE_ALL_PROGRAMS || scopes & ue_mm_scopes(ue_mm);
}

/*
 * Inlined, as this is what an update of many programs does.
 *
 * Return: how many writes this counts as: a thread that is interrupted counts as one.
 */
static __always_inline unsigned int
ue_write_or_set_stale(struct ue_update *update, struct ue_mm *ue_mm,
		      const struct ue_enabler *enabler)
{
	int err = -EAGAIN;

	if (!ue_hold_mm(update, ue_mm->mm))
		return 1;
	if (update->locked)
		err = ue_mm_write(ue_mm, 1, enabler, NULL);
	if (!err || err == -ESRCH)
		return 1;
	ue_release_mm(update);
	return 1 + ue_mm_set_stale(ue_mm);
}

static bool ue_time_is_up(const struct ue_update *update)
{
	return local_clock() - update->start >= UE_DIRECT_TIME;
}

/*
 * A later update of the event begins anew. Another enabler may have the address of one that was
 * freed. But the same update does not come to that enabler, since it is newer. If a walk ends here
 * early, its enabler is still outdated: another walk will come, and meets the children that have
 * joined since.
 */
static void ue_walk_begin(struct ue_update *update, const struct ue_enabler *enabler)
{
	if (update->enabler == enabler && update->number == enabler->event->update)
		return;
	ue_set_walk_end(&update->walk);
	update->enabler = enabler;
	update->number = enabler->event->update;
	ue_set_walk_begin(&update->walk, enabler->set);
}

/*
 * Writes a bit in all address spaces that have the set and are concerned, up to *@left times and
 * as long as there is time; reduces *@left.
 *
 * Return: false if it did not get to all of them. The next call with @update goes on.
 */
static bool ue_write_bits(struct ue_update *update, const struct ue_enabler *enabler,
			  u64 scopes, unsigned int *left)
{
	const unsigned int before = *left;

	ue_walk_begin(update, enabler);
	while (update->walk.next) {
		struct ue_mm *ue_mm;
		unsigned int nr;

		/* Also for address spaces that are only looked at. */
		if (++update->nr_seen >= UE_WRITES_PER_CLOCK) {
			update->nr_seen = 0;
			if (ue_time_is_up(update))
				*left = 0;
			cond_resched();
		}
		if (!*left)
			return false;
		ue_mm = ue_set_walk_next(&update->walk);
		if (!ue_is_concerned(scopes, ue_mm))
			continue;
		nr = ue_write_or_set_stale(update, ue_mm, enabler);
		update->nr_seen += nr - 1;
		*left -= min(*left, nr);
	}
	ue_set_walk_end(&update->walk);
	update->enabler = NULL;
	/* An enabler without an address space takes time as well. */
	if (*left == before)
		--*left;
	return true;
}

/*
 * Updates enablers that the last update has not reached yet: writes up to @nr bits.
 *
 * Return: the unused part of @nr; if not 0, the update has reached all
 * enablers.
 */
static unsigned int ue_update_enablers(struct ue_event *event, unsigned int nr,
				       struct ue_update *update)
{
	const u64 scopes = event->update_scopes;
	struct ue_enabler *enabler;

	lockdep_assert_held(&ue_enabler_mutex);
	list_for_each_entry(enabler, &event->enablers, of_event) {
		struct ue_enabler_set *set = enabler->set;

		if (enabler->update == event->update)
			break;
		if (!nr || !ue_write_bits(update, enabler, scopes, &nr)) {
			list_rotate_to_front(&enabler->of_event,
					     &event->enablers);
			return 0;
		}
		enabler->update = event->update;
		/*
		 * A child that is being forked is not in the list of the set
		 * yet. Either the child sees the new count or that the parent is stale,
		 * or the parent's bits were written before fork copied them.
		 * A child that runs earlier sees the walk of @update.
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

/*
 * Lets other tasks have the mutex most of the time: a program may have very many bits, and tasks
 * that find the mutex taken look for it only now and then.
 */
static void ue_update_pause(struct ue_update *update)
{
	ue_release_mm(update);
	mutex_unlock(&ue_enabler_mutex);
	usleep_range(UE_DEFERRED_PAUSE, 2 * UE_DEFERRED_PAUSE);
	mutex_lock(&ue_enabler_mutex);
	update->start = local_clock();
}

static void ue_finish_update(struct ue_event *event)
{
	struct ue_update update = { .start = local_clock() };

	lockdep_assert_held(&ue_enabler_mutex);
	while (!ue_update_enablers(event, UE_ENABLERS_AT_ONCE, &update))
		ue_update_pause(&update);
	ue_set_walk_end(&update.walk);
	ue_release_mm(&update);
}

/**
 * struct ue_deferred - an update that a work item finishes
 * @node: entry in the list of all, by @number
 * @number: larger than those of earlier ones
 * @work: the work item
 * @event: the event; a reference
 */
struct ue_deferred {
	struct list_head node;
	unsigned long number;
	struct work_struct work;
	struct ue_event *event;
};

/* Protected by ue_enabler_mutex. */
static LIST_HEAD(ue_all_deferred);
static unsigned long ue_last_deferred;

/*
 * The number of the first deferred update; if there is none, the number that the next one gets.
 * Changed with the mutex held.
 */
static unsigned long ue_first_deferred = 1;

static DECLARE_WAIT_QUEUE_HEAD(ue_deferred_ended);

static bool ue_deferred_until(unsigned long number)
{
	return time_after(READ_ONCE(ue_first_deferred), number);
}

bool ue_updates_deferred(void)
{
	lockdep_assert_held(&ue_enabler_mutex);
	return !list_empty(&ue_all_deferred);
}

/* The caller waits for no later updates. A user could start those for ever. */
void ue_updates_finish(void)
{
	unsigned long last;

	mutex_lock(&ue_enabler_mutex);
	last = ue_last_deferred;
	mutex_unlock(&ue_enabler_mutex);
	wait_event(ue_deferred_ended, ue_deferred_until(last));
}

/**
 * struct ue_deferred_wait - a task that waits for its own update
 * @task_work: waits, when the task returns to user space
 * @number: of the update
 */
struct ue_deferred_wait {
	struct callback_head task_work;
	unsigned long number;
};

static void ue_wait_on_return(struct callback_head *task_work)
{
	struct ue_deferred_wait *wait =
		container_of(task_work, struct ue_deferred_wait, task_work);

	wait_event_killable(ue_deferred_ended, ue_deferred_until(wait->number));
	kfree(wait);
	/*
	 * At unload, synchronize_rcu_tasks() waits for the rest of this
	 * function.
	 */
	module_put(THIS_MODULE);
}

/*
 * The caller of the tracing core holds event_mutex now, and waits later. Without memory, and in a
 * kernel thread, it does not wait.
 */
static void ue_deferred_wait_later(unsigned long number)
{
	struct ue_deferred_wait *wait;

	if (current->flags & UE_PF_NEVER_RETURNS)
		return;
	wait = kmalloc(sizeof(*wait), GFP_KERNEL);
	if (!wait)
		return;
	init_task_work(&wait->task_work, ue_wait_on_return);
	wait->number = number;
	__module_get(THIS_MODULE);
	if (task_work_add(current, &wait->task_work, TWA_RESUME)) {
		/* The task is exiting. */
		kfree(wait);
		module_put(THIS_MODULE);
	}
}

static void ue_deferred_begin(struct ue_deferred *deferred)
{
	lockdep_assert_held(&ue_enabler_mutex);
	deferred->number = ++ue_last_deferred;
	list_add_tail(&deferred->node, &ue_all_deferred);
}

static void ue_deferred_end(struct ue_deferred *deferred)
{
	const struct ue_deferred *first;

	lockdep_assert_held(&ue_enabler_mutex);
	list_del(&deferred->node);
	first = list_first_entry_or_null(&ue_all_deferred, struct ue_deferred, node);
	WRITE_ONCE(ue_first_deferred, first ? first->number : ue_last_deferred + 1);
	wake_up_all(&ue_deferred_ended);
}

static void ue_deferred_work(struct work_struct *work)
{
	struct ue_deferred *deferred = container_of(work, struct ue_deferred, work);

	mutex_lock(&ue_enabler_mutex);
	ue_finish_update(deferred->event);
	ue_deferred_end(deferred);
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
	unsigned long number = 0;

	mutex_lock(&ue_enabler_mutex);
	if (deferred) {
		INIT_WORK(&deferred->work, ue_deferred_work);
		deferred->event = event;
		ue_event_ref(event);
		/*
		 * The recorder that was added or is removed has a reference to
		 * the module.
		 */
		__module_get(THIS_MODULE);
		ue_deferred_begin(deferred);
		number = deferred->number;
		queue_work(ue_unbound_wq, &deferred->work);
	} else {
		ue_finish_update(event);
	}
	mutex_unlock(&ue_enabler_mutex);
	if (number)
		ue_deferred_wait_later(number);
}

static void ue_refill_writes(void)
{
	lockdep_assert_held(ue_event_mutex);
	if (jiffies - ue_interval_start < UE_DIRECT_INTERVAL)
		return;
	ue_writes_left = UE_DIRECT_WRITES;
	ue_interval_start = jiffies;
}

void ue_update_begin(struct ue_update *update)
{
	*update = (struct ue_update){ };
	ue_refill_writes();
	update->granted = max(ue_writes_left, UE_DIRECT_WRITES_LEAST);
	update->left = update->granted;
	mutex_lock(&ue_enabler_mutex);
	update->start = local_clock();
}

void ue_update_end(struct ue_update *update)
{
	ue_set_walk_end(&update->walk);
	ue_release_mm(update);
	ue_writes_left -= min(ue_writes_left, update->granted - update->left);
	mutex_unlock(&ue_enabler_mutex);
}

void ue_update_yield(struct ue_update *update)
{
	if (++update->nr_yields % UE_ENABLERS_AT_ONCE == 0) {
		ue_release_mm(update);
		ue_enabler_pause();
	}
}

static void ue_write_bits_of_mm(struct ue_update *update,
				const struct ue_event *event,
				struct ue_mm *ue_mm)
{
	struct rb_node *node;
	unsigned int nr;

	for (node = rb_first(&ue_mm->set->enablers); node; node = rb_next(node)) {
		const struct ue_enabler *enabler =
			rb_entry(node, struct ue_enabler, in_set);

		if (enabler->event != event)
			continue;
		/* The write itself is counted by the caller. */
		nr = ue_write_or_set_stale(update, ue_mm, enabler) - 1;
		update->left -= min(update->left, nr);
		if (ue_time_is_up(update)) {
			ue_release_mm(update);
			ue_mm_set_stale(ue_mm);
			update->left = 0;
			return;
		}
	}
}

/*
 * A set has no index by event: all its bits are looked at, and all count for the limit of direct
 * writes.
 */
void ue_update_mm(struct ue_update *update, struct ue_event *event,
		  struct ue_mm *ue_mm)
{
	struct ue_enabler_set *set = ue_mm->set;

	lockdep_assert_held(&ue_enabler_mutex);
	if (hlist_unhashed(&ue_mm->of_set)) {
		/* A forked child updates all its bits before it runs. */
		ue_mm->inherited_stale = true;
		return;
	}
	if (set->nr > update->left) {
		ue_release_mm(update);
		ue_mm_set_stale(ue_mm);
	} else {
		update->left -= set->nr;
		ue_write_bits_of_mm(update, event, ue_mm);
	}
	/* For children that are being forked, as in ue_update_enablers(). */
	smp_store_release(&set->changes, set->changes + 1);
}

/* How many bits an update of ue_update_begin_alone() looks at itself. */
#define UE_WRITES_ALONE		1024

void ue_update_begin_alone(struct ue_update *update)
{
	*update = (struct ue_update){ .left = UE_WRITES_ALONE };
	mutex_lock(&ue_enabler_mutex);
	update->start = local_clock();
}

bool ue_update_is_spent(const struct ue_update *update)
{
	return !update->left || ue_time_is_up(update);
}

void ue_update_end_alone(struct ue_update *update)
{
	ue_release_mm(update);
	mutex_unlock(&ue_enabler_mutex);
}

/*
 * The recorders of the event have changed, so that its mutes have to begin anew. They are taken
 * from the event first, as others may begin while the mutex is released.
 */
static void ue_end_mutes(struct ue_event *event, struct ue_update *update)
{
	HLIST_HEAD(mutes);

	hlist_move_list(&event->mutes, &mutes);
	while (!hlist_empty(&mutes)) {
		struct ue_mute *mute = hlist_entry(mutes.first, struct ue_mute,
						   of_event);
		struct ue_mm *ue_mm = mute->ue_mm;
		const bool off = mute->off;

		ue_mute_free(mute);
		if (off)
			ue_update_mm(update, event, ue_mm);
		ue_update_yield(update);
	}
}

/*
 * Updates the bits of those programs for which a change of the event makes a
 * difference. If an earlier update has not reached all enablers, this update includes it.
 */
static void ue_update_programs(struct ue_event *event, struct ue_update *update,
			       u64 scopes)
{
	bool has_rest;

	event->update_scopes = ue_has_outdated(event) ?
		event->update_scopes | scopes : scopes;
	/* 0 is the number of no update. */
	event->update = ++ue_last_update ?: ++ue_last_update;
	update->left = ue_update_enablers(event, update->left, update);
	has_rest = ue_has_outdated(event);
	ue_update_end(update);
	if (has_rest)
		ue_finish_later(event);
}

void ue_update_event(struct ue_event *event)
{
	struct ue_update update;

	ue_update_begin(&update);
	ue_end_mutes(event, &update);
	ue_update_programs(event, &update, UE_ALL_PROGRAMS);
}

/* If there are fewer scopes, each bit in shared memory may have to be cleared, or not. */
void ue_update_end_with_scopes(struct ue_update *update, struct ue_event *event,
			       u64 scopes)
{
	u64 changed = event->scopes ^ scopes;

	event->scopes = scopes;
	if (changed & ~scopes && event->set_elsewhere) {
		event->set_elsewhere = false;
		changed = UE_ALL_PROGRAMS;
	}
	if (changed)
		ue_update_programs(event, update, changed);
	else
		ue_update_end(update);
}

void ue_update_scopes(struct ue_event *event, u64 scopes)
{
	struct ue_update update;

	ue_update_begin(&update);
	ue_end_mutes(event, &update);
	ue_update_end_with_scopes(&update, event,
				  scopes | (event->scopes & UE_SCOPE_TRACED));
}
