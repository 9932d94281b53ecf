// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clears the bits of programs that write beyond a limit, and sets them again.
 *
 * An event is recorded by the recorders in its list, and by perf events. A change of these ends all
 * mutes of the event (update.c) with ue_enabler_mutex held, after the change.
 * The mutex is also held while a mute begins. So the mute has seen the change, or is ended.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "events/event.h"
#include "port/compat.h"
#include "programs/enabler.h"
#include "programs/flood.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/mute.h"
#include "programs/traced.h"
#include "programs/update.h"

/*
 * A program with more registrations keeps its bits: all its registrations are searched for those of
 * the event, without preemption.
 */
#define UE_FLOOD_MAX_BITS	128

#define UE_FLOOD_INTERVAL	msecs_to_jiffies(10)
#define UE_FLOOD_SLOT_BITS	10

/*
 * When a mute was last tried, by a hash of event and program. With an equal hash, one has to
 * wait for the other.
 */
static unsigned long ue_flood_tried[1 << UE_FLOOD_SLOT_BITS];

static void ue_flood_work(struct work_struct *work);

static DECLARE_DELAYED_WORK(ue_flood_delayed, ue_flood_work);

static bool ue_flood_may_try(const struct ue_event *event)
{
	const unsigned long key = (unsigned long)event ^ (unsigned long)current->mm;
	unsigned long *slot = &ue_flood_tried[hash_long(key, UE_FLOOD_SLOT_BITS)];
	const unsigned long now = jiffies, last = READ_ONCE(*slot);

	return now - last >= UE_FLOOD_INTERVAL && cmpxchg(slot, last, now) == last;
}

/* Whether nothing would record the event for the program now. */
static bool ue_flood_goes_on(const struct ue_mm *ue_mm, struct ue_event *event,
			     pid_t process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (READ_ONCE(event->nr_perf_all))
		return false;
	if (event->nr_roots && ue_mm_is_traced(ue_mm))
		return false;
	return ue_recorders_exhausted(&event->recorders, ue_mm->scopes, process);
}

static void ue_flood_clear_bits(struct ue_mm *ue_mm, const struct ue_event *event)
{
	struct rb_node *node;

	for (node = rb_first(&ue_mm->set->enablers); node; node = rb_next(node)) {
		const struct ue_enabler *enabler =
			rb_entry(node, struct ue_enabler, in_set);

		/* A bit that cannot be written now stays 1. */
		if (enabler->event == event)
			ue_mm_write(ue_mm, 0, enabler, NULL);
	}
}

/* In a jiffy at the earliest, so that others get the mutex. */
static void ue_flood_queue(void)
{
	unsigned long wait;

	if (ue_mute_next(&wait))
		mod_delayed_work(ue_unbound_wq, &ue_flood_delayed, max(wait, 1UL));
}

/* With the mmap_lock held, no fork copies the bits meanwhile. */
static void ue_flood_mute_locked(struct ue_mm *ue_mm, struct ue_event *event)
{
	if (!ue_mm->set || ue_mm->set->nr > UE_FLOOD_MAX_BITS ||
	    !ue_flood_goes_on(ue_mm, event, current->tgid) ||
	    !ue_mute_begin(ue_mm, event))
		return;
	ue_flood_clear_bits(ue_mm, event);
	ue_flood_queue();
}

void ue_flood_mute(struct ue_event *event)
{
	struct ue_mm *ue_mm;

	if (!ue_flood_may_try(event))
		return;
	ue_mm = ue_mm_find_current();
	if (!ue_mm || !mmap_read_trylock(ue_mm->mm))
		return;
	if (ue_enabler_trylock()) {
		ue_flood_mute_locked(ue_mm, event);
		ue_enabler_unlock();
	}
	mmap_read_unlock(ue_mm->mm);
}

/*
 * The bits are written each time. If the flood goes on, a bit may still be 1: a fork shared its
 * page, so that the program could not clear the bit. When the mute is forgotten, a bit may still be
 * 0 that could not be written before.
 */
static void ue_flood_time_is_over(struct ue_mute *mute, struct ue_update *update)
{
	struct ue_event *event = mute->event;
	struct ue_mm *ue_mm = mute->ue_mm;

	if (!mute->off)
		ue_mute_free(mute);
	else if (ue_flood_goes_on(ue_mm, event, mute->process))
		ue_mute_extend(mute);
	else
		ue_mute_end(mute);
	ue_update_mm(update, event, ue_mm);
}

static void ue_flood_work(struct work_struct *work)
{
	struct ue_update update;
	struct ue_mute *mute;
	unsigned long wait;

	ue_update_begin_alone(&update);
	while ((mute = ue_mute_next(&wait)) && !wait &&
	       !ue_update_is_spent(&update))
		ue_flood_time_is_over(mute, &update);
	ue_flood_queue();
	ue_update_end_alone(&update);
}

void ue_flood_exit(void)
{
	cancel_delayed_work_sync(&ue_flood_delayed);
}
