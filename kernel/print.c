// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints a record in the words of its print format. A record is not trusted:
 * its buffer may be mapped, or older than the event that has its number now.
 */
#include <linux/trace_events.h>
#include <linux/trace_seq.h>

#include "compat.h"
#include "event.h"
#include "format.h"
#include "payload.h"
#include "print.h"

#define UE_HEX_CHUNK	16

static u64 ue_read_unsigned(const void *at, u32 size)
{
	switch (size) {
	case 1:
		return *(const u8 *)at;
	case 2:
		return get_unaligned((const u16 *)at);
	case 4:
		return get_unaligned((const u32 *)at);
	default:
		return get_unaligned((const u64 *)at);
	}
}

static s64 ue_read_signed(const void *at, u32 size)
{
	return sign_extend64(ue_read_unsigned(at, size), size * 8 - 1);
}

static void ue_print_hex(struct trace_seq *seq, const u8 *bytes, u32 size)
{
	for (u32 at = 0; at < size; at += UE_HEX_CHUNK)
		trace_seq_printf(seq, "%*phN",
				 (int)min_t(u32, size - at, UE_HEX_CHUNK),
				 bytes + at);
}

static void ue_print_bytes(struct trace_seq *seq, const struct ue_field *field,
			   const void *at, u32 size)
{
	switch (field->kind) {
	case UE_KIND_SIGNED:
		trace_seq_printf(seq, "%lld", ue_read_signed(at, size));
		break;
	case UE_KIND_UNSIGNED:
		trace_seq_printf(seq, "%llu", ue_read_unsigned(at, size));
		break;
	case UE_KIND_STRING:
		trace_seq_printf(seq, "%.*s", (int)size, (const char *)at);
		break;
	case UE_KIND_BYTES:
		ue_print_hex(seq, at, size);
		break;
	}
}

static void ue_print_field(struct trace_seq *seq, const struct ue_field *field,
			   const void *payload, u32 size)
{
	struct ue_span span;

	if (field->offset + field->size > size) {
		trace_seq_puts(seq, "(cut off)");
		return;
	}
	span = ue_field_span(field, payload);
	/* A location may say what nobody has written. */
	if (span.start < 0 || span.start + span.size > size) {
		if (span.size)
			trace_seq_puts(seq, "(outside)");
		return;
	}
	ue_print_bytes(seq, field, payload + span.start, span.size);
}

/* tp_printk prints a record that has just been written, and gives no size. */
static u32 ue_payload_size(const struct trace_iterator *iter,
			   const struct ue_format *format)
{
	if (!iter->ent_size)
		return format->size;
	return max(iter->ent_size, UE_RECORD_HEADER) - UE_RECORD_HEADER;
}

static enum print_line_t ue_print(struct trace_iterator *iter, int flags,
				  struct trace_event *trace_event)
{
	struct ue_event *event = container_of(trace_event, struct ue_event,
					      call.event);
	const struct ue_format *format = event->format;
	const void *payload = (void *)iter->ent + UE_RECORD_HEADER;
	u32 size = ue_payload_size(iter, format);
	struct trace_seq *seq = &iter->seq;

	trace_seq_printf(seq, "%s:", ue_event_name(event));
	for (int i = 0; i < format->nr_fields; i++) {
		const struct ue_field *field = &format->fields[i];

		trace_seq_printf(seq, " %s=", ue_field_name(format, field));
		ue_print_field(seq, field, payload, size);
	}
	trace_seq_putc(seq, '\n');
	return trace_handle_return(seq);
}

struct trace_event_functions ue_print_functions = {
	.trace = ue_print,
};
