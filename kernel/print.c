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

/*
 * Characters of a line, from the event's name on. With what the kernel puts before
 * them they have to fit a page: who splices trace_pipe never gets past a line that
 * does not.
 */
#define UE_LINE_MAX	3072

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

/**
 * struct ue_line - a line that is being printed
 * @seq: where to
 * @end: how much @seq is to have then at most, less what stands for the rest
 */
struct ue_line {
	struct trace_seq *seq;
	size_t end;
};

/* One more than there is, so that what does not fit gets past the end. */
static size_t ue_line_room(const struct ue_line *line)
{
	size_t length = line->seq->seq.len;

	return length <= line->end ? line->end + 1 - length : 0;
}

/* Up to a NUL or @size. */
static void ue_print_text(const struct ue_line *line, const char *text,
			  size_t size)
{
	trace_seq_printf(line->seq, "%.*s",
			 (int)min(size, ue_line_room(line)), text);
}

static void ue_print_hex(const struct ue_line *line, const u8 *bytes, u32 size)
{
	for (u32 at = 0; at < size && ue_line_room(line); at += UE_HEX_CHUNK)
		trace_seq_printf(line->seq, "%*phN",
				 (int)min_t(u32, size - at, UE_HEX_CHUNK),
				 bytes + at);
}

static void ue_print_bytes(const struct ue_line *line,
			   const struct ue_field *field, const void *at,
			   u32 size)
{
	switch (field->kind) {
	case UE_KIND_SIGNED:
		trace_seq_printf(line->seq, "%lld", ue_read_signed(at, size));
		break;
	case UE_KIND_UNSIGNED:
		trace_seq_printf(line->seq, "%llu", ue_read_unsigned(at, size));
		break;
	case UE_KIND_STRING:
		ue_print_text(line, at, size);
		break;
	case UE_KIND_BYTES:
		ue_print_hex(line, at, size);
		break;
	}
}

static void ue_print_field(const struct ue_line *line,
			   const struct ue_field *field, const void *payload,
			   u32 size)
{
	struct ue_span span;

	if (field->offset + field->size > size) {
		trace_seq_puts(line->seq, "(cut off)");
		return;
	}
	span = ue_field_span(field, payload);
	/* A location may say what nobody has written. */
	if (span.start < 0 || span.start + span.size > size) {
		if (span.size)
			trace_seq_puts(line->seq, "(outside)");
		return;
	}
	ue_print_bytes(line, field, payload + span.start, span.size);
}

static void ue_print_line(const struct ue_line *line,
			  const struct ue_event *event, const void *payload,
			  u32 size)
{
	const struct ue_format *format = event->format;

	ue_print_text(line, ue_event_name(event), SIZE_MAX);
	trace_seq_putc(line->seq, ':');
	for (int i = 0; i < format->nr_fields && ue_line_room(line); i++) {
		const struct ue_field *field = &format->fields[i];

		trace_seq_putc(line->seq, ' ');
		ue_print_text(line, ue_field_name(format, field), SIZE_MAX);
		trace_seq_putc(line->seq, '=');
		ue_print_field(line, field, payload, size);
	}
}

/* What is past the end goes, and it is seen that something has gone. */
static void ue_end_line(const struct ue_line *line)
{
	if (!ue_line_room(line)) {
		line->seq->seq.len = line->end;
		trace_seq_puts(line->seq, "...");
	}
	trace_seq_putc(line->seq, '\n');
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
	const void *payload = (void *)iter->ent + UE_RECORD_HEADER;
	const struct ue_line line = {
		.seq = &iter->seq,
		.end = iter->seq.seq.len + UE_LINE_MAX,
	};

	ue_print_line(&line, event, payload,
		      ue_payload_size(iter, event->format));
	ue_end_line(&line);
	return trace_handle_return(&iter->seq);
}

struct trace_event_functions ue_print_functions = {
	.trace = ue_print,
};
