/* SPDX-License-Identifier: GPL-2.0-only */
/* What the unit tests of the pure parts of kernel/ use of KUnit, in user space; kunit.c runs them. */
#ifndef UE_UNITS_KUNIT_TEST_H
#define UE_UNITS_KUNIT_TEST_H

#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit {
	const void *param_value;
};

struct kunit_case {
	const char *name;
	void (*run)(struct kunit *test);
	const void *(*next_param)(const void *previous, char *description);
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(test)		{ #test, test, NULL }
#define KUNIT_CASE_PARAM(test, next)	{ #test, test, next }

#define KUNIT_ARRAY_PARAM_DESC(prefix, array, member)				\
static const void *prefix##_gen_params(const void *previous, char *description)	\
{										\
	__typeof__(&(array)[0]) next = previous;				\
										\
	next = next ? next + 1 : array;						\
	if (next == array + ARRAY_SIZE(array))					\
		return NULL;							\
	snprintf(description, KUNIT_PARAM_DESC_SIZE, "%s", next->member);	\
	return next;								\
}

#define KUNIT_DEFINE_ACTION_WRAPPER(name, function, type)	\
	static void name(void *argument) { function((type)argument); }

/* A file has one suite. */
#define kunit_test_suite(suite)	struct kunit_suite *ue_suite = &(suite)
extern struct kunit_suite *ue_suite;

int kunit_add_action_or_reset(struct kunit *test, void (*action)(void *), void *argument);
void *kunit_kmalloc(struct kunit *test, size_t size, gfp_t gfp);
void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);

/* Notes a failure. Ends the case if it cannot go on. */
__printf(5, 6) void ue_unit_failed(const char *file, int line, bool end, const char *what,
				   const char *fmt, ...);

#define UE_UNIT(end, holds, text, ...) do {						\
	if (!(holds))									\
		ue_unit_failed(__FILE__, __LINE__, end, text, " " __VA_ARGS__);		\
} while (0)

#define KUNIT_EXPECT_TRUE(test, value)		UE_UNIT(false, value, #value, "")
#define KUNIT_EXPECT_FALSE(test, value)		UE_UNIT(false, !(value), "!(" #value ")", "")
#define KUNIT_EXPECT_NULL(test, value)		UE_UNIT(false, !(value), #value " == NULL", "")
#define KUNIT_ASSERT_NULL(test, value)		UE_UNIT(true, !(value), #value " == NULL", "")
#define KUNIT_ASSERT_NOT_NULL(test, value)	UE_UNIT(true, value, #value " != NULL", "")
#define KUNIT_EXPECT_EQ(test, one, two)		UE_UNIT(false, (one) == (two), #one " == " #two, "")
#define KUNIT_EXPECT_NE(test, one, two)		UE_UNIT(false, (one) != (two), #one " != " #two, "")
#define KUNIT_ASSERT_EQ(test, one, two)		UE_UNIT(true, (one) == (two), #one " == " #two, "")
#define KUNIT_EXPECT_EQ_MSG(test, one, two, ...) \
	UE_UNIT(false, (one) == (two), #one " == " #two, __VA_ARGS__)
#define KUNIT_ASSERT_EQ_MSG(test, one, two, ...) \
	UE_UNIT(true, (one) == (two), #one " == " #two, __VA_ARGS__)
#define KUNIT_EXPECT_STREQ(test, one, two) do {						\
	const char *first = (one), *second = (two);					\
											\
	if (!first || !second || strcmp(first, second))					\
		ue_unit_failed(__FILE__, __LINE__, false, #one, " is \"%s\", not \"%s\"",	\
			       first, second);						\
} while (0)

#endif /* UE_UNITS_KUNIT_TEST_H */
