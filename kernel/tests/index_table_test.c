// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index table: indexes count up from 0, an event keeps its index, racing
 * tasks get the same index for an event, and tables share indexes.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "event_stub.h"
#include "events/index_table.h"

/* The array grows at 2, 14, 62, ... */
#define UE_TEST_EVENTS		1100
#define UE_TEST_RACING		200
#define UE_TEST_ASSIGNERS	3
#define UE_TEST_SHARING		3

static struct ue_index_table *ue_test_table(struct kunit *test)
{
	struct ue_index_table *table = ue_index_table_create(sizeof(*table));

	KUNIT_ASSERT_NOT_NULL(test, table);
	return table;
}

static struct ue_event *ue_test_event(struct ue_index_table *table, u32 index)
{
	struct ue_event *event;

	return ue_index_event(table, index, &event) ? event : NULL;
}

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
	struct ue_index_table *table = ue_test_table(test);
	u32 index;

	for (u32 i = 0; i < UE_TEST_EVENTS; i++) {
		KUNIT_EXPECT_NULL(test, ue_test_event(table, i));
		KUNIT_ASSERT_EQ(test, ue_test_assign(table, &events[i],
						     &index), 0);
		KUNIT_ASSERT_EQ(test, index, i);
		KUNIT_EXPECT_PTR_EQ(test, ue_test_event(table, i),
				    &events[i]);
		KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]), 1);
	}
	/* All indexes are still valid after the array has grown. */
	for (u32 i = 0; i < UE_TEST_EVENTS; i++)
		KUNIT_EXPECT_PTR_EQ(test, ue_test_event(table, i),
				    &events[i]);
	KUNIT_EXPECT_NULL(test, ue_test_event(table, UE_TEST_EVENTS));
	KUNIT_EXPECT_NULL(test, ue_test_event(table, U32_MAX));
	ue_index_table_put(table);
	for (u32 i = 0; i < UE_TEST_EVENTS; i++)
		KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]), 0);
}

/* The same event again: the same index, and still one user. */
static void ue_same_event_test(struct kunit *test)
{
	struct ue_event *events = ue_stub_events(test, 3);
	struct ue_index_table *table = ue_test_table(test);
	u32 index;

	for (int round = 0; round < 3; round++) {
		for (u32 i = 0; i < 3; i++) {
			KUNIT_ASSERT_EQ(test, ue_test_assign(table, &events[i],
							     &index), 0);
			KUNIT_EXPECT_EQ(test, index, i);
			KUNIT_EXPECT_EQ(test, ue_index_peek(table, &events[i]),
					i);
			KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]), 1);
		}
	}
	ue_index_table_put(table);
}

static void ue_assign_test(struct kunit *test)
{
	struct ue_event *events = ue_stub_events(test, 2);
	struct ue_index_table *table = ue_test_table(test);

	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[0], 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_index_peek(table, &events[0]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_peek(table, &events[1]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[0], 0), 0);
	/* The index is now assigned to another event. */
	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[1], 0), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_stub_users(&events[1]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[0], 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[0], 0), 0);
	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[1], 1), 0);
	ue_index_table_put(table);
	KUNIT_EXPECT_EQ(test, ue_stub_users(&events[0]), 0);
	KUNIT_EXPECT_EQ(test, ue_stub_users(&events[1]), 0);
}

static void ue_unused_table_test(struct kunit *test)
{
	struct ue_index_table *table = ue_test_table(test);

	KUNIT_EXPECT_NULL(test, ue_test_event(table, 0));
	ue_index_table_put(table);
}

