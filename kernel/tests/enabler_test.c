// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of enablers: every order of insertion and erasure, and copies. Each enabler
 * is a user of its event for as long as it exists.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "event_stub.h"
#include "port/debug_counter.h"
#include "programs/enabler.h"
#include "programs/user.h"

/* In order of address, then of number. */
static const struct ue_user_bit ue_test_bits[] = {
	{ .address = 0, .nr = 0, .size = 4 },
	{ .address = 0x1000, .nr = 0, .size = 4 },
	{ .address = 0x1000, .nr = 31, .size = 4 },
	{ .address = 0x1000, .nr = 63, .size = 8 },
	{ .address = 0x1004, .nr = 0, .size = 4 },
	{ .address = ULONG_MAX - 7, .nr = 63, .size = 8 },
};

#define UE_TEST_BITS	((int)ARRAY_SIZE(ue_test_bits))
#define UE_TEST_ORDERS	(6 * 5 * 4 * 3 * 2)

static int ue_test_setup(struct kunit *test)
{
	test->priv = ue_stub_events(test, 2);
	return ue_enablers_init();
}

/* Even bits follow one event, odd bits the other. */
static struct ue_event *ue_test_event(struct kunit *test, int bit)
{
	struct ue_event *events = test->priv;

	return &events[bit % 2];
}

/* Return: an empty set that may have enablers of the test's events, or NULL. */
static struct ue_enabler_set *ue_test_set(void)
{
	struct ue_enabler_set *set = ue_enabler_set_create(GFP_KERNEL);
	struct ue_account *account = ue_account_create(&ue_default_users, GFP_KERNEL);

	if (set && account) {
		account->next = set->accounts;
		set->accounts = account;
		return set;
	}
	if (set)
		ue_enabler_set_put(set);
	ue_account_free(account);
	return NULL;
}

static int ue_test_insert(struct kunit *test, struct ue_enabler_set *set,
			  int bit)
{
	struct ue_enabler *enabler;
	LIST_HEAD(blank);
	int err;

	KUNIT_ASSERT_EQ(test, ue_enablers_create(&blank, 1, GFP_KERNEL), 0);
	enabler = list_first_entry(&blank, struct ue_enabler, of_event);
	list_del(&enabler->of_event);
	err = ue_enabler_insert(set, enabler, &ue_test_bits[bit],
				ue_test_event(test, bit), bit + 1);
	if (err)
		list_add(&enabler->of_event, &blank);
	ue_enablers_free(&blank);
	return err;
}

static void ue_test_erase(struct kunit *test, struct ue_enabler_set *set,
			  int bit)
{
	struct ue_enabler *enabler =
		ue_enabler_find(set, ue_test_bits[bit].address,
				ue_test_bits[bit].nr);
	struct ue_event *event;

	KUNIT_EXPECT_NOT_NULL(test, enabler);
	if (!enabler)
		return;
	event = ue_enabler_erase(enabler);
	KUNIT_EXPECT_PTR_EQ(test, event, ue_test_event(test, bit));
	ue_event_put(event);
}

/* @bits: a mask of those that the set must have, and no others. */
static void ue_test_has(struct kunit *test, const struct ue_enabler_set *set,
			unsigned int bits)
{
	const struct ue_enabler *next = ue_enabler_after(set, 0, -1);

	KUNIT_EXPECT_EQ(test, set->nr, hweight32(bits));
	for (int i = 0; i < UE_TEST_BITS; i++) {
		const struct ue_user_bit *bit = &ue_test_bits[i];
		const struct ue_enabler *enabler =
			ue_enabler_find(set, bit->address, bit->nr);

		KUNIT_EXPECT_EQ(test, !!enabler, !!(bits & BIT(i)));
		if (!enabler)
			continue;
		KUNIT_EXPECT_PTR_EQ(test, enabler, next);
		KUNIT_EXPECT_PTR_EQ(test, enabler->set, set);
		KUNIT_EXPECT_PTR_EQ(test, enabler->event,
				    ue_test_event(test, i));
		KUNIT_EXPECT_EQ(test, enabler->id, i + 1);
		KUNIT_EXPECT_EQ(test, enabler->bit.size, bit->size);
		next = ue_enabler_after(set, bit->address, bit->nr);
	}
	KUNIT_EXPECT_NULL(test, next);
}

