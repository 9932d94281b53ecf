// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits: how many tokens a bucket gives in which time, what is counted, and sampling.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "events/limit.h"

static const u32 ue_test_rates[] = { 1, 3, 7, 99, 100, 101, 249, 250, 251, 999, 1000, 1001 };

/* Return: how many of @nr attempts find a token. */
static u32 ue_test_take(struct ue_bucket *bucket, u32 rate, unsigned long now, u32 nr)
{
	u32 taken = 0;

	while (nr--)
		taken += ue_bucket_take(bucket, rate, now);
	return taken;
}

static void ue_bucket_full_test(struct kunit *test)
{
	struct ue_bucket bucket;

	for (int i = 0; i < ARRAY_SIZE(ue_test_rates); i++) {
		const u32 rate = ue_test_rates[i];

		ue_bucket_init(&bucket, rate, 5);
		KUNIT_EXPECT_EQ(test, ue_test_take(&bucket, rate, 5, rate), rate);
		KUNIT_EXPECT_EQ(test, ue_test_take(&bucket, rate, 5, 17), 0);
	}
}

/* From any jiffy on, a second brings @rate tokens, whether asked for each jiffy or at its end. */
static void ue_bucket_second_test(struct kunit *test)
{
	static const unsigned long begins[] = {
		0, 1, HZ / 3, HZ - 1, HZ, INITIAL_JIFFIES, ULONG_MAX - HZ,
	};
	struct ue_bucket bucket;

	for (int i = 0; i < ARRAY_SIZE(ue_test_rates) * ARRAY_SIZE(begins); i++) {
		const u32 rate = ue_test_rates[i / ARRAY_SIZE(begins)];
		const unsigned long begin = begins[i % ARRAY_SIZE(begins)];
		u32 taken = 0;

		ue_bucket_init(&bucket, rate, begin);
		ue_test_take(&bucket, rate, begin, rate);
		for (int jiffy = 1; jiffy <= HZ; jiffy++)
			taken += ue_test_take(&bucket, rate, begin + jiffy, rate);
		KUNIT_EXPECT_EQ(test, taken, rate);
		KUNIT_EXPECT_EQ(test, ue_test_take(&bucket, rate, begin + 2 * HZ, 2 * rate),
				rate);
	}
}

static void ue_bucket_idle_test(struct kunit *test)
{
	struct ue_bucket bucket;

	ue_bucket_init(&bucket, 3, 0);
	KUNIT_EXPECT_EQ(test, ue_test_take(&bucket, 3, LONG_MAX / 2, 5), 3);
	/* A task whose time is an earlier one adds nothing. */
	KUNIT_EXPECT_EQ(test, ue_test_take(&bucket, 3, LONG_MAX / 2 - 2 * HZ, 5), 0);
	/* After very long, the time looks like an earlier one. */
	ue_bucket_init(&bucket, 3, 0);
	ue_test_take(&bucket, 3, 0, 3);
	KUNIT_EXPECT_EQ(test, ue_test_take(&bucket, 3, LONG_MAX + 10UL, 5), 3);
}

static void ue_bucket_largest_test(struct kunit *test)
{
	const u32 rate = UE_RULE_LIMIT_MAX;
	struct ue_bucket bucket;

	ue_bucket_init(&bucket, rate, HZ - 1);
	for (unsigned long now = HZ; now < 3 * HZ; now++)
		KUNIT_EXPECT_TRUE(test, ue_bucket_take(&bucket, rate, now));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&bucket.tokens), rate - 1);
	/* A part of a second brings that part. */
	atomic_long_set(&bucket.tokens, 0);
	ue_bucket_take(&bucket, rate, 3 * HZ - 1 + HZ / 2);
	KUNIT_EXPECT_LE(test, abs(atomic_long_read(&bucket.tokens) - (long)(rate / 2)), 2);
}

/* Return: how many of @nr payloads of this thread are recorded. */
static u32 ue_test_admitted(struct ue_limit *limit, u32 nr)
{
	u32 admitted = 0;

	preempt_disable();
	while (nr--)
		admitted += ue_limit_take(limit) == UE_ADMITTED;
	preempt_enable();
	return admitted;
}

static void ue_limit_none_test(struct kunit *test)
{
	const struct ue_rule_limit terms = { };
	struct ue_limit *limit;

	KUNIT_EXPECT_EQ(test, ue_limit_create(&terms, &limit), 0);
	KUNIT_EXPECT_NULL(test, limit);
	KUNIT_EXPECT_EQ(test, ue_limit_terms(limit)->rate, 0);
	KUNIT_EXPECT_EQ(test, ue_limit_suppressed(limit), 0);
	ue_limit_free(limit);
}

static void ue_limit_sample_test(struct kunit *test)
{
	static const u32 samples[] = { 1, 2, 7, 100 };
	struct ue_limit *limit;

	for (int i = 0; i < ARRAY_SIZE(samples); i++) {
		const struct ue_rule_limit terms = { .sample = samples[i] };

		KUNIT_ASSERT_EQ(test, ue_limit_create(&terms, &limit), 0);
		KUNIT_EXPECT_EQ(test, ue_test_admitted(limit, 30 * samples[i]), 30);
		KUNIT_EXPECT_EQ(test, ue_limit_suppressed(limit), 0);
		ue_limit_free(limit);
	}
}

