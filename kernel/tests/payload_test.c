// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does a payload fit its format: every location around every boundary.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../format.h"
#include "../payload.h"

/* Fixed fields, and what follows them. */
#define UE_TEST_TAIL	6

static const struct ue_test_location {
	const char *what;
	const char *command;
	u32 at;		/* the location's word, in the payload */
	s32 base;	/* where its offsets count from, in the payload */
	bool text;
} ue_test_locations[] = {
	{ "data_loc, first", "e __data_loc char[] f", 0, -8, true },
	{ "data_loc, behind a u8", "e u8 a; __data_loc char[] f", 1, -8, true },
	{ "data_loc, before a u64", "e __data_loc char[] f; u64 a", 0, -8,
	  true },
	{ "data_loc, unsigned", "e __data_loc unsigned char[] f", 0, -8, true },
	{ "data_loc, bytes", "e __data_loc u8[] f", 0, -8, false },
	{ "rel_loc, first", "e __rel_loc char[] f", 0, 4, true },
	{ "rel_loc, behind a u8", "e u8 a; __rel_loc char[] f", 1, 5, true },
	{ "rel_loc, before a u64", "e __rel_loc char[] f; u64 a", 0, 4, true },
	{ "rel_loc, unsigned", "e __rel_loc unsigned char[] f", 0, 4, true },
	{ "rel_loc, bytes", "e u16 a; __rel_loc u8[] f", 2, 6, false },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_location, ue_test_locations, what);

KUNIT_DEFINE_ACTION_WRAPPER(ue_test_free, kfree, const void *);

struct ue_test_payload {
	struct ue_format *format;
	char *bytes;
	u32 size;
};

/*
 * Filled with what is no NUL. Of its exact size, so that KASAN sees who reads
 * past it.
 */
static struct ue_test_payload ue_test_payload(struct kunit *test,
					      const char *command, u32 tail)
{
	struct ue_test_payload payload;

	KUNIT_ASSERT_EQ(test, ue_format_parse(command, &payload.format), 0);
	kunit_add_action_or_reset(test, ue_test_free, payload.format);
	payload.size = payload.format->size + tail;
	payload.bytes = kunit_kmalloc(test, payload.size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, payload.bytes);
	memset(payload.bytes, 'x', payload.size);
	return payload;
}

static void ue_test_set_location(struct ue_test_payload *payload, u32 at,
				 u32 offset, u32 size)
{
	u32 location = size << 16 | offset;

	memcpy(payload->bytes + at, &location, sizeof(location));
}

static int ue_test_check(const struct ue_test_payload *payload)
{
	return ue_payload_check(payload->format, payload->bytes, payload->size);
}

/* Return: where the first NUL behind @at is, or -1. */
static s64 ue_test_nul_after(const struct ue_test_payload *payload, s64 at)
{
	while (++at < payload->size)
		if (!payload->bytes[at])
			return at;
	return -1;
}

/*
 * @last: the last byte of the span, or the one before an empty span. What is empty,
 * or lies in the common fields, ends with a NUL behind them.
 */
static int ue_test_expected(const struct ue_test_location *location,
			    const struct ue_test_payload *payload, s64 last,
			    bool empty)
{
	if (last >= payload->size)
		return -EFAULT;
	if (!location->text)
		return 0;
	if (last >= 0 && payload->bytes[last])
		return -EFAULT;
	return (empty || last < 0) &&
	       ue_test_nul_after(payload, max(last, -1LL)) < 0;
}

/* Every offset and size that begins or ends near the payload. */
static void ue_boundaries_test(struct kunit *test)
{
	const struct ue_test_location *location = test->param_value;
	struct ue_test_payload payload = ue_test_payload(test,
							 location->command,
							 UE_TEST_TAIL);
	u32 reach = payload.size + UE_RECORD_HEADER + 2;

	for (u32 offset = 0; offset < reach; offset++) {
		for (u32 size = 0; size < reach; size++) {
			s64 last = (s64)location->base + offset + size - 1;

			ue_test_set_location(&payload, location->at, offset,
					     size);
			KUNIT_EXPECT_EQ_MSG(test, ue_test_check(&payload),
					    ue_test_expected(location, &payload,
							     last, !size),
					    "offset %u, size %u", offset, size);
		}
	}
}

