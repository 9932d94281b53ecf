// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks a payload against its format, once, before any recorder sees it.
 */
#include <linux/errno.h>
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

/*
 * Text ends with a NUL. Of an empty span the byte before it is looked at. The
 * common fields are the kernel's and not the program's: they pass.
 */
static bool ue_text_ends(struct ue_span span, const char *payload)
{
	s64 last = span.start + span.size - 1;

	return last < 0 || !payload[last];
}

/*
 * What is to be text and has no bytes is read up to a NUL all the same, by
 * filters and histograms. The common fields have one in their last byte.
 */
static bool ue_text_runs_on(struct ue_span span, const char *payload,
			    size_t size)
{
	return !span.size && span.start >= 0 &&
	       !memchr(payload + span.start, '\0', size - span.start);
}

static __always_inline int ue_check_location(const struct ue_field *field,
					     const void *payload, size_t size)
{
	struct ue_span span = ue_located(field, payload);

	if (span.start + span.size > (s64)size)
		return -EFAULT;
	if (field->kind != UE_KIND_STRING)
		return 0;
	if (!ue_text_ends(span, payload))
		return -EFAULT;
	return ue_text_runs_on(span, payload, size);
}

int ue_payload_check_locations(const struct ue_format *format,
			       const void *payload, size_t size)
{
	const struct ue_field *field = format->fields;
	unsigned int left = format->nr_locations;
	int more = 0, result;

	/* What stands behind the last location is no matter. */
	do {
		while (field->place == UE_PLACE_HERE)
			field++;
		result = ue_check_location(field++, payload, size);
		if (result < 0)
			return result;
		more |= result;
	} while (--left);
	return more;
}
