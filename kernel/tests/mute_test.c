// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutes: for how long bits are 0, how many there may be, and what is counted.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "event_stub.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mute.h"

#define UE_TEST_EVENTS		65
#define UE_TEST_MMS		65

/**
 * struct ue_test_mutes - address spaces and events of a test
 * @mms: the address spaces
 * @events: the events
 */
struct ue_test_mutes {
	struct ue_mm *mms;
	struct ue_event *events;
};

static int ue_test_setup(struct kunit *test)
{
	struct ue_test_mutes *mutes = kunit_kzalloc(test, sizeof(*mutes), GFP_KERNEL);

	if (!mutes)
		return -ENOMEM;
	mutes->mms = kunit_kcalloc(test, UE_TEST_MMS, sizeof(*mutes->mms), GFP_KERNEL);
	mutes->events = ue_stub_events(test, UE_TEST_EVENTS);
	test->priv = mutes;
	return mutes->mms ? 0 : -ENOMEM;
}

static void ue_test_teardown(struct kunit *test)
{
	struct ue_test_mutes *mutes = test->priv;

	mutex_lock(&ue_enabler_mutex);
	for (int i = 0; i < UE_TEST_MMS; i++)
		ue_mutes_free(&mutes->mms[i]);
	mutex_unlock(&ue_enabler_mutex);
}

/* Waits for a new interval, in which the whole number of mutes may begin; takes the mutex. */
static void ue_test_begin(void)
{
	const unsigned long end = jiffies + msecs_to_jiffies(100);

	while (time_before_eq(jiffies, end))
		schedule_timeout_uninterruptible(1);
	mutex_lock(&ue_enabler_mutex);
}

/* Releases the mutex also if a test fails: no case asserts while it has the mutex. */
static void ue_test_end(void)
{
	mutex_unlock(&ue_enabler_mutex);
}

/* Return: a mute that has begun, of the first address space; NULL after a failure. */
static struct ue_mute *ue_test_mute(struct kunit *test, int event)
{
	struct ue_test_mutes *mutes = test->priv;

	KUNIT_EXPECT_TRUE(test, ue_mute_begin(mutes->mms, &mutes->events[event]));
	return ue_mute_find(mutes->mms, &mutes->events[event]);
}

/* 10 ms, and twice as long each time, up to a second; and a jiffy, as the present one has begun. */
static void ue_test_doubles(struct kunit *test, struct ue_mute *mute)
{
	struct ue_test_mutes *mutes = test->priv;
	unsigned long expected = msecs_to_jiffies(10), wait;

	for (int i = 0; i < 12; i++) {
		KUNIT_EXPECT_PTR_EQ(test, ue_mute_next(&wait), mute);
		/* Time may have passed since. */
		KUNIT_EXPECT_LE(test, wait, expected + 1);
		KUNIT_EXPECT_GE(test, wait + (jiffies - mute->since), expected + 1);
		KUNIT_EXPECT_TRUE(test, ue_mm_is_muted(mutes->mms, mutes->events));
		KUNIT_EXPECT_FALSE(test, ue_mute_begin(mutes->mms, mutes->events));
		expected = min(2 * expected, (unsigned long)HZ);
		if (i % 2) {
			ue_mute_extend(mute);
			continue;
		}
		ue_mute_end(mute);
		KUNIT_EXPECT_FALSE(test, ue_mm_is_muted(mutes->mms, mutes->events));
		KUNIT_EXPECT_PTR_EQ(test, ue_test_mute(test, 0), mute);
	}
}

static void ue_mute_doubles_test(struct kunit *test)
{
	struct ue_mute *mute;

	ue_test_begin();
	mute = ue_test_mute(test, 0);
	if (mute)
		ue_test_doubles(test, mute);
	ue_test_end();
	KUNIT_EXPECT_NOT_NULL(test, mute);
}