static void ue_share_test(struct kunit *test)
{
	struct ue_event *events = ue_stub_events(test, UE_TEST_EVENTS);
	struct ue_index_table *tables[UE_TEST_SHARING];
	u32 index;

	for (int i = 0; i < UE_TEST_SHARING; i++)
		tables[i] = ue_test_table(test);
	/* The third one gets the source of the second one. */
	for (int i = 1; i < UE_TEST_SHARING; i++)
		KUNIT_ASSERT_EQ(test, ue_index_table_share(tables[i],
							   tables[i - 1]), 0);
	for (u32 i = 0; i < UE_TEST_EVENTS; i++) {
		struct ue_index_table *table = tables[i % UE_TEST_SHARING];

		KUNIT_ASSERT_EQ(test, ue_test_assign(table, &events[i],
						     &index), 0);
		KUNIT_ASSERT_EQ(test, index, i);
		/* The others have older arrays. */
		KUNIT_ASSERT_PTR_EQ(test, ue_test_event(table, i), &events[i]);
	}
	for (int i = 0; i < UE_TEST_SHARING; i++) {
		for (u32 j = 0; j < UE_TEST_EVENTS; j++)
			KUNIT_ASSERT_PTR_EQ(test, ue_test_event(tables[i], j),
					    &events[j]);
		KUNIT_EXPECT_NULL(test,
				  ue_test_event(tables[i], UE_TEST_EVENTS));
	}
	for (int i = 0; i < UE_TEST_SHARING; i++)
		ue_index_table_put(tables[i]);
}

/* Puts the tables in each order: the events stay until the last put. */
static void ue_share_put_test(struct kunit *test)
{
	for (int nr = 0; nr < 6; nr++) {
		struct ue_event *event = ue_stub_events(test, 1);
		struct ue_index_table *tables[3];
		int order[3];
		u32 index;

		for (int i = 0; i < 3; i++)
			tables[i] = ue_test_table(test);
		KUNIT_EXPECT_EQ(test, ue_test_assign(tables[0], event, &index),
				0);
		for (int i = 1; i < 3; i++)
			KUNIT_EXPECT_EQ(test, ue_index_table_share(tables[i],
								   tables[0]),
					0);
		ue_stub_order(nr, 3, order);
		for (int i = 0; i < 3; i++) {
			struct ue_index_table *table = tables[order[i]];

			KUNIT_EXPECT_PTR_EQ(test, ue_test_event(table, 0),
					    event);
			KUNIT_EXPECT_EQ(test, ue_stub_users(event), 1);
			ue_index_table_put(table);
		}
		KUNIT_EXPECT_EQ(test, ue_stub_users(event), 0);
	}
}

static void ue_share_busy_test(struct kunit *test)
{
	struct ue_event *event = ue_stub_events(test, 1);
	struct ue_index_table *used = ue_test_table(test);
	struct ue_index_table *empty = ue_test_table(test);
	struct ue_index_table *sharer = ue_test_table(test);
	u32 index;

	KUNIT_EXPECT_EQ(test, ue_test_assign(used, event, &index), 0);
	KUNIT_EXPECT_EQ(test, ue_index_table_share(used, empty), -EBUSY);
	KUNIT_EXPECT_EQ(test, ue_index_table_share(sharer, empty), 0);
	KUNIT_EXPECT_EQ(test, ue_index_table_share(sharer, used), -EBUSY);
	/* A source gets none, not even in a circle. */
	KUNIT_EXPECT_EQ(test, ue_index_table_share(empty, used), -EBUSY);
	KUNIT_EXPECT_EQ(test, ue_index_table_share(empty, sharer), -EBUSY);
	KUNIT_EXPECT_NULL(test, ue_test_event(empty, 0));
	KUNIT_EXPECT_NULL(test, ue_test_event(sharer, 0));
	ue_index_table_put(sharer);
	KUNIT_EXPECT_EQ(test, ue_index_table_share(empty, used), 0);
	KUNIT_EXPECT_PTR_EQ(test, ue_test_event(empty, 0), event);
	ue_index_table_put(used);
	ue_index_table_put(empty);
}