/* @copies: the number of sets that have all bits. */
static void ue_test_users(struct kunit *test, int copies)
{
	struct ue_event *events = test->priv;

	for (int i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, ue_stub_users(&events[i]),
				copies * UE_TEST_BITS / 2);
		KUNIT_EXPECT_EQ(test, list_count_nodes(&events[i].enablers),
				copies * UE_TEST_BITS / 2);
	}
}

static struct ue_enabler_set *ue_test_full_set(struct kunit *test)
{
	struct ue_enabler_set *set = ue_test_set();

	KUNIT_ASSERT_NOT_NULL(test, set);
	for (int i = 0; i < UE_TEST_BITS; i++)
		KUNIT_ASSERT_EQ(test, ue_test_insert(test, set, i), 0);
	return set;
}

static void ue_new_set_test(struct kunit *test)
{
	struct ue_enabler_set *set = ue_test_set();

	KUNIT_ASSERT_NOT_NULL(test, set);
	KUNIT_EXPECT_EQ(test, atomic_read(&set->references), 1);
	KUNIT_EXPECT_TRUE(test, hlist_empty(&set->mms));
	ue_test_has(test, set, 0);
	mutex_lock(&ue_enabler_mutex);
	ue_enabler_set_free(set);
	mutex_unlock(&ue_enabler_mutex);
}

/* Every order of insertion, each with another order of erasure. */
static void ue_every_order_test(struct kunit *test)
{
	int in[UE_TEST_BITS], out[UE_TEST_BITS];

	mutex_lock(&ue_enabler_mutex);
	for (int nr = 0; nr < UE_TEST_ORDERS; nr++) {
		struct ue_enabler_set *set = ue_test_set();
		unsigned int bits = 0;

		KUNIT_ASSERT_NOT_NULL(test, set);
		ue_stub_order(nr, UE_TEST_BITS, in);
		/* 7 and 720 are coprime, so every order occurs. */
		ue_stub_order(nr * 7 % UE_TEST_ORDERS, UE_TEST_BITS, out);
		for (int i = 0; i < UE_TEST_BITS; i++) {
			KUNIT_ASSERT_EQ(test, ue_test_insert(test, set, in[i]),
					0);
			bits |= BIT(in[i]);
		}
		ue_test_has(test, set, bits);
		for (int i = 0; i < UE_TEST_BITS; i++) {
			ue_test_erase(test, set, out[i]);
			bits &= ~BIT(out[i]);
			ue_test_has(test, set, bits);
		}
		ue_enabler_set_free(set);
	}
	mutex_unlock(&ue_enabler_mutex);
	ue_test_users(test, 0);
}

/* Inserting a pair that is in the set fails and changes nothing. */
static void ue_taken_test(struct kunit *test)
{
	struct ue_enabler_set *set;

	mutex_lock(&ue_enabler_mutex);
	set = ue_test_full_set(test);
	for (int i = 0; i < UE_TEST_BITS; i++)
		KUNIT_EXPECT_EQ(test, ue_test_insert(test, set, i),
				-EADDRINUSE);
	ue_test_has(test, set, BIT(UE_TEST_BITS) - 1);
	ue_test_users(test, 1);
	ue_enabler_set_free(set);
	mutex_unlock(&ue_enabler_mutex);
	ue_test_users(test, 0);
}

