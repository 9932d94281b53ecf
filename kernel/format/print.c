// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints a record. The bytes of a record are not trusted: the record may be older
 * than the event that has its type number now.
 */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/trace_events.h>
#include <linux/trace_seq.h>

#include "format/format.h"
#include "format/payload.h"
#include "format/print.h"
#include "port/compat.h"

#define UE_HEX_CHUNK	16

/*
 * Maximum length of a line, from the event's name on. With the kernel's
 * text before it, it must fit into a page: a task that splices trace_pipe
 * can't get past a longer line.
 */
#define UE_LINE_MAX	3072

static bool ue_intree_text;
module_param_named(intree_text, ue_intree_text, bool, 0444);
MODULE_PARM_DESC(intree_text, "trace shows records as Linux's own user_events does (off)");

/**
 * struct ue_line - a line that is being printed
 * @seq: where the line is printed
 * @end: length of @seq at which the line is cut off and "..." follows
 */
struct ue_line {
	struct trace_seq *seq;
	size_t end;
};

/*
 * Return: how many bytes to print at most; 0 once the line is too long. This is
 * one more than fits, so that a full line differs from one that is too long.
 */
static size_t ue_line_remaining(const struct ue_line *line)
{
	size_t length = line->seq->seq.len;

	return length <= line->end ? line->end + 1 - length : 0;
}

/* Prints @text up to a NUL, at most @size bytes. */
static void ue_print_text(const struct ue_line *line, const char *text,
			  size_t size)
{
	trace_seq_printf(line->seq, "%.*s",
			 (int)min(size, ue_line_remaining(line)), text);
}

static void ue_print_hex(const struct ue_line *line, const u8 *bytes, u32 size)
{
	for (u32 at = 0; at < size && ue_line_remaining(line); at += UE_HEX_CHUNK)
		trace_seq_printf(line->seq, "%*phN",
				 (int)min_t(u32, size - at, UE_HEX_CHUNK),
				 bytes + at);
}

static void ue_print_integer(const struct ue_line *line,
			     const struct ue_kind *kind, u64 value)
{
	if (kind->is_signed)
		trace_seq_printf(line->seq, "%lld",
				 sign_extend64(value, kind->size * 8 - 1));
	else
		trace_seq_printf(line->seq, "%llu", value);
}

static void ue_print_bytes(const struct ue_line *line,
			   const struct ue_field *field, const void *at,
			   u32 size)
{
	const struct ue_kind *kind = &ue_kinds[field->kind];

	/* No default: the compiler reports a kind that has no case. */
	switch ((enum ue_field_kind)field->kind) {
	case UE_KIND_S64:
	case UE_KIND_U64:
		ue_print_integer(line, kind, get_unaligned((const u64 *)at));
		break;
	case UE_KIND_S32:
	case UE_KIND_U32:
		ue_print_integer(line, kind, get_unaligned((const u32 *)at));
		break;
	case UE_KIND_S16:
	case UE_KIND_U16:
		ue_print_integer(line, kind, get_unaligned((const u16 *)at));
		break;
	case UE_KIND_S8:
	case UE_KIND_U8:
		ue_print_integer(line, kind, *(const u8 *)at);
		break;
	case UE_KIND_CHAR_ARRAY:
	case UE_KIND_LOCATED_TEXT:
		ue_print_text(line, at, size);
		break;
	case UE_KIND_BYTE_ARRAY:
	case UE_KIND_STRUCT:
	case UE_KIND_LOCATED_BYTES:
		ue_print_hex(line, at, size);
		break;
	}
}

static void ue_print_both(const struct ue_line *line, u64 natural, s64 integer)
{
	trace_seq_printf(line->seq, "0x%llx (%lld)", natural, integer);
}

/* As the kernel prints fields without a print format: by their size. */
static void ue_print_as_in_tree(const struct ue_line *line,
				const struct ue_field *field, const u8 *at,
				u32 size)
{
	u64 number;

	if (field->kind == UE_KIND_LOCATED_BYTES) {
		for (u32 i = 0; i < size && ue_line_remaining(line); i++)
			trace_seq_printf(line->seq, i ? ",%02x" : "%02x", at[i]);
		return;
	}
	switch (size) {
	case 1:
		if (isprint(*at))
			trace_seq_printf(line->seq, "'%c'", *at);
		trace_seq_printf(line->seq, "(%d)", *at);
		break;
	case 2:
		number = get_unaligned((const u16 *)at);
		ue_print_both(line, number, number);
		break;
	case 4:
		number = get_unaligned((const u32 *)at);
		ue_print_both(line, number, (s32)number);
		break;
	case 8:
		number = get_unaligned((const u64 *)at);
		ue_print_both(line, number, number);
		break;
	default:
		trace_seq_puts(line->seq, "<INVALID-SIZE>");
	}
}

static bool ue_is_text(const struct ue_field *field)
{
	return field->kind == UE_KIND_CHAR_ARRAY ||
	       field->kind == UE_KIND_LOCATED_TEXT;
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
	/* The location may lie outside of the payload. */
	if (span.start < 0 || span.start + span.size > size) {
		if (span.size)
			trace_seq_puts(line->seq, "(outside)");
		return;
	}
	if (ue_intree_text && !ue_is_text(field))
		ue_print_as_in_tree(line, field, payload + span.start, span.size);
	else
		ue_print_bytes(line, field, payload + span.start, span.size);
}

static void ue_print_line(const struct ue_line *line,
			  const char *name, const struct ue_format *format,
			  const void *payload, u32 size)
{
	ue_print_text(line, name, SIZE_MAX);
	trace_seq_putc(line->seq, ':');
	for (int i = 0; i < format->nr_fields && ue_line_remaining(line); i++) {
		const struct ue_field *field = &format->fields[i];

		trace_seq_putc(line->seq, ' ');
		ue_print_text(line, ue_field_name(format, field), SIZE_MAX);
		trace_seq_putc(line->seq, '=');
		ue_print_field(line, field, payload, size);
	}
}

/* Cuts off a line that is too long, and marks it with "...". */
static void ue_end_line(const struct ue_line *line)
{
	if (!ue_line_remaining(line)) {
		line->seq->seq.len = line->end;
		trace_seq_puts(line->seq, "...");
	}
	trace_seq_putc(line->seq, '\n');
}

/* For tp_printk, which prints each record as it is written, the size is 0. */
static u32 ue_payload_size(const struct trace_iterator *iter,
			   const struct ue_format *format)
{
	if (!iter->ent_size)
		return format->size;
	return max(iter->ent_size, UE_RECORD_HEADER) - UE_RECORD_HEADER;
}

enum print_line_t ue_print_record(struct trace_iterator *iter, const char *name,
				  const struct ue_format *format)
{
	const void *payload = (void *)iter->ent + UE_RECORD_HEADER;
	const struct ue_line line = {
		.seq = &iter->seq,
		.end = iter->seq.seq.len + UE_LINE_MAX,
	};

	ue_print_line(&line, name, format, payload,
		      ue_payload_size(iter, format));
	ue_end_line(&line);
	return trace_handle_return(&iter->seq);
}