/* The one whose time is over first is the next one. */
static void ue_mute_order_test(struct kunit *test)
{
	struct ue_mute *mutes[3];
	unsigned long wait;

	ue_test_begin();
	KUNIT_EXPECT_NULL(test, ue_mute_next(&wait));
	for (int i = 0; i < 3; i++)
		mutes[i] = ue_test_mute(test, i);
	for (int i = 0; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, ue_mute_next(&wait), mutes[i]);
		if (mutes[i])
			ue_mute_extend(mutes[i]);
	}
	KUNIT_EXPECT_PTR_EQ(test, ue_mute_next(&wait), mutes[0]);
	ue_test_end();
}

static void ue_mute_most_of_mm_test(struct kunit *test)
{
	struct ue_test_mutes *mutes = test->priv;
	int begun = 0;

	ue_test_begin();
	for (int i = 0; i < UE_TEST_EVENTS; i++)
		begun += ue_mute_begin(mutes->mms, &mutes->events[i]);
	ue_test_end();
	KUNIT_EXPECT_EQ(test, begun, 64);
}

/* More than may begin in an interval, and how often a slow machine may try to count them in one. */
#define UE_TEST_TOO_MANY	4096
#define UE_TEST_TRIES		100

/*
 * Lets mutes begin, and end, in one address space after the other, until no more may begin. Each
 * address space has one mute, which is allocated once: this takes little time, even on a debug
 * kernel.
 * Return: how many have begun; all in the same interval if @in_time.
 */
static int ue_test_spend(struct ue_test_mutes *mutes, bool *in_time)
{
	unsigned long start;
	int begun = 0;

	ue_test_begin();
	start = jiffies;
	for (struct ue_mm *mm = mutes->mms;
	     begun < UE_TEST_TOO_MANY && ue_mute_begin(mm, mutes->events);
	     mm = &mutes->mms[begun % UE_TEST_MMS]) {
		begun++;
		ue_mute_end(ue_mute_find(mm, mutes->events));
	}
	*in_time = jiffies - start < msecs_to_jiffies(100);
	ue_test_end();
	return begun;
}

/* Of the whole machine, in 100 ms. */
static void ue_mute_budget_test(struct kunit *test)
{
	struct ue_test_mutes *mutes = test->priv;
	bool in_time = false;
	int begun = 0;

	for (int i = 0; i < UE_TEST_TRIES && !in_time; i++)
		begun = ue_test_spend(mutes, &in_time);
	KUNIT_EXPECT_TRUE(test, in_time);
	KUNIT_EXPECT_EQ(test, begun, 2048);
	ue_test_begin();
	ue_mutes_free(mutes->mms);
	KUNIT_EXPECT_NOT_NULL(test, ue_test_mute(test, 0));
	ue_test_end();
}

static void ue_mute_counts_test(struct kunit *test)
{
	struct ue_test_mutes *mutes = test->priv;
	struct ue_event *event = mutes->events;
	struct ue_mute *mute;

	ue_test_begin();
	mute = ue_test_mute(test, 0);
	if (mute) {
		mute->since -= 100;
		ue_mute_extend(mute);
		mute->since -= 10;
		ue_mute_end(mute);
		/* Time during which bits are 1 is not counted. */
		mute->since -= 1000;
		ue_mute_free(mute);
	}
	KUNIT_EXPECT_GE(test, event->muted, 110);
	KUNIT_EXPECT_LE(test, event->muted, 120);
	KUNIT_EXPECT_TRUE(test, hlist_empty(&event->mutes));
	KUNIT_EXPECT_TRUE(test, hlist_empty(&mutes->mms->mutes));
	ue_test_end();
}

static struct kunit_case ue_mute_cases[] = {
	KUNIT_CASE(ue_mute_doubles_test),
	KUNIT_CASE(ue_mute_order_test),
	KUNIT_CASE(ue_mute_most_of_mm_test),
	KUNIT_CASE(ue_mute_budget_test),
	KUNIT_CASE(ue_mute_counts_test),
	{ }
};

static struct kunit_suite ue_mute_suite = {
	.name = "user_events_mute",
	.init = ue_test_setup,
	.exit = ue_test_teardown,
	.test_cases = ue_mute_cases,
};

kunit_test_suite(ue_mute_suite);
