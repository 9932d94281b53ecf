// SPDX-License-Identifier: GPL-2.0-only
/*
 * The indexes of an open file: that they count up, that an event keeps its
 * own, and that claims and readers that race agree on them.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "../index_table.h"
#include "event_stub.h"

/* The array grows at 2, 14, 62, ... */
#define UE_TEST_EVENTS		1100
#define UE_TEST_RACING		200
#define UE_TEST_CLAIMERS	3

/* As data_file.c does it: peek, and again if somebody else was faster. */
static int ue_test_claim(struct ue_index_table *table, struct ue_event *event,
			 u32 *index)
{
	int err;

	do {
		*index = ue_index_peek(table, event);
		/* Let others come between. */
		schedule();
		err = ue_index_claim(table, event, *index);
	} while (err == -EAGAIN);
	return err;
}

static void ue_count_up_test(struct kunit *test)
{
	struct ue_event *events = ue_stub_events(test, UE_TEST_EVENTS);
	struct ue_index_table table;
	u32 index;

	ue_index_table_init(&table);
	for (u32 i = 0; i < UE_TEST_EVENTS; i++) {
		KUNIT_EXPECT_NULL(test, ue_index_event(&table, i));
		KUNIT_ASSERT_EQ(test, ue_test_claim(&table, &events[i],
						    &index), 0);
		KUNIT_ASSERT_EQ(test, index, i);
		KUNIT_EXPECT_PTR_EQ(test, ue_index_event(&table, i),
				    &events[i]);
		KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]), 1);
	}
	/* Growth has kept all of them. */
	for (u32 i = 0; i < UE_TEST_EVENTS; i++)
		KUNIT_EXPECT_PTR_EQ(test, ue_index_event(&table, i),
				    &events[i]);
	KUNIT_EXPECT_NULL(test, ue_index_event(&table, UE_TEST_EVENTS));
	KUNIT_EXPECT_NULL(test, ue_index_event(&table, U32_MAX));
	ue_index_table_destroy(&table);
	for (u32 i = 0; i < UE_TEST_EVENTS; i++)
		KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]), 0);
}

/* The same event again: the same index, and still one user. */
static void ue_same_event_test(struct kunit *test)
{
	struct ue_event *events = ue_stub_events(test, 3);
	struct ue_index_table table;
	u32 index;

	ue_index_table_init(&table);
	for (int round = 0; round < 3; round++) {
		for (u32 i = 0; i < 3; i++) {
			KUNIT_ASSERT_EQ(test, ue_test_claim(&table, &events[i],
							    &index), 0);
			KUNIT_EXPECT_EQ(test, index, i);
			KUNIT_EXPECT_EQ(test, ue_index_peek(&table, &events[i]),
					i);
			KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]), 1);
		}
	}
	ue_index_table_destroy(&table);
}