/* Of 10000 payloads. */
struct ue_test_outcome {
	u32 admitted;
	unsigned long suppressed;
};

static struct ue_test_outcome ue_test_try(struct kunit *test,
					  struct ue_rule_limit terms, int each)
{
	struct ue_test_outcome outcome;
	struct ue_limit *limit;

	terms.each_process = each;
	KUNIT_ASSERT_EQ(test, ue_limit_create(&terms, &limit), 0);
	outcome.admitted = ue_test_admitted(limit, 10000);
	outcome.suppressed = ue_limit_suppressed(limit);
	ue_limit_free(limit);
	return outcome;
}

/* What sampling leaves out takes no token. */
static void ue_limit_both_test(struct kunit *test)
{
	const struct ue_rule_limit terms = { .sample = 10, .rate = 1000000 };

	for (int each = 0; each <= 1; each++) {
		const struct ue_test_outcome outcome = ue_test_try(test, terms, each);

		KUNIT_EXPECT_EQ(test, outcome.admitted, 1000);
		KUNIT_EXPECT_EQ(test, outcome.suppressed, 0);
	}
}

static void ue_limit_count_test(struct kunit *test)
{
	const struct ue_rule_limit terms = { .rate = 5 };

	for (int each = 0; each <= 1; each++) {
		const struct ue_test_outcome outcome = ue_test_try(test, terms, each);

		/* A second may pass, and bring further tokens. */
		KUNIT_EXPECT_GE(test, outcome.admitted, 5);
		KUNIT_EXPECT_LT(test, outcome.admitted, 1000);
		KUNIT_EXPECT_EQ(test, outcome.suppressed, 10000 - outcome.admitted);
	}
}

static void ue_limit_give_back_test(struct kunit *test)
{
	struct ue_rule_limit terms = { .rate = 1 };
	struct ue_limit *limit;

	for (int each = 0; each <= 1; each++) {
		terms.each_process = each;
		KUNIT_ASSERT_EQ(test, ue_limit_create(&terms, &limit), 0);
		preempt_disable();
		for (int i = 0; i < 100; i++) {
			KUNIT_EXPECT_EQ(test, ue_limit_take(limit), UE_ADMITTED);
			ue_limit_give_back(limit);
		}
		preempt_enable();
		KUNIT_EXPECT_EQ(test, ue_limit_suppressed(limit), 0);
		ue_limit_free(limit);
	}
}

/* Each suppressed payload is told once; those beyond the space, for process 0. */
static void ue_limit_collect_test(struct kunit *test)
{
	struct ue_rule_limit terms = { .rate = 1 };
	struct ue_suppressed suppressed[2];
	struct ue_limit *limit;

	for (int each = 0; each <= 1; each++) {
		unsigned long told = 0;

		terms.each_process = each;
		KUNIT_ASSERT_EQ(test, ue_limit_create(&terms, &limit), 0);
		KUNIT_EXPECT_EQ(test, ue_limit_collect(limit, suppressed, 2), 0);
		for (unsigned int max = 1; max <= 2; max++) {
			ue_test_admitted(limit, 10);
			KUNIT_EXPECT_EQ(test, ue_limit_collect(limit, suppressed, max), 1);
			KUNIT_EXPECT_EQ(test, suppressed[0].process,
					max == 1 ? 0 : current->tgid);
			KUNIT_EXPECT_TRUE(test, time_in_range(suppressed[0].since,
							      jiffies - HZ, jiffies));
			told += suppressed[0].nr;
		}
		KUNIT_EXPECT_EQ(test, told, ue_limit_suppressed(limit));
		KUNIT_EXPECT_EQ(test, ue_limit_collect(limit, suppressed, 2), 0);
		ue_limit_free(limit);
	}
}

static struct kunit_case ue_limit_cases[] = {
	KUNIT_CASE(ue_bucket_full_test),
	KUNIT_CASE(ue_bucket_second_test),
	KUNIT_CASE(ue_bucket_idle_test),
	KUNIT_CASE(ue_bucket_largest_test),
	KUNIT_CASE(ue_limit_none_test),
	KUNIT_CASE(ue_limit_sample_test),
	KUNIT_CASE(ue_limit_both_test),
	KUNIT_CASE(ue_limit_count_test),
	KUNIT_CASE(ue_limit_give_back_test),
	KUNIT_CASE(ue_limit_collect_test),
	{ }
};

/* Waits for the memory, before the module's code is freed. */
static void ue_limit_suite_exit(struct kunit_suite *suite)
{
	ue_limits_flush();
}

static struct kunit_suite ue_limit_suite = {
	.name = "user_events_limit",
	.suite_exit = ue_limit_suite_exit,
	.test_cases = ue_limit_cases,
};

kunit_test_suite(ue_limit_suite);
