// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index table: indexes count up from 0, an event keeps its index, and racing
 * tasks get the same index for an event.
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
#define UE_TEST_ASSIGNERS	3

/* As data_file.c does: retries if another task was assigned the index first. */
static int ue_test_assign(struct ue_index_table *table, struct ue_event *event,
			  u32 *index)
{
	int err;

	do {
		*index = ue_index_peek(table, event);
		/* Let another task run between the two calls. */
		schedule();
		err = ue_index_assign(table, event, *index);
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
		KUNIT_ASSERT_EQ(test, ue_test_assign(&table, &events[i],
						     &index), 0);
		KUNIT_ASSERT_EQ(test, index, i);
		KUNIT_EXPECT_PTR_EQ(test, ue_index_event(&table, i),
				    &events[i]);
		KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]), 1);
	}
	/* All indexes are still valid after the array has grown. */
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
			KUNIT_ASSERT_EQ(test, ue_test_assign(&table, &events[i],
							     &index), 0);
			KUNIT_EXPECT_EQ(test, index, i);
			KUNIT_EXPECT_EQ(test, ue_index_peek(&table, &events[i]),
					i);
			KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]), 1);
		}
	}
	ue_index_table_destroy(&table);
}

static void ue_assign_test(struct kunit *test)
{
	struct ue_event *events = ue_stub_events(test, 2);
	struct ue_index_table table;

	ue_index_table_init(&table);
	KUNIT_EXPECT_EQ(test, ue_index_assign(&table, &events[0], 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_index_peek(&table, &events[0]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_peek(&table, &events[1]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_assign(&table, &events[0], 0), 0);
	/* The index is now assigned to another event. */
	KUNIT_EXPECT_EQ(test, ue_index_assign(&table, &events[1], 0), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_stub_users(&events[1]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_assign(&table, &events[0], 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_index_assign(&table, &events[0], 0), 0);
	KUNIT_EXPECT_EQ(test, ue_index_assign(&table, &events[1], 1), 0);
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

/* A race: each thread assigns indexes to all events, starting at another one. */

struct ue_test_race {
	struct ue_index_table table;
	struct ue_event *events;
	struct ue_test_assigner {
		struct ue_test_race *race;
		struct task_struct *task;
		struct completion started;
		int first;
		u32 index[UE_TEST_RACING];
		int wrong;
	} assigners[UE_TEST_ASSIGNERS];
};

static int ue_test_assign_all(void *data)
{
	struct ue_test_assigner *assigner = data;
	struct ue_test_race *race = assigner->race;

	complete(&assigner->started);
	for (int i = 0; i < UE_TEST_RACING; i++) {
		int nr = (assigner->first + i) % UE_TEST_RACING;
		struct ue_event *event = &race->events[nr];

		if (ue_test_assign(&race->table, event, &assigner->index[nr]))
			assigner->wrong++;
		/* An assigned index leads to its event. */
		if (ue_index_event(&race->table, assigner->index[nr]) != event)
			assigner->wrong++;
		cond_resched();
	}
	return 0;
}

static void ue_run_race(struct kunit *test, struct ue_test_race *race)
{
	for (int i = 0; i < UE_TEST_ASSIGNERS; i++) {
		struct ue_test_assigner *assigner = &race->assigners[i];

		assigner->race = race;
		assigner->first = i * UE_TEST_RACING / UE_TEST_ASSIGNERS;
		init_completion(&assigner->started);
		assigner->task = kthread_create(ue_test_assign_all, assigner,
						"ue_assigner/%d", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, assigner->task);
		get_task_struct(assigner->task);
	}
	for (int i = 0; i < UE_TEST_ASSIGNERS; i++)
		wake_up_process(race->assigners[i].task);
	for (int i = 0; i < UE_TEST_ASSIGNERS; i++) {
		struct ue_test_assigner *assigner = &race->assigners[i];

		/* A thread that is stopped before it runs never runs. */
		wait_for_completion(&assigner->started);
		KUNIT_EXPECT_EQ(test, kthread_stop(assigner->task), 0);
		put_task_struct(assigner->task);
		KUNIT_EXPECT_EQ(test, assigner->wrong, 0);
	}
}

static void ue_assign_race_test(struct kunit *test)
{
	struct ue_test_race *race = kunit_kzalloc(test, sizeof(*race),
						  GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->events = ue_stub_events(test, UE_TEST_RACING);
	ue_index_table_init(&race->table);
	ue_run_race(test, race);

	for (u32 i = 0; i < UE_TEST_RACING; i++) {
		u32 index = race->assigners[0].index[i];

		KUNIT_EXPECT_LT(test, index, UE_TEST_RACING);
		KUNIT_EXPECT_PTR_EQ(test, ue_index_event(&race->table, index),
				    &race->events[i]);
		KUNIT_EXPECT_EQ(test, ue_stub_users(&race->events[i]), 1);
		for (int j = 1; j < UE_TEST_ASSIGNERS; j++)
			KUNIT_EXPECT_EQ(test, race->assigners[j].index[i],
					index);
	}
	KUNIT_EXPECT_NULL(test, ue_index_event(&race->table, UE_TEST_RACING));
	ue_index_table_destroy(&race->table);
}

static struct kunit_case ue_index_table_cases[] = {
	KUNIT_CASE(ue_count_up_test),
	KUNIT_CASE(ue_same_event_test),
	KUNIT_CASE(ue_assign_test),
	KUNIT_CASE(ue_unused_table_test),
	KUNIT_CASE(ue_assign_race_test),
	{ }
};

static struct kunit_suite ue_index_table_suite = {
	.name = "user_events_index_table",
	.test_cases = ue_index_table_cases,
};

kunit_test_suite(ue_index_table_suite);
