// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps mutes in order of the time at which something has to be done about them.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "port/debug_counter.h"
#include "programs/enabler.h"
#include "programs/mute.h"

/* 10 ms at first, doubled each time, up to a second. */
#define UE_MUTE_LEVELS		8
#define UE_MUTE_LEAST		msecs_to_jiffies(10)

/*
 * At most so many mutes begin in each interval, because each clears the bits of an event in a
 * program, and sets them later. Further programs keep their bits.
 */
#define UE_MUTES_EACH		2048
#define UE_MUTES_INTERVAL	msecs_to_jiffies(100)

/* How many mutes an address space has at most: each write of a bit searches them. */
#define UE_MUTES_MAX		64

/*
 * By @off and @level: all of a list wait equally long, so the first one's time is over
 * first. The list head of a list that was never used is not initialized.
 */
static struct list_head ue_mutes[2][UE_MUTE_LEVELS];

static unsigned int ue_mutes_left;
static unsigned long ue_mutes_interval;

/* How long bits are 0; one jiffy more, as the present one has begun. */
static unsigned long ue_mute_time(unsigned int level)
{
	return min(UE_MUTE_LEAST << level, (unsigned long)HZ) + 1;
}

/* After bits are 1 again, a program that writes too much is remembered for longer. */
static unsigned long ue_mute_wait(const struct ue_mute *mute)
{
	const unsigned long time = ue_mute_time(mute->level);

	return mute->off ? time : 2 * time + UE_MUTES_INTERVAL;
}

static void ue_mute_queue(struct ue_mute *mute)
{
	struct list_head *list = &ue_mutes[mute->off][mute->level];

	if (!list->next)
		INIT_LIST_HEAD(list);
	list_move_tail(&mute->of_level, list);
}

static void ue_mute_set(struct ue_mute *mute, bool off)
{
	struct ue_event *event = mute->event;

	if (mute->off)
		WRITE_ONCE(event->muted, event->muted + (jiffies - mute->since));
	mute->off = off;
	mute->since = jiffies;
	ue_mute_queue(mute);
}

struct ue_mute *ue_mute_find(const struct ue_mm *ue_mm, const struct ue_event *event)
{
	struct ue_mute *mute;

	lockdep_assert_held(&ue_enabler_mutex);
	hlist_for_each_entry(mute, &ue_mm->mutes, of_mm) {
		if (mute->event == event)
			return mute;
	}
	return NULL;
}

static bool ue_mutes_may_begin(void)
{
	if (jiffies - ue_mutes_interval >= UE_MUTES_INTERVAL) {
		ue_mutes_interval = jiffies;
		ue_mutes_left = UE_MUTES_EACH;
	}
	return ue_mutes_left;
}

static bool ue_mutes_are_many(const struct ue_mm *ue_mm)
{
	const struct ue_mute *mute;
	unsigned int nr = 0;

	hlist_for_each_entry(mute, &ue_mm->mutes, of_mm)
		nr++;
	return nr >= UE_MUTES_MAX;
}

static struct ue_mute *ue_mute_create(struct ue_mm *ue_mm, struct ue_event *event)
{
	struct ue_mute *mute = ue_mutes_are_many(ue_mm) ? NULL :
		kzalloc(sizeof(*mute), GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);

	if (!mute)
		return NULL;
	ue_debug_count(UE_COUNT_MUTES, 1);
	mute->ue_mm = ue_mm;
	mute->event = event;
	INIT_LIST_HEAD(&mute->of_level);
	hlist_add_head(&mute->of_mm, &ue_mm->mutes);
	hlist_add_head(&mute->of_event, &event->mutes);
	return mute;
}

bool ue_mute_begin(struct ue_mm *ue_mm, struct ue_event *event)
{
	struct ue_mute *mute = ue_mute_find(ue_mm, event);

	if ((mute && mute->off) || !ue_mutes_may_begin())
		return false;
	if (mute)
		mute->level = min(mute->level + 1, UE_MUTE_LEVELS - 1U);
	else
		mute = ue_mute_create(ue_mm, event);
	if (!mute)
		return false;
	ue_mutes_left--;
	mute->process = current->tgid;
	ue_mute_set(mute, true);
	return true;
}

void ue_mute_extend(struct ue_mute *mute)
{
	lockdep_assert_held(&ue_enabler_mutex);
	mute->level = min(mute->level + 1, UE_MUTE_LEVELS - 1U);
	ue_mute_set(mute, true);
}

void ue_mute_end(struct ue_mute *mute)
{
	lockdep_assert_held(&ue_enabler_mutex);
	ue_mute_set(mute, false);
}

void ue_mute_free(struct ue_mute *mute)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (!mute)
		return;
	ue_mute_set(mute, false);
	list_del(&mute->of_level);
	hlist_del(&mute->of_event);
	hlist_del(&mute->of_mm);
	kfree(mute);
	ue_debug_count(UE_COUNT_MUTES, -1);
}

void ue_mutes_free(struct ue_mm *ue_mm)
{
	struct ue_mute *mute;
	struct hlist_node *next;

	lockdep_assert_held(&ue_enabler_mutex);
	hlist_for_each_entry_safe(mute, next, &ue_mm->mutes, of_mm)
		ue_mute_free(mute);
}

struct ue_mute *ue_mute_next(unsigned long *wait)
{
	struct ue_mute *next = NULL;

	lockdep_assert_held(&ue_enabler_mutex);
	for (int i = 0; i < 2 * UE_MUTE_LEVELS; i++) {
		const struct list_head *list = &ue_mutes[i / UE_MUTE_LEVELS][i % UE_MUTE_LEVELS];
		unsigned long passed, whole;
		struct ue_mute *mute;

		if (!list->next || list_empty(list))
			continue;
		mute = list_first_entry(list, struct ue_mute, of_level);
		passed = jiffies - mute->since;
		whole = ue_mute_wait(mute);
		if (next && *wait <= whole - min(passed, whole))
			continue;
		*wait = whole - min(passed, whole);
		next = mute;
	}
	return next;
}
