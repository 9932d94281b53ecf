// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks a payload against its format, once, before it is recorded.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "format.h"
#include "payload.h"

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

/* No NUL from @start on: a reader of text would read past the payload's end. */
static bool ue_lacks_nul(s64 start, const char *payload, size_t size)
{
	return !memchr(payload + start, '\0', size - start);
}

/*
 * Checks text that is empty, or that lies in the common fields, which the
 * kernel writes. Filters, histograms and event probes read such text up to a
 * NUL. The byte before an empty span must be NUL, as the ABI requires.
 * Return: 0; -EFAULT; 1 if there is no NUL up to the payload's end.
 */
static int ue_check_empty_text(struct ue_span span, const char *payload,
			       size_t size)
{
	if (span.start > 0 && !span.size && payload[span.start - 1])
		return -EFAULT;
	return ue_lacks_nul(max_t(s64, span.start, 0), payload, size);
}

/* Return: 0; -EFAULT; 1 for text that ue_check_empty_text() has to check. */
static __always_inline int ue_check_span(const struct ue_field *field,
					 struct ue_span span,
					 const char *payload, size_t size)
{
	s64 end = span.start + span.size;

	if (end > (s64)size)
		return -EFAULT;
	if (field->kind != UE_KIND_STRING)
		return 0;
	if (unlikely(end <= 0 || !span.size))
		return 1;
	return payload[end - 1] ? -EFAULT : 0;
}

/*
 * Looks for a NUL from the start of the last inline text on: it terminates all
 * inline texts before it as well. Return: 0, or 1 if there is none.
 */
static int ue_check_inline_text(const struct ue_format *format,
				const void *payload, size_t size)
{
	const struct ue_field *last = &format->fields[format->last_text - 1];

	return ue_lacks_nul(last->offset, payload, size);
}

/* Checks all fields, including rare cases. */
static noinline int ue_check_slowly(const struct ue_format *format,
				    const void *payload, size_t size)
{
	const struct ue_field *field = format->fields;
	unsigned int left = format->nr_locations;
	int needs_nul = 0, result;

	if (format->last_text)
		needs_nul = ue_check_inline_text(format, payload, size);
	for (; left; field++) {
		struct ue_span span;

		if (field->storage == UE_STORED_INLINE)
			continue;
		span = ue_location_span(field, payload);
		result = ue_check_span(field, span, payload, size);
		if (result > 0)
			result = ue_check_empty_text(span, payload, size);
		if (result < 0)
			return result;
		needs_nul |= result;
		left--;
	}
	return needs_nul;
}

/* Calls no function in the usual case. */
int ue_payload_check_fields(const struct ue_format *format,
			    const void *payload, size_t size)
{
	const struct ue_field *field = format->fields;
	unsigned int left = format->nr_locations;
	int result;

	if (unlikely(format->last_text))
		return ue_check_slowly(format, payload, size);
	/* Fields after the last location need no check. */
	do {
		while (field->storage == UE_STORED_INLINE)
			field++;
		result = ue_check_span(field, ue_location_span(field, payload),
				       payload, size);
		if (unlikely(result > 0))
			return ue_check_slowly(format, payload, size);
		if (result)
			return result;
		field++;
	} while (--left);
	return 0;
}