/* Text ends at a NUL in its last byte, and at no other. */
static void ue_nul_test(struct kunit *test)
{
	const struct ue_test_location *location = test->param_value;
	struct ue_test_payload payload = ue_test_payload(test,
							 location->command,
							 UE_TEST_TAIL);
	u32 tail = payload.size - UE_TEST_TAIL;
	u32 offset = tail - location->base;

	for (u32 nul = 0; nul < UE_TEST_TAIL; nul++) {
		payload.bytes[tail + nul] = '\0';
		for (u32 size = 1; size <= UE_TEST_TAIL; size++) {
			int expected = location->text && size - 1 != nul ?
				-EFAULT : 0;

			ue_test_set_location(&payload, location->at, offset,
					     size);
			KUNIT_EXPECT_EQ_MSG(test, ue_test_check(&payload),
					    expected, "NUL at %u, size %u",
					    nul, size);
		}
		payload.bytes[tail + nul] = 'x';
	}
}

/* The largest numbers that a location can hold. */
static void ue_extremes_test(struct kunit *test)
{
	static const u32 extremes[] = { 0x7fff, 0x8000, 0xfffe, 0xffff };
	const struct ue_test_location *location = test->param_value;
	struct ue_test_payload payload = ue_test_payload(test,
							 location->command,
							 UE_TEST_TAIL);

	for (int i = 0; i < ARRAY_SIZE(extremes); i++) {
		ue_test_set_location(&payload, location->at, extremes[i], 0);
		KUNIT_EXPECT_EQ(test, ue_test_check(&payload), -EFAULT);
		ue_test_set_location(&payload, location->at, 0, extremes[i]);
		KUNIT_EXPECT_EQ(test, ue_test_check(&payload), -EFAULT);
		ue_test_set_location(&payload, location->at, extremes[i],
				     extremes[i]);
		KUNIT_EXPECT_EQ(test, ue_test_check(&payload), -EFAULT);
	}
}

/* And a payload that has room for them. */
static void ue_large_payload_test(struct kunit *test)
{
	const struct ue_test_location *location = test->param_value;
	struct ue_test_payload payload = ue_test_payload(test,
							 location->command,
							 2 * 0xffff + 4);
	s64 last = (s64)location->base + 2 * 0xffff - 1;

	ue_test_set_location(&payload, location->at, 0xffff, 0xffff);
	KUNIT_EXPECT_EQ(test, ue_test_check(&payload),
			location->text ? -EFAULT : 0);
	payload.bytes[last] = '\0';
	KUNIT_EXPECT_EQ(test, ue_test_check(&payload), 0);

	payload.size = last + 1;
	KUNIT_EXPECT_EQ(test, ue_test_check(&payload), 0);
	payload.size = last;
	KUNIT_EXPECT_EQ(test, ue_test_check(&payload), -EFAULT);
}

/* What ue_payload_check() and print.c go by. */
static void ue_span_test(struct kunit *test)
{
	const struct ue_test_location *location = test->param_value;
	struct ue_test_payload payload = ue_test_payload(test,
							 location->command, 0);
	const struct ue_field *fields = payload.format->fields;
	int nr = payload.format->nr_fields;

	ue_test_set_location(&payload, location->at, 0x1234, 0xfedc);
	for (int i = 0; i < nr; i++) {
		struct ue_span span = ue_field_span(&fields[i], payload.bytes);

		if (fields[i].place == UE_PLACE_HERE) {
			KUNIT_EXPECT_EQ(test, span.start, fields[i].offset);
			KUNIT_EXPECT_EQ(test, span.size, fields[i].size);
		} else {
			KUNIT_EXPECT_EQ(test, span.start,
					location->base + 0x1234);
			KUNIT_EXPECT_EQ(test, span.size, 0xfedc);
		}
	}
}