static void ue_claim_test(struct kunit *test)
{
	struct ue_event *events = ue_stub_events(test, 2);
	struct ue_index_table table;

	ue_index_table_init(&table);
	KUNIT_EXPECT_EQ(test, ue_index_claim(&table, &events[0], 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_index_peek(&table, &events[0]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_peek(&table, &events[1]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_claim(&table, &events[0], 0), 0);
	/* The index that was peeked has gone to another. */
	KUNIT_EXPECT_EQ(test, ue_index_claim(&table, &events[1], 0), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_stub_users(&events[1]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_claim(&table, &events[0], 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_index_claim(&table, &events[0], 0), 0);
	KUNIT_EXPECT_EQ(test, ue_index_claim(&table, &events[1], 1), 0);
	ue_index_table_destroy(&table);
	KUNIT_EXPECT_EQ(test, ue_stub_users(&events[0]), 0);
	KUNIT_EXPECT_EQ(test, ue_stub_users(&events[1]), 0);
}

static void ue_unused_table_test(struct kunit *test)
{
	struct ue_index_table table;

	ue_index_table_init(&table);
	KUNIT_EXPECT_NULL(test, ue_index_event(&table, 0));
	ue_index_table_destroy(&table);
}

/* A race: each claims all events, from another one on. */

struct ue_test_race {
	struct ue_index_table table;
	struct ue_event *events;
	struct ue_test_claimer {
		struct ue_test_race *race;
		struct task_struct *task;
		struct completion begun;
		int first;
		u32 index[UE_TEST_RACING];
		int wrong;
	} claimers[UE_TEST_CLAIMERS];
};

static int ue_test_claim_all(void *data)
{
	struct ue_test_claimer *claimer = data;
	struct ue_test_race *race = claimer->race;

	complete(&claimer->begun);
	for (int i = 0; i < UE_TEST_RACING; i++) {
		int nr = (claimer->first + i) % UE_TEST_RACING;
		struct ue_event *event = &race->events[nr];

		if (ue_test_claim(&race->table, event, &claimer->index[nr]))
			claimer->wrong++;
		/* Whoever has an index reads the event that it is of. */
		if (ue_index_event(&race->table, claimer->index[nr]) != event)
			claimer->wrong++;
		cond_resched();
	}
	return 0;
}

static void ue_run_race(struct kunit *test, struct ue_test_race *race)
{
	for (int i = 0; i < UE_TEST_CLAIMERS; i++) {
		struct ue_test_claimer *claimer = &race->claimers[i];

		claimer->race = race;
		claimer->first = i * UE_TEST_RACING / UE_TEST_CLAIMERS;
		init_completion(&claimer->begun);
		claimer->task = kthread_create(ue_test_claim_all, claimer,
					       "ue_claimer/%d", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, claimer->task);
		get_task_struct(claimer->task);
	}
	for (int i = 0; i < UE_TEST_CLAIMERS; i++)
		wake_up_process(race->claimers[i].task);
	for (int i = 0; i < UE_TEST_CLAIMERS; i++) {
		struct ue_test_claimer *claimer = &race->claimers[i];

		/* One that is stopped before it has begun never does. */
		wait_for_completion(&claimer->begun);
		KUNIT_EXPECT_EQ(test, kthread_stop(claimer->task), 0);
		put_task_struct(claimer->task);
		KUNIT_EXPECT_EQ(test, claimer->wrong, 0);
	}
}

static void ue_claim_race_test(struct kunit *test)
{
	struct ue_test_race *race = kunit_kzalloc(test, sizeof(*race),
						  GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->events = ue_stub_events(test, UE_TEST_RACING);
	ue_index_table_init(&race->table);
	ue_run_race(test, race);

	for (u32 i = 0; i < UE_TEST_RACING; i++) {
		u32 index = race->claimers[0].index[i];

		KUNIT_EXPECT_LT(test, index, UE_TEST_RACING);
		KUNIT_EXPECT_PTR_EQ(test, ue_index_event(&race->table, index),
				    &race->events[i]);
		KUNIT_EXPECT_EQ(test, ue_stub_users(&race->events[i]), 1);
		for (int j = 1; j < UE_TEST_CLAIMERS; j++)
			KUNIT_EXPECT_EQ(test, race->claimers[j].index[i],
					index);
	}
	KUNIT_EXPECT_NULL(test, ue_index_event(&race->table, UE_TEST_RACING));
	ue_index_table_destroy(&race->table);
}

static struct kunit_case ue_index_table_cases[] = {
	KUNIT_CASE(ue_count_up_test),
	KUNIT_CASE(ue_same_event_test),
	KUNIT_CASE(ue_claim_test),
	KUNIT_CASE(ue_unused_table_test),
	KUNIT_CASE(ue_claim_race_test),
	{ }
};

static struct kunit_suite ue_index_table_suite = {
	.name = "user_events_index_table",
	.test_cases = ue_index_table_cases,
};

kunit_test_suite(ue_index_table_suite);
