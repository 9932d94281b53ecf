// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of group_parse.c: the text of a group of events.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format/group_parse.h"

/* The text is changed; it must stay as long as @group. */
static const char *ue_test_parse(struct kunit *test, const char *text,
				 struct ue_group_text *group)
{
	size_t size = strlen(text) + 1;
	char *copy = kunit_kmalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, text, size);
	return ue_group_parse(copy, group);
}

static void ue_group_options_test(struct kunit *test)
{
	static const char * const words[UE_GROUP_OPTIONS] = {
		"max=1", "max_per_user=2", "max_registrations=4294967295",
		"uid=4294967294", "gid=5", "mode=0660",
	};
	static const unsigned int values[UE_GROUP_OPTIONS] = {
		1, 2, UINT_MAX, UINT_MAX - 1, 5, 0660,
	};
	struct ue_group_text group;
	char text[128];

	for (int i = 0; i < UE_GROUP_OPTIONS; i++) {
		snprintf(text, sizeof(text), " web\t%s  # max=7", words[i]);
		KUNIT_ASSERT_NULL(test, ue_test_parse(test, text, &group));
		KUNIT_EXPECT_STREQ(test, group.name, "web");
		KUNIT_EXPECT_EQ(test, group.given, BIT(i));
		KUNIT_EXPECT_EQ(test, ue_group_given(&group, i, 9), values[i]);
		KUNIT_EXPECT_EQ(test,
				ue_group_given(&group, (i + 1) % UE_GROUP_OPTIONS, 9),
				9);
	}
}

static void ue_group_none_test(struct kunit *test)
{
	static const char * const texts[] = { "", " ", "\n\t ", "#", "# web", " #web" };
	struct ue_group_text group;

	for (int i = 0; i < ARRAY_SIZE(texts); i++) {
		KUNIT_EXPECT_NULL(test, ue_test_parse(test, texts[i], &group));
		KUNIT_EXPECT_NULL(test, group.name);
	}
}

static const struct ue_test_refusal {
	const char *text;
	const char *reason;
} ue_test_refusals[] = {
	{ "a.b", "the name is not of 1 to 32 letters, digits and \"_\"" },
	{ "\xe4", "the name is not of 1 to 32 letters, digits and \"_\"" },
	{ "0123456789_0123456789_0123456789A",
	  "the name is not of 1 to 32 letters, digits and \"_\"" },
	{ "web size=1", "not an option of groups after the name" },
	{ "web max=1 max=1", "an option is given twice" },
	{ "web max=", "not a number after \"max=\"" },
	{ "web max=0x", "not a number after \"max=\"" },
	{ "web max=4294967296", "not a number after \"max=\"" },
	{ "web max_per_user=-1", "not a number after \"max_per_user=\"" },
	{ "web max_registrations=a", "not a number after \"max_registrations=\"" },
	{ "web uid=4294967295", "not a user ID after \"uid=\"" },
	{ "web gid=root", "not a group ID after \"gid=\"" },
	{ "web mode=8", "not a mode up to 0777 after \"mode=\"" },
	{ "web mode=1777", "not a mode up to 0777 after \"mode=\"" },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_refusal, ue_test_refusals, text);

static void ue_group_refused_test(struct kunit *test)
{
	const struct ue_test_refusal *one = test->param_value;
	struct ue_group_text group;

	KUNIT_EXPECT_STREQ(test, ue_test_parse(test, one->text, &group), one->reason);
}

static struct kunit_case ue_group_cases[] = {
	KUNIT_CASE(ue_group_options_test),
	KUNIT_CASE(ue_group_none_test),
	KUNIT_CASE_PARAM(ue_group_refused_test, ue_test_refusal_gen_params),
	{ }
};

static struct kunit_suite ue_group_suite = {
	.name = "user_events_group_parse",
	.test_cases = ue_group_cases,
};

kunit_test_suite(ue_group_suite);