/* Fields that are no location may hold anything. */
static void ue_no_location_test(struct kunit *test)
{
	static const char * const commands[] = {
		"e", "e u32 a", "e char a", "e unsigned char a",
		"e struct s a 4", "e struct char a 4", "e struct s[] a 4",
		"e u8 a; s64 b; short c",
	};

	for (int i = 0; i < ARRAY_SIZE(commands); i++) {
		for (u32 tail = 0; tail < 3; tail++) {
			struct ue_test_payload payload =
				ue_test_payload(test, commands[i], tail);

			KUNIT_EXPECT_EQ(test, ue_test_check(&payload), 0);
		}
	}
}

/* A text that fills its field, and what the kernel takes for one. */
static const char * const ue_test_texts[] = {
	"e char[4] f",
	"e unsigned char[4] f",
	"e char[1] f",
	"e struct char[ f 4",
	"e struct a[char f 4",
	"e u16 a; char[4] f; u8 b",
	"e char[2] a; u8 b; unsigned char[2] f; u16 c",
	"e __data_loc u8[] a; char[4] f",
	"e char[4] f; __rel_loc u8[] a",
};

/* A NUL behind the start of the last one ends it, and one before that does not. */
static void ue_text_here_test(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(ue_test_texts); i++) {
		struct ue_test_payload payload =
			ue_test_payload(test, ue_test_texts[i], 2);
		const struct ue_field *field = payload.format->fields;
		const struct ue_field *last = NULL;

		for (; field < payload.format->fields + payload.format->nr_fields;
		     field++) {
			if (field->place != UE_PLACE_HERE)
				ue_test_set_location(&payload, field->offset,
						     0x0101, 0x0101);
			if (!strcmp(ue_field_name(payload.format, field), "f"))
				last = field;
		}
		KUNIT_EXPECT_EQ_MSG(test, ue_test_check(&payload),
				    payload.format->nr_locations ? -EFAULT : 1,
				    "%s", ue_test_texts[i]);
		if (payload.format->nr_locations)
			continue;
		for (u32 at = 0; at < payload.size; at++) {
			payload.bytes[at] = '\0';
			KUNIT_EXPECT_EQ_MSG(test, ue_test_check(&payload),
					    at < last->offset, "%s, NUL at %u",
					    ue_test_texts[i], at);
			payload.bytes[at] = 'x';
		}
	}
}

/* One location of several is enough to refuse a payload, whichever it is. */
static void ue_several_locations_test(struct kunit *test)
{
	struct ue_test_payload payload =
		ue_test_payload(test,
				"e __rel_loc u8[] a; u32 b; __data_loc char[] c; __rel_loc char[] d",
				1);
	/* Where the last byte, a NUL, is, as each of them counts. */
	static const struct {
		u32 at;
		u32 offset;
	} locations[] = { { 0, 12 }, { 8, 24 }, { 12, 0 } };

	payload.bytes[16] = '\0';
	for (u32 bad = 0; bad < 8; bad++) {
		for (int i = 0; i < ARRAY_SIZE(locations); i++)
			ue_test_set_location(&payload, locations[i].at,
					     locations[i].offset,
					     bad & BIT(i) ? 2 : 1);
		KUNIT_EXPECT_EQ_MSG(test, ue_test_check(&payload),
				    bad ? -EFAULT : 0, "bad: %u", bad);
	}
}

static struct kunit_case ue_payload_cases[] = {
	KUNIT_CASE_PARAM(ue_boundaries_test, ue_test_location_gen_params),
	KUNIT_CASE_PARAM(ue_nul_test, ue_test_location_gen_params),
	KUNIT_CASE_PARAM(ue_extremes_test, ue_test_location_gen_params),
	KUNIT_CASE_PARAM(ue_large_payload_test, ue_test_location_gen_params),
	KUNIT_CASE_PARAM(ue_span_test, ue_test_location_gen_params),
	KUNIT_CASE(ue_no_location_test),
	KUNIT_CASE(ue_text_here_test),
	KUNIT_CASE(ue_several_locations_test),
	{ }
};

static struct kunit_suite ue_payload_suite = {
	.name = "user_events_payload",
	.test_cases = ue_payload_cases,
};

kunit_test_suite(ue_payload_suite);
