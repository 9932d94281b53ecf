// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check of the kernel's dyn_event_operations: it accepts an object that fits
 * and names the member of one that does not.
 */
#include <kunit/test.h>
#include <linux/list.h>

#include "port/kernel_types.h"

static int ue_test_create(const char *raw_command)
{
	return 0;
}

static int ue_test_show(struct seq_file *m, struct dyn_event *ev)
{
	return 0;
}

static bool ue_test_is_busy(struct dyn_event *ev)
{
	return false;
}

static int ue_test_release(struct dyn_event *ev)
{
	return 0;
}

static bool ue_test_match(const char *system, const char *event, int argc,
			  const char **argv, struct dyn_event *ev)
{
	return false;
}

/* Operations that fit, in a list of their own. */
struct ue_test_kind {
	struct list_head kinds;
	struct dyn_event_operations ops;
};

static struct ue_test_kind *ue_test_kind(struct kunit *test)
{
	struct ue_test_kind *kind = kunit_kzalloc(test, sizeof(*kind),
						  GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, kind);
	kind->ops.create = ue_test_create;
	kind->ops.show = ue_test_show;
	kind->ops.is_busy = ue_test_is_busy;
	kind->ops.free = ue_test_release;
	kind->ops.match = ue_test_match;
	INIT_LIST_HEAD(&kind->kinds);
	list_add(&kind->ops.list, &kind->kinds);
	return kind;
}

static void ue_fits_test(struct kunit *test)
{
	struct ue_test_kind *kind = ue_test_kind(test);

	KUNIT_EXPECT_NULL(test, ue_dyn_event_misfit(&kind->ops));
}

/* As if the kernel had another member before this member. */
static void ue_moved_member_test(struct kunit *test)
{
	static const char * const names[] = {
		"create", "show", "is_busy", "free", "match",
	};
	const size_t first = offsetof(struct dyn_event_operations, create);

	for (int moved = 0; moved < ARRAY_SIZE(names); moved++) {
		struct ue_test_kind *kind = ue_test_kind(test);
		void **members = (void *)&kind->ops + first;

		for (int i = ARRAY_SIZE(names) - 1; i > moved; i--)
			members[i] = members[i - 1];
		members[moved] = moved ? members[moved - 1] : NULL;
		KUNIT_EXPECT_STREQ(test, ue_dyn_event_misfit(&kind->ops),
				   names[moved]);
	}
}

static void ue_not_code_test(struct kunit *test)
{
	const unsigned long values[] = { 0, 1, -1ul, (unsigned long)test };

	for (int i = 0; i < ARRAY_SIZE(values); i++) {
		struct ue_test_kind *kind = ue_test_kind(test);

		kind->ops.match = (void *)values[i];
		KUNIT_EXPECT_STREQ(test, ue_dyn_event_misfit(&kind->ops),
				   "match");
	}
}

static void ue_not_listed_test(struct kunit *test)
{
	struct ue_test_kind *kind = ue_test_kind(test);

	kind->kinds.prev = &kind->kinds;
	KUNIT_EXPECT_STREQ(test, ue_dyn_event_misfit(&kind->ops), "list");
	kind->kinds.prev = &kind->ops.list;
	kind->kinds.next = &kind->kinds;
	KUNIT_EXPECT_STREQ(test, ue_dyn_event_misfit(&kind->ops), "list");
	INIT_LIST_HEAD(&kind->ops.list);
	KUNIT_EXPECT_STREQ(test, ue_dyn_event_misfit(&kind->ops), "list");
	kind->ops.list.next = NULL;
	KUNIT_EXPECT_STREQ(test, ue_dyn_event_misfit(&kind->ops), "list");
}

static void ue_unmapped_test(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, ue_dyn_event_misfit(NULL), "address");
}

static struct kunit_case ue_dyn_event_cases[] = {
	KUNIT_CASE(ue_fits_test),
	KUNIT_CASE(ue_moved_member_test),
	KUNIT_CASE(ue_not_code_test),
	KUNIT_CASE(ue_not_listed_test),
	KUNIT_CASE(ue_unmapped_test),
	{ }
};

static struct kunit_suite ue_dyn_event_suite = {
	.name = "user_events_dyn_event",
	.test_cases = ue_dyn_event_cases,
};

kunit_test_suite(ue_dyn_event_suite);
