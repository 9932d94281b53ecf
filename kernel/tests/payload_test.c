// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check of payloads: locations around every boundary of a payload.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format/format.h"
#include "format/payload.h"

/* Bytes of a payload after the fixed fields. */
#define UE_TEST_TAIL	6

static const struct ue_test_location {
	const char *what;
	const char *command;
	u32 at;		/* offset of the location in the payload */
	s32 base;	/* offset that the location's offset is added to */
	bool text;
} ue_test_locations[] = {
	{ "data_loc, first", "e __data_loc char[] f", 0, -8, true },
	{ "data_loc, after a u8", "e u8 a; __data_loc char[] f", 1, -8, true },
	{ "data_loc, before a u64", "e __data_loc char[] f; u64 a", 0, -8,
	  true },
	{ "data_loc, unsigned", "e __data_loc unsigned char[] f", 0, -8, true },
	{ "data_loc, bytes", "e __data_loc u8[] f", 0, -8, false },
	{ "rel_loc, first", "e __rel_loc char[] f", 0, 4, true },
	{ "rel_loc, after a u8", "e u8 a; __rel_loc char[] f", 1, 5, true },
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
 * A payload without a NUL, in memory of its exact size, so that KASAN finds reads
 * past its end.
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

/*
 * Return: what ue_payload_check() is expected to return. For text that is empty,
 * or in the common fields, a NUL is expected at the end of the payload.
 * @last: offset of the last byte of the span, or of the byte before an empty one
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
	       (last + 1 == payload->size || payload->bytes[payload->size - 1]);
}

static void ue_test_boundaries(struct kunit *test,
			       struct ue_test_payload *payload)
{
	const struct ue_test_location *location = test->param_value;
	u32 reach = payload->size + UE_RECORD_HEADER + 2;

	for (u32 offset = 0; offset < reach; offset++) {
		for (u32 size = 0; size < reach; size++) {
			s64 last = (s64)location->base + offset + size - 1;

			ue_test_set_location(payload, location->at, offset,
					     size);
			KUNIT_EXPECT_EQ_MSG(test, ue_test_check(payload),
					    ue_test_expected(location, payload,
							     last, !size),
					    "offset %u, size %u", offset, size);
		}
	}
}

/*
 * Every offset and size in and shortly after the payload, whose last byte is not
 * NUL, and then is.
 */
static void ue_boundaries_test(struct kunit *test)
{
	const struct ue_test_location *location = test->param_value;
	struct ue_test_payload payload = ue_test_payload(test,
							 location->command,
							 UE_TEST_TAIL);

	ue_test_boundaries(test, &payload);
	payload.bytes[payload.size - 1] = '\0';
	ue_test_boundaries(test, &payload);
}

/* Text is accepted if its last byte is NUL; other NULs do not matter. */
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

/* The largest numbers that a location can contain. */
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

/* The largest offset and size, in a payload that is large enough for them. */
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

/* ue_field_span() finds fields and locations. */
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

		if (fields[i].storage == UE_STORED_INLINE) {
			KUNIT_EXPECT_EQ(test, span.start, fields[i].offset);
			KUNIT_EXPECT_EQ(test, span.size, fields[i].size);
		} else {
			KUNIT_EXPECT_EQ(test, span.start,
					location->base + 0x1234);
			KUNIT_EXPECT_EQ(test, span.size, 0xfedc);
		}
	}
}

/* Fields that are neither locations nor text may have any bytes. */
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

/* How many zeros let probes read eight bytes of each structure. */
static void ue_structure_test(struct kunit *test)
{
	static const struct {
		const char *command;
		u32 tail;
		int zeros;
	} cases[] = {
		{ "e struct s a 1", 0, 0 }, { "e struct s a 2", 0, 0 },
		{ "e struct s a 3", 0, 5 }, { "e struct s a 4", 0, 0 },
		{ "e struct s a 5", 0, 3 }, { "e struct s a 6", 0, 2 },
		{ "e struct s a 7", 0, 1 }, { "e struct s a 8", 0, 0 },
		{ "e struct s a 3", 4, 1 }, { "e struct s a 3", 5, 0 },
		{ "e struct s a 3; u8 b", 0, 4 },
		{ "e struct s a 3; struct s b 6", 0, 2 },
		{ "e struct s a 7; struct s b 4", 0, 0 },
	};

	for (int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ue_test_payload payload =
			ue_test_payload(test, cases[i].command, cases[i].tail);

		KUNIT_EXPECT_EQ_MSG(test, ue_test_check(&payload),
				    cases[i].zeros, "case %d", i);
	}
}

/* Fields that the kernel treats as inline text. */
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

/* Inline text needs a NUL, unless one is the last byte of "f" or the payload. */
static void ue_inline_text_test(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(ue_test_texts); i++) {
		struct ue_test_payload payload =
			ue_test_payload(test, ue_test_texts[i], 2);
		const struct ue_field *field = payload.format->fields;
		const struct ue_field *last = NULL;

		for (; field < payload.format->fields + payload.format->nr_fields;
		     field++) {
			if (field->storage != UE_STORED_INLINE)
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
			bool ends = at == last->offset + last->size - 1 ||
				    at == payload.size - 1;

			payload.bytes[at] = '\0';
			KUNIT_EXPECT_EQ_MSG(test, ue_test_check(&payload),
					    !ends, "%s, NUL at %u",
					    ue_test_texts[i], at);
			payload.bytes[at] = 'x';
		}
	}
}

/* A payload is refused if any of its locations is bad. */
static void ue_several_locations_test(struct kunit *test)
{
	struct ue_test_payload payload =
		ue_test_payload(test,
				"e __rel_loc u8[] a; u32 b; __data_loc char[] c; __rel_loc char[] d",
				1);
	/*
	 * @at: where the location is; @offset: the one that it contains to end with the last
	 * byte, a NUL.
	 */
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
	KUNIT_CASE(ue_structure_test),
	KUNIT_CASE(ue_inline_text_test),
	KUNIT_CASE(ue_several_locations_test),
	{ }
};

static struct kunit_suite ue_payload_suite = {
	.name = "user_events_payload",
	.test_cases = ue_payload_cases,
};

kunit_test_suite(ue_payload_suite);
