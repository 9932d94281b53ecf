// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks a payload against its format, once, before any recorder sees it.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "format.h"
#include "payload.h"

struct ue_span ue_field_span(const struct ue_field *field,
			     const void *payload)
{
	struct ue_span span = { field->offset, field->size };
	u32 location;

	if (field->place == UE_PLACE_HERE)
		return span;

	memcpy(&location, payload + field->offset, sizeof(location));
	span.size = location >> 16;
	span.start = location & 0xffff;
	if (field->place == UE_PLACE_DATA_LOC)
		span.start -= UE_RECORD_HEADER;
	else
		span.start += field->offset + field->size;
	return span;
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

static int ue_check_location(const struct ue_field *field,
			     const void *payload, size_t size)
{
	struct ue_span span = ue_field_span(field, payload);

	if (span.start + span.size > (s64)size)
		return -EFAULT;
	if (field->kind == UE_KIND_STRING && !ue_text_ends(span, payload))
		return -EFAULT;
	return 0;
}

int ue_payload_check(const struct ue_format *format, const void *payload,
		     size_t size)
{
	int err = 0;

	if (likely(!format->nr_locations))
		return 0;

	for (int i = 0; !err && i < format->nr_fields; i++) {
		if (format->fields[i].place != UE_PLACE_HERE)
			err = ue_check_location(&format->fields[i], payload,
						size);
	}
	return err;
}
