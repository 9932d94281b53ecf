/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command format: "name[ type field[;type field]...]". Pure: knows
 * no locks, no tracing and no memory of others.
 */
#ifndef UE_FORMAT_H
#define UE_FORMAT_H

#include <linux/types.h>

/* The longest command, in bytes without its NUL. */
#define UE_COMMAND_MAX		511

/* Where the bytes of a field are. */
enum ue_field_place {
	UE_PLACE_HERE,		/* in the field itself */
	UE_PLACE_DATA_LOC,	/* behind an offset from the record's start */
	UE_PLACE_REL_LOC,	/* behind an offset from the field's end */
};

/* How the bytes of a field read. */
enum ue_field_kind {
	UE_KIND_SIGNED,		/* an integer of 1, 2, 4 or 8 bytes */
	UE_KIND_UNSIGNED,
	UE_KIND_STRING,		/* text up to a NUL or the end */
	UE_KIND_BYTES,		/* bytes without a meaning of their own */
};

/**
 * struct ue_field - one field of a payload
 * @offset: from the start of the payload, bytes
 * @size: of the field itself, bytes
 * @type: where its text is, see ue_field_type()
 * @name: where its text is, see ue_field_name()
 * @length: elements of a char array, else 0
 * @place: where the bytes are
 * @kind: how they read
 */
struct ue_field {
	u32 offset;
	u32 size;
	u16 type;
	u16 name;
	u16 length;
	u8 place;
	u8 kind;
};

/**
 * struct ue_format - a parsed command; constant once parsed
 * @size: of a payload's fixed part, bytes
 * @nr_fields: how many fields
 * @nr_locations: fields with a @place other than UE_PLACE_HERE
 * @name: of the event, see ue_format_name()
 * @bytes: of memory that it takes
 * @last_text: the number, from 1 on, of the last field that is text itself and may
 *	fill all of its bytes; 0 for none
 * @checked: whether there is something in a payload that is to be checked
 * @fields: in the order of the command
 *
 * Names and types are text that stands behind @fields, as so many bytes from the
 * start: a copy of all the bytes is the same format.
 */
struct ue_format {
	u32 size;
	u16 nr_fields;
	u16 nr_locations;
	u16 name;
	u16 bytes;
	u16 last_text;
	bool checked;
	struct ue_field fields[];
};

/* ue_format_name() - the name of the event. */
static inline const char *ue_format_name(const struct ue_format *format)
{
	return (const char *)format + format->name;
}

/* ue_field_type() - as registered, its words with one space between. */
static inline const char *ue_field_type(const struct ue_format *format,
					const struct ue_field *field)
{
	return (const char *)format + field->type;
}

/* ue_field_name() - as registered. */
static inline const char *ue_field_name(const struct ue_format *format,
					const struct ue_field *field)
{
	return (const char *)format + field->name;
}

/* ue_field_is_signed() - what the format file says of it. */
static inline bool ue_field_is_signed(const struct ue_format *format,
				      const struct ue_field *field)
{
	return *ue_field_type(format, field) != 'u';
}

/**
 * ue_format_parse() - read a command
 * @command: NUL-terminated
 * @format: set to the format; the caller frees it with kfree()
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for a command that is not well-formed, or of more than some
 * 7,000 bytes, which not even a line of dynamic_events has; -ENOMEM.
 */
int ue_format_parse(const char *command, struct ue_format **format);

/**
 * ue_command_has_flags() - has the name text flags, "name:flag"?
 * @command: NUL-terminated
 *
 * There are no such flags, and ue_format_parse() refuses them as well.
 */
bool ue_command_has_flags(const char *command);

/**
 * ue_command_name() - the name that a command begins with
 * @command: NUL-terminated
 *
 * Context: may sleep.
 * Return: the name, valid or not, to be freed with kfree(); NULL without
 * memory.
 */
char *ue_command_name(const char *command);

/**
 * ue_format_equal() - have two formats the same fields?
 * @a: one
 * @b: the other
 *
 * Names of events are not compared, and fields by what they are, not by how
 * the text was spaced.
 */
bool ue_format_equal(const struct ue_format *a, const struct ue_format *b);

/**
 * ue_format_print_fmt() - the print format that tools read
 * @format: the format
 *
 * In the names of fields, '_' stands for each ASCII character but letters, digits
 * and "_.:-".
 *
 * Context: may sleep.
 * Return: the text as tracing's files show it, to be freed with kfree(); NULL
 * without memory.
 */
char *ue_format_print_fmt(const struct ue_format *format);

/**
 * ue_format_text() - the canonical text, "name type field; type field"
 * @format: the format
 *
 * Context: may sleep.
 * Return: the text, to be freed with kfree(); NULL without memory.
 */
char *ue_format_text(const struct ue_format *format);

#endif /* UE_FORMAT_H */
