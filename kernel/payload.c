// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks a payload against its format, once, before any recorder sees it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "format.h"
#include "payload.h"

static __always_inline struct ue_span ue_located(const struct ue_field *field,
						 const void *payload)
{
	struct ue_span span;
	u32 location;

	memcpy(&location, payload + field->offset, sizeof(location));
	span.size = location >> 16;
	span.start = location & 0xffff;
	if (field->place == UE_PLACE_DATA_LOC)
		span.start -= UE_RECORD_HEADER;
	else
		span.start += field->offset + sizeof(location);
	return span;
}

struct ue_span ue_field_span(const struct ue_field *field,
			     const void *payload)
{
	if (field->place != UE_PLACE_HERE)
		return ue_located(field, payload);
	return (struct ue_span){ field->offset, field->size };
}

/* No NUL from there to the end: who looks for one would go on behind that. */
static bool ue_runs_on(s64 start, const char *payload, size_t size)
{
	return !memchr(payload + start, '\0', size - start);
}

/*
 * Text that has no bytes, or all of them in the common fields, which are the
 * kernel's and not the program's: they pass. Of an empty span the byte before it is
 * looked at. Filters, histograms and event probes read such text up to a NUL.
 */
static int ue_check_no_text(struct ue_span span, const char *payload,
			    size_t size)
{
	if (span.start > 0 && !span.size && payload[span.start - 1])
		return -EFAULT;
	return ue_runs_on(max_t(s64, span.start, 0), payload, size);
}

/* Return: 0; -EFAULT; 1 for text that has no bytes to be looked at. */
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

/* The last text that lies here: a NUL that ends it ends those before it. */
static int ue_check_text_here(const struct ue_format *format,
			      const void *payload, size_t size)
{
	const struct ue_field *last = &format->fields[format->last_text - 1];

	return ue_runs_on(last->offset, payload, size);
}

/* All, and what is rare among it. */
static noinline int ue_check_everything(const struct ue_format *format,
					const void *payload, size_t size)
{
	const struct ue_field *field = format->fields;
	unsigned int left = format->nr_locations;
	int more = 0, result;

	if (format->last_text)
		more = ue_check_text_here(format, payload, size);
	for (; left; field++) {
		struct ue_span span;

		if (field->place == UE_PLACE_HERE)
			continue;
		span = ue_located(field, payload);
		result = ue_check_span(field, span, payload, size);
		if (result > 0)
			result = ue_check_no_text(span, payload, size);
		if (result < 0)
			return result;
		more |= result;
		left--;
	}
	return more;
}

/* Calls nothing where nothing is rare. */
int ue_payload_check_fields(const struct ue_format *format,
			    const void *payload, size_t size)
{
	const struct ue_field *field = format->fields;
	unsigned int left = format->nr_locations;
	int result;

	if (unlikely(format->last_text))
		return ue_check_everything(format, payload, size);
	/* What stands behind the last location is no matter. */
	do {
		while (field->place == UE_PLACE_HERE)
			field++;
		result = ue_check_span(field, ue_located(field, payload),
				       payload, size);
		if (unlikely(result > 0))
			return ue_check_everything(format, payload, size);
		if (result)
			return result;
		field++;
	} while (--left);
	return 0;
}