/* A task has got an index of the empty table before the table had a source. */
static void ue_share_assign_test(struct kunit *test)
{
	struct ue_event *events = ue_stub_events(test, 2);
	struct ue_index_table *source = ue_test_table(test);
	struct ue_index_table *table = ue_test_table(test);
	u32 index;

	KUNIT_EXPECT_EQ(test, ue_test_assign(source, &events[0], &index), 0);
	KUNIT_EXPECT_EQ(test, ue_index_peek(table, &events[1]), 0);
	KUNIT_EXPECT_EQ(test, ue_index_table_share(table, source), 0);
	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[1], 0), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[0], 0), 0);
	KUNIT_EXPECT_EQ(test, ue_index_peek(table, &events[1]), 1);
	KUNIT_EXPECT_EQ(test, ue_index_assign(table, &events[1], 1), 0);
	ue_index_table_put(source);
	KUNIT_EXPECT_PTR_EQ(test, ue_test_event(table, 1), &events[1]);
	KUNIT_EXPECT_EQ(test, ue_stub_users(&events[1]), 1);
	ue_index_table_put(table);
}

/* A race: each thread assigns indexes to all events, starting at another one. */

struct ue_test_race {
	struct ue_event *events;
	struct ue_test_assigner {
		struct ue_test_race *race;
		struct ue_index_table *table;
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
	struct ue_index_table *table = assigner->table;
	struct ue_index_table *source = race->assigners[0].table;

	complete(&assigner->started);
	if (table != source && ue_index_table_share(table, source))
		assigner->wrong++;
	for (int i = 0; i < UE_TEST_RACING; i++) {
		int nr = (assigner->first + i) % UE_TEST_RACING;
		struct ue_event *event = &race->events[nr];

		if (ue_test_assign(table, event, &assigner->index[nr]))
			assigner->wrong++;
		/* An assigned index leads to its event. */
		if (ue_test_event(table, assigner->index[nr]) != event)
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

/* @tables: how many tables the threads use; the others share with the first. */
static void ue_assign_race(struct kunit *test, int tables)
{
	struct ue_test_race *race = kunit_kzalloc(test, sizeof(*race),
						  GFP_KERNEL);
	struct ue_test_assigner *first;

	KUNIT_ASSERT_NOT_NULL(test, race);
	first = &race->assigners[0];
	race->events = ue_stub_events(test, UE_TEST_RACING);
	for (int i = 0; i < UE_TEST_ASSIGNERS; i++)
		race->assigners[i].table = i < tables ? ue_test_table(test) :
							first->table;
	ue_run_race(test, race);

	for (u32 i = 0; i < UE_TEST_RACING; i++) {
		u32 index = first->index[i];

		KUNIT_EXPECT_LT(test, index, UE_TEST_RACING);
		KUNIT_EXPECT_PTR_EQ(test, ue_test_event(first->table, index),
				    &race->events[i]);
		KUNIT_EXPECT_EQ(test, ue_stub_users(&race->events[i]), 1);
		for (int j = 1; j < UE_TEST_ASSIGNERS; j++)
			KUNIT_EXPECT_EQ(test, race->assigners[j].index[i],
					index);
	}
	KUNIT_EXPECT_NULL(test, ue_test_event(first->table, UE_TEST_RACING));
	for (int i = 0; i < tables; i++)
		ue_index_table_put(race->assigners[i].table);
}

static void ue_assign_race_test(struct kunit *test)
{
	ue_assign_race(test, 1);
}

static void ue_share_race_test(struct kunit *test)
{
	ue_assign_race(test, UE_TEST_ASSIGNERS);
}

static struct kunit_case ue_index_table_cases[] = {
	KUNIT_CASE(ue_count_up_test),
	KUNIT_CASE(ue_same_event_test),
	KUNIT_CASE(ue_assign_test),
	KUNIT_CASE(ue_unused_table_test),
	KUNIT_CASE(ue_share_test),
	KUNIT_CASE(ue_share_put_test),
	KUNIT_CASE(ue_share_busy_test),
	KUNIT_CASE(ue_share_assign_test),
	KUNIT_CASE(ue_assign_race_test),
	KUNIT_CASE(ue_share_race_test),
	{ }
};

static struct kunit_suite ue_index_table_suite = {
	.name = "user_events_index_table",
	.test_cases = ue_index_table_cases,
};

kunit_test_suite(ue_index_table_suite);