/* Keys between two enablers, before the first and after the last. */
static void ue_after_test(struct kunit *test)
{
	static const struct {
		unsigned long address;
		int nr;
		int next;	/* index in ue_test_bits; UE_TEST_BITS: none */
	} rows[] = {
		{ 0, -1, 0 }, { 0, 0, 1 }, { 0, 63, 1 }, { 0xfff, 63, 1 },
		{ 0x1000, -1, 1 }, { 0x1000, 0, 2 }, { 0x1000, 30, 2 },
		{ 0x1000, 31, 3 }, { 0x1000, 62, 3 }, { 0x1000, 63, 4 },
		{ 0x1003, 0, 4 }, { 0x1004, 0, 5 }, { ULONG_MAX - 7, 62, 5 },
		{ ULONG_MAX - 7, 63, UE_TEST_BITS },
		{ ULONG_MAX, 0, UE_TEST_BITS },
	};
	struct ue_enabler_set *set;

	mutex_lock(&ue_enabler_mutex);
	set = ue_test_full_set(test);
	for (int i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct ue_enabler *enabler =
			ue_enabler_after(set, rows[i].address, rows[i].nr);

		KUNIT_EXPECT_EQ_MSG(test, enabler ? enabler->id - 1 :
						    UE_TEST_BITS,
				    rows[i].next, "row %d", i);
	}
	ue_enabler_set_free(set);
	mutex_unlock(&ue_enabler_mutex);
}

/* A full set, and a copy of it. */
static void ue_test_copied_sets(struct kunit *test,
				struct ue_enabler_set *sets[2])
{
	mutex_lock(&ue_enabler_mutex);
	sets[0] = ue_test_full_set(test);
	mutex_unlock(&ue_enabler_mutex);
	sets[1] = ue_enabler_set_copy(sets[0], UE_WITHOUT_LIMIT, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, sets[1]);
	KUNIT_EXPECT_EQ(test, atomic_read(&sets[1]->references), 1);
}

/* A copy has all enablers, whichever of the two sets is freed first. */
static void ue_copy_test(struct kunit *test)
{
	for (int first = 0; first < 2; first++) {
		struct ue_enabler_set *sets[2];

		ue_test_copied_sets(test, sets);
		ue_test_users(test, 2);

		mutex_lock(&ue_enabler_mutex);
		ue_enabler_set_free(sets[first]);
		ue_test_users(test, 1);
		ue_test_has(test, sets[!first], BIT(UE_TEST_BITS) - 1);
		ue_enabler_set_free(sets[!first]);
		mutex_unlock(&ue_enabler_mutex);
		ue_test_users(test, 0);
	}
}

/* A change to one of the two sets does not change the other. */
static void ue_copy_apart_test(struct kunit *test)
{
	struct ue_enabler_set *sets[2];

	ue_test_copied_sets(test, sets);
	mutex_lock(&ue_enabler_mutex);
	ue_test_erase(test, sets[0], 2);
	ue_test_erase(test, sets[1], 4);
	ue_test_has(test, sets[0], 0x3b);
	ue_test_has(test, sets[1], 0x2f);
	ue_enabler_set_free(sets[0]);
	ue_enabler_set_free(sets[1]);
	mutex_unlock(&ue_enabler_mutex);
	ue_test_users(test, 0);
}

/*
 * An update has not reached an enabler. A copy goes behind other enablers that
 * the update has not reached, and the caller learns that the copy is to be
 * updated.
 */
