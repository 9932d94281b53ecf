// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks a payload against its format, once, before it is recorded.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "format/format.h"
#include "format/payload.h"

static __always_inline struct ue_span
ue_location_span(const struct ue_field *field, const void *payload)
{
	struct ue_span span;
	u32 location;

	memcpy(&location, payload + field->offset, sizeof(location));
	span.size = location >> 16;
	span.start = location & 0xffff;
	if (field->storage == UE_STORED_DATA_LOC)
		span.start -= UE_RECORD_HEADER;
	else
		span.start += field->offset + sizeof(location);
	return span;
}

struct ue_span ue_field_span(const struct ue_field *field, const void *payload)
{
	if (field->storage != UE_STORED_INLINE)
		return ue_location_span(field, payload);
	return (struct ue_span){ field->offset, field->size };
}

/*
 * Filters, histograms and event probes read some text up to the next NUL, beyond
 * its size: inline text, text of size 0, and text whose location points into the
 * common fields (the kernel fills those in after this check). A NUL as the last
 * byte of the payload ends all of these, except text of size 0 that begins at the
 * end of the payload. A NUL as the last byte of the last inline text ends all inline
 * texts.
 */
static bool ue_inline_text_needs_nul(const struct ue_format *format,
				     const char *payload, size_t size)
{
	const struct ue_field *last = &format->fields[format->last_text - 1];

	return payload[last->offset + last->size - 1] && payload[size - 1];
}

/* Return: as ue_payload_check(), for the text of one location. */
static __always_inline int ue_check_text(struct ue_span span,
					 const char *payload, size_t size)
{
	s64 end = span.start + span.size;

	/* If the span is empty, the ABI requires that this byte is NUL, too. */
	if (end > 0 && payload[end - 1])
		return -EFAULT;
	if (likely(end > 0 && span.size))
		return 0;
	return span.start == size || payload[size - 1];
}

/* Return: how many zeros let tracing read each structure as eight bytes. */
static int ue_structures_need(const struct ue_format *format, size_t size)
{
	const size_t readable = format->size + format->read_beyond;

	return size < readable ? readable - size : 0;
}

int ue_payload_check_fields(const struct ue_format *format,
			    const void *payload, size_t size)
{
	const struct ue_field *field = format->fields;
	unsigned int left = format->nr_locations;
	int zeros = 0, result;

	if (format->last_text)
		zeros = ue_inline_text_needs_nul(format, payload, size);
	/* Fields after the last location need no check. */
	for (; left; field++) {
		struct ue_span span;

		if (field->storage == UE_STORED_INLINE)
			continue;
		left--;
		span = ue_location_span(field, payload);
		if (span.start + span.size > (s64)size)
			return -EFAULT;
		if (field->kind != UE_KIND_LOCATED_TEXT)
			continue;
		result = ue_check_text(span, payload, size);
		if (result < 0)
			return result;
		zeros |= result;
	}
	if (likely(!format->read_beyond))
		return zeros;
	return max(zeros, ue_structures_need(format, size));
}