static void ue_copy_outdated_test(struct kunit *test)
{
	struct ue_event *event = ue_test_event(test, 0);
	struct ue_enabler_set *sets[2], *copy;
	struct ue_enabler *enabler;
	int behind = 0;

	ue_test_copied_sets(test, sets);
	KUNIT_EXPECT_EQ(test, sets[1]->changes, 0);
	mutex_lock(&ue_enabler_mutex);
	event->update++;
	mutex_unlock(&ue_enabler_mutex);
	copy = ue_enabler_set_copy(sets[0], UE_WITHOUT_LIMIT, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	KUNIT_EXPECT_NE(test, copy->changes, 0);

	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry(enabler, &event->enablers, of_event) {
		if (enabler->set == copy)
			behind++;
		else
			KUNIT_EXPECT_EQ(test, behind, 0);
	}
	KUNIT_EXPECT_GT(test, behind, 0);
	ue_enabler_set_free(sets[0]);
	ue_enabler_set_free(sets[1]);
	ue_enabler_set_free(copy);
	mutex_unlock(&ue_enabler_mutex);
}

/* Several times as many as are copied or freed at once. */
#define UE_TEST_MANY	4096

/* A thread that counts the enablers whenever it gets the mutex. */
struct ue_test_other {
	struct ue_event *event;
	bool between;	/* it has seen a copy, or a free, that was not complete */
};

static int ue_test_look(void *data)
{
	struct ue_test_other *other = data;

	while (!kthread_should_stop()) {
		mutex_lock(&ue_enabler_mutex);
		if (ue_stub_users(other->event) % UE_TEST_MANY)
			other->between = true;
		mutex_unlock(&ue_enabler_mutex);
		usleep_range(100, 200);
	}
	return 0;
}

static struct ue_enabler_set *ue_test_large_set(struct kunit *test,
						struct ue_event *event)
{
	struct ue_enabler_set *set = ue_test_set();
	struct ue_enabler *enabler, *next;
	struct ue_user_bit bit = { .size = 8 };
	LIST_HEAD(blank);

	KUNIT_ASSERT_NOT_NULL(test, set);
	KUNIT_ASSERT_EQ(test, ue_enablers_create(&blank, UE_TEST_MANY,
						 GFP_KERNEL), 0);
	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry_safe(enabler, next, &blank, of_event) {
		list_del(&enabler->of_event);
		bit.address += 8;
		ue_enabler_insert(set, enabler, &bit, event, 1);
	}
	mutex_unlock(&ue_enabler_mutex);
	return set;
}

/* Resets @other->between, with the mutex held. Return: what it was. */
static bool ue_test_was_between(struct ue_test_other *other)
{
	bool between = other->between;

	other->between = false;
	return between;
}

/* The other thread runs when a timer tick preempts the current thread. */
#define UE_TEST_TRY_FOR	msecs_to_jiffies(30 * MSEC_PER_SEC)

/*
 * Another thread gets the mutex while a very large set is copied or freed, even if
 * both threads share one processor.
 */
static void ue_large_set_test(struct kunit *test)
{
	struct ue_test_other other = { .event = test->priv };
	struct ue_enabler_set *set = ue_test_large_set(test, other.event);
	const unsigned long end = jiffies + UE_TEST_TRY_FOR;
	bool copying = false, freeing = false;
	struct task_struct *task;

	task = kthread_create(ue_test_look, &other, "ue_test_look");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	migrate_disable();
	kthread_bind(task, smp_processor_id());
	wake_up_process(task);
	while (!(copying && freeing) && time_before(jiffies, end)) {
		struct ue_enabler_set *copy = ue_enabler_set_copy(set,
						UE_WITHOUT_LIMIT, GFP_KERNEL);

		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, copy);
		if (IS_ERR(copy))
			break;
		KUNIT_EXPECT_EQ(test, copy->nr, UE_TEST_MANY);
		ue_enabler_lock();
		copying |= ue_test_was_between(&other);
		ue_enabler_set_free(copy);
		freeing |= ue_test_was_between(&other);
		ue_enabler_unlock();
	}
	kthread_stop(task);
	migrate_enable();
	KUNIT_EXPECT_TRUE(test, copying);
	KUNIT_EXPECT_TRUE(test, freeing);

	ue_enabler_lock();
	ue_enabler_set_free(set);
	ue_enabler_unlock();
	KUNIT_EXPECT_EQ(test, ue_stub_users(other.event), 0);
}

/* Counts what is in sets of the user, and no copy that fails. */
static void ue_count_test(struct kunit *test)
{
	unsigned int max = ue_default_users.max_registrations;
	struct ue_enabler_set *set, *copy;
	const struct ue_user *user;

	mutex_lock(&ue_enabler_mutex);
	set = ue_test_full_set(test);
	user = set->accounts->user;
	KUNIT_EXPECT_EQ(test, user->nr_registrations, UE_TEST_BITS);
	KUNIT_EXPECT_EQ(test, ue_test_insert(test, set, 0), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, user->nr_registrations, UE_TEST_BITS);
	mutex_unlock(&ue_enabler_mutex);

	ue_default_users.max_registrations = 2 * UE_TEST_BITS - 1;
	copy = ue_enabler_set_copy(set, UE_WITHIN_LIMIT, GFP_KERNEL);
	KUNIT_EXPECT_PTR_EQ(test, copy, ERR_PTR(-EMFILE));
	ue_default_users.max_registrations = 0;
	copy = ue_enabler_set_copy(set, UE_WITHIN_TWICE, GFP_KERNEL);
	KUNIT_EXPECT_PTR_EQ(test, copy, ERR_PTR(-EMFILE));
	KUNIT_EXPECT_EQ(test, user->nr_registrations, UE_TEST_BITS);
	ue_default_users.max_registrations = UE_TEST_BITS;
	copy = ue_enabler_set_copy(set, UE_WITHIN_TWICE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	KUNIT_EXPECT_PTR_EQ(test, copy->accounts->user, user);

	mutex_lock(&ue_enabler_mutex);
	KUNIT_EXPECT_EQ(test, user->nr_registrations, 2 * UE_TEST_BITS);
	KUNIT_EXPECT_FALSE(test, ue_account_may_grow(set->accounts, 1, UE_WITHIN_TWICE));
	ue_test_erase(test, copy, 0);
	KUNIT_EXPECT_TRUE(test, ue_account_may_grow(set->accounts, 1, UE_WITHIN_TWICE));
	KUNIT_EXPECT_FALSE(test, ue_account_may_grow(set->accounts, 2, UE_WITHIN_TWICE));
	ue_default_users.max_registrations = max;
	ue_enabler_set_free(copy);
	KUNIT_EXPECT_EQ(test, user->nr_registrations, UE_TEST_BITS);
	ue_enabler_set_free(set);
	mutex_unlock(&ue_enabler_mutex);
}

static void ue_blank_test(struct kunit *test)
{
	for (unsigned int nr = 0; nr < 5; nr++) {
		LIST_HEAD(blank);

		KUNIT_ASSERT_EQ(test, ue_enablers_create(&blank, nr,
							 GFP_KERNEL), 0);
		KUNIT_EXPECT_EQ(test, list_count_nodes(&blank), nr);
		ue_enablers_free(&blank);
		KUNIT_EXPECT_TRUE(test, list_empty(&blank));
	}
}

/* A killed task stops creating enablers, unless __GFP_NOFAIL is given. */
static void ue_killed_test(struct kunit *test)
{
	LIST_HEAD(none);
	LIST_HEAD(blank);
	bool killed;
	int errors[2];

	ue_stub_kill();
	killed = fatal_signal_pending(current);
	errors[0] = ue_enablers_create(&none, UE_TEST_MANY, GFP_KERNEL);
	errors[1] = ue_enablers_create(&blank, UE_TEST_MANY,
				       GFP_KERNEL | __GFP_NOFAIL);
	ue_stub_revive();

	KUNIT_EXPECT_TRUE(test, killed);
	KUNIT_EXPECT_EQ(test, errors[0], -ENOMEM);
	KUNIT_EXPECT_TRUE(test, list_empty(&none));
	KUNIT_EXPECT_EQ(test, errors[1], 0);
	ue_enablers_free(&none);
	ue_enablers_free(&blank);
}

static int ue_test_wait_for_mutex(void *done)
{
	ue_enabler_lock();
	ue_enabler_unlock();
	complete(done);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void ue_test_until_asleep(const struct task_struct *task)
{
	do
		msleep(20);
	while (READ_ONCE(task->__state) != TASK_UNINTERRUPTIBLE);
}

/*
 * A program that waits for the mutex, and is not running when the mutex is released, is
 * not given it. The kernel gives a mutex to a waiter that has tried twice in vain.
 */
static void ue_not_given_test(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *waiter;
	bool locked;

	/* On one CPU, so that the waiter runs only while the test sleeps. */
	migrate_disable();
	waiter = kthread_create(ue_test_wait_for_mutex, &done, "ue_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(waiter));
	kthread_bind(waiter, raw_smp_processor_id());
	mutex_lock(&ue_enabler_mutex);
	wake_up_process(waiter);
	ue_test_until_asleep(waiter);

	preempt_disable();
	mutex_unlock(&ue_enabler_mutex);
	locked = mutex_trylock(&ue_enabler_mutex);
	preempt_enable();
	KUNIT_EXPECT_TRUE(test, locked);
	ue_test_until_asleep(waiter);

	preempt_disable();
	mutex_unlock(&ue_enabler_mutex);
	locked = mutex_is_locked(&ue_enabler_mutex);
	preempt_enable();
	KUNIT_EXPECT_FALSE(test, locked);
	wait_for_completion(&done);
	kthread_stop(waiter);
	migrate_enable();
}

/*
 * A program that waits, and does not run, does not keep others of the same user from the mutex when
 * it is free.
 */
static void ue_turn_test(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(first_done);
	DECLARE_COMPLETION_ONSTACK(second_done);
	struct task_struct *first, *second;
	bool first_was, second_was;
	int other;
	u64 start;

	migrate_disable();
	other = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	if (other >= nr_cpu_ids) {
		migrate_enable();
		kunit_skip(test, "needs two CPUs");
	}
	first = kthread_create(ue_test_wait_for_mutex, &first_done, "ue_first");
	second = kthread_create(ue_test_wait_for_mutex, &second_done, "ue_second");
	KUNIT_ASSERT_FALSE(test, IS_ERR(first) || IS_ERR(second));
	kthread_bind(first, raw_smp_processor_id());
	kthread_bind(second, other);
	mutex_lock(&ue_enabler_mutex);
	wake_up_process(first);
	ue_test_until_asleep(first);
	wake_up_process(second);
	ue_test_until_asleep(second);

	preempt_disable();
	mutex_unlock(&ue_enabler_mutex);
	start = local_clock();
	while (!completion_done(&second_done) &&
	       local_clock() - start < NSEC_PER_SEC)
		cpu_relax();
	first_was = completion_done(&first_done);
	second_was = completion_done(&second_done);
	preempt_enable();
	KUNIT_EXPECT_FALSE(test, first_was);
	KUNIT_EXPECT_TRUE(test, second_was);
	wait_for_completion(&first_done);
	wait_for_completion(&second_done);
	kthread_stop(first);
	kthread_stop(second);
	migrate_enable();
}

static unsigned int ue_share_of_user(int user)
{
	const struct cred cred = {
		.user_ns = &init_user_ns, .uid = KUIDT_INIT(user)
	};

	return ue_share_of_cred(&cred);
}

/*
 * With any key, users in a row have most of the shares: 400 have 63.9 of 64 on average.
 * Whether two users have the same share depends on the key: they do with 31 of 2,000 keys on
 * average.
 */
static void ue_shares_test(struct kunit *test)
{
	int same = 0;

	for (int key = 0; key < 2000; key++) {
		u64 shares = 0;

		ue_shares_init();
		for (int user = 1000; user < 1400; user++)
			shares |= BIT_ULL(ue_share_of_user(user));
		KUNIT_EXPECT_GE(test, hweight64(shares), 48);
		same += ue_share_of_user(0) == ue_share_of_user(55);
	}
	KUNIT_EXPECT_GT(test, same, 0);
	KUNIT_EXPECT_LT(test, same, 200);
}

static void ue_test_teardown(struct kunit *test)
{
	ue_enablers_exit();
	ue_debug_counters_check();
}

static struct kunit_case ue_enabler_cases[] = {
	KUNIT_CASE(ue_new_set_test),
	KUNIT_CASE(ue_every_order_test),
	KUNIT_CASE(ue_taken_test),
	KUNIT_CASE(ue_after_test),
	KUNIT_CASE(ue_copy_test),
	KUNIT_CASE(ue_copy_apart_test),
	KUNIT_CASE(ue_copy_outdated_test),
	KUNIT_CASE(ue_large_set_test),
	KUNIT_CASE(ue_count_test),
	KUNIT_CASE(ue_blank_test),
	KUNIT_CASE(ue_killed_test),
	KUNIT_CASE(ue_not_given_test),
	KUNIT_CASE(ue_turn_test),
	KUNIT_CASE(ue_shares_test),
	{ }
};

static struct kunit_suite ue_enabler_suite = {
	.name = "user_events_enabler",
	.init = ue_test_setup,
	.exit = ue_test_teardown,
	.test_cases = ue_enabler_cases,
};

kunit_test_suite(ue_enabler_suite);
