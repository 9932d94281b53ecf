/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The format of an event, parsed from a command:
 * "name[ field[;field]...]", where a field is a type and a name. Pure: takes no
 * locks and uses no function of tracing.
 */
#ifndef UE_FORMAT_H
#define UE_FORMAT_H

#include <linux/sizes.h>
#include <linux/types.h>

/*
 * Maximum length of a command, in bytes without its NUL. Also in the library's abi.h,
 * problem.hpp and dynamic_event.hpp, and in the tool's data_file.cpp.
 */
#define UE_COMMAND_MAX		511

/* Size of the common fields of a record, before the payload, in bytes. */
#define UE_RECORD_HEADER	8

/* No recorder holds a larger record: an ftrace sub-buffer has at most 1 MiB. */
#define UE_RECORD_LIMIT		SZ_1M

/*
 * How many bytes event probes read of a structure whose size is not 1, 2 or 4 bytes, even if it is
 * smaller.
 */
#define UE_READ_SIZE		8

/**
 * enum ue_field_storage - where the bytes of a field are
 * @UE_STORED_INLINE: in the field itself
 * @UE_STORED_DATA_LOC: at an offset from the start of the record
 * @UE_STORED_REL_LOC: at an offset from the end of the field
 */
enum ue_field_storage {
	UE_STORED_INLINE,
	UE_STORED_DATA_LOC,
	UE_STORED_REL_LOC,
};

/**
 * enum ue_field_kind - what the bytes of a field are
 * @UE_KIND_CHAR_ARRAY: text up to a NUL or the end of the array
 * @UE_KIND_BYTE_ARRAY: bytes of unknown meaning
 * @UE_KIND_S64: a signed integer of 64 bits
 * @UE_KIND_U64: an unsigned integer of 64 bits
 * @UE_KIND_S32: a signed integer of 32 bits
 * @UE_KIND_U32: an unsigned integer of 32 bits
 * @UE_KIND_S16: a signed integer of 16 bits
 * @UE_KIND_U16: an unsigned integer of 16 bits
 * @UE_KIND_S8: a signed integer of 8 bits
 * @UE_KIND_U8: an unsigned integer of 8 bits
 * @UE_KIND_STRUCT: bytes of unknown meaning, of which tracing reads some as an
 *	integer
 * @UE_KIND_LOCATED_TEXT: the location of text up to a NUL or its end
 * @UE_KIND_LOCATED_BYTES: the location of bytes of unknown meaning
 *
 * The facts about each kind are in ue_kinds; print.c has how it is printed.
 */
enum ue_field_kind {
	UE_KIND_CHAR_ARRAY,
	UE_KIND_BYTE_ARRAY,
	UE_KIND_S64,
	UE_KIND_U64,
	UE_KIND_S32,
	UE_KIND_U32,
	UE_KIND_S16,
	UE_KIND_U16,
	UE_KIND_S8,
	UE_KIND_U8,
	UE_KIND_STRUCT,
	UE_KIND_LOCATED_TEXT,
	UE_KIND_LOCATED_BYTES,
};

/**
 * struct ue_kind - what all fields of a kind have in common
 * @names: the types, as a command has them; of an array, the text before its
 *	length. None for a structure or a location: another word (struct,
 *	__rel_loc) begins the type.
 * @size: of the field itself, bytes; 0 if the command has the size
 * @is_signed: "signed" as the format file shows it; filters and histograms
 *	compare and print the field as such an integer of @size bytes
 * @conversion: the conversion specifier in the print format
 */
struct ue_kind {
	const char *names[2];
	u8 size;
	bool is_signed;
	const char *conversion;
};

/* By enum ue_field_kind. */
extern const struct ue_kind ue_kinds[];

/**
 * struct ue_field - one field of a payload
 * @offset: from the start of the payload, bytes
 * @size: of the field itself, bytes; 4 for a location
 * @type: offset of the type's text in the format, see ue_field_type()
 * @name: offset of the name's text in the format, see ue_field_name()
 * @length: number of elements of an array (char or unsigned char), else 0
 * @storage: where the bytes are, of enum ue_field_storage
 * @kind: what the bytes are, of enum ue_field_kind
 */
struct ue_field {
	u32 offset;
	u32 size;
	u16 type;
	u16 name;
	u16 length;
	u8 storage;
	u8 kind;
};

/**
 * struct ue_format - a parsed command; constant once parsed
 * @size: of the fixed part of a payload, bytes
 * @nr_fields: number of fields
 * @nr_locations: number of fields that are locations
 * @name: offset of the event's name in the format, see ue_format_name()
 * @bytes: size of the format with all its texts, bytes
 * @last_text: number, from 1 on, of the last field with inline text, which may
 *	lack a NUL; 0 for none
 * @needs_check: some field of a payload has to be checked
 * @read_beyond: how many bytes after the fixed part tracing may read as part of a
 *	structure
 * @fields: in the order of the command
 *
 * The texts of names and types are after @fields, at offsets from the start of
 * the format. So a copy of @bytes bytes is the same format. Equal formats have
 * equal bytes, because the texts have no gaps, and unused bytes are zero.
 */
struct ue_format {
	u32 size;
	u16 nr_fields;
	u16 nr_locations;
	u16 name;
	u16 bytes;
	u16 last_text;
	bool needs_check;
	u8 read_beyond;
	struct ue_field fields[];
};

/**
 * ue_format_name() - get the name of the event
 * @format: the format
 *
 * Context: any.
 * Return: the name, which is part of the format.
 */
static inline const char *ue_format_name(const struct ue_format *format)
{
	return (const char *)format + format->name;
}

/**
 * ue_format_name_length() - get the length of the event's name
 * @format: the format
 *
 * The name is the first text; the type of the first field follows it.
 *
 * Context: any.
 * Return: bytes without the NUL.
 */
static inline size_t ue_format_name_length(const struct ue_format *format)
{
	size_t end = format->nr_fields ? format->fields[0].type : format->bytes;

	return end - format->name - 1;
}

/**
 * ue_field_type() - get the type of a field as text
 * @format: the format
 * @field: the field
 *
 * Context: any.
 * Return: the words of the type, separated by single spaces; part of the
 * format.
 */
static inline const char *ue_field_type(const struct ue_format *format,
					const struct ue_field *field)
{
	return (const char *)format + field->type;
}

/**
 * ue_field_name() - get the name of a field
 * @format: the format
 * @field: the field
 *
 * Context: any.
 * Return: the name, which is part of the format.
 */
static inline const char *ue_field_name(const struct ue_format *format,
					const struct ue_field *field)
{
	return (const char *)format + field->name;
}

/**
 * ue_format_parse() - parse a command
 * @command: NUL-terminated
 * @format: set to the format; the caller frees it with kfree()
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if the command is malformed, or so long that the format
 * would exceed 65,535 bytes; -ENOMEM.
 */
int ue_format_parse(const char *command, struct ue_format **format);

/**
 * ue_format_may_be_created() - check the texts of a format that no event has
 * @format: the format
 *
 * Names and types are shown as they are in files that a terminal may print, so
 * they have no control characters. The names of fields do not begin with "common_".
 * Filters and histograms look for a field of the event first: with such a name, a
 * program could falsify the process or the time of a record.
 *
 * Not part of parsing, because REG mostly finds an existing event.
 *
 * Context: any.
 * Return: true if an event may have the format.
 */
bool ue_format_may_be_created(const struct ue_format *format);

/**
 * ue_command_has_flags() - check for flags after the name, "name:flag"
 * @command: NUL-terminated
 *
 * No such flags exist, and ue_format_parse() refuses them as well.
 *
 * Context: any.
 * Return: true if there is a colon in the name.
 */
bool ue_command_has_flags(const char *command);

/**
 * ue_command_name() - copy the name at the start of a command
 * @command: NUL-terminated
 *
 * Context: may sleep.
 * Return: the name, valid or not, to be freed with kfree(); NULL without
 * memory.
 */
char *ue_command_name(const char *command);

/**
 * ue_format_equal() - compare two formats
 * @a: a format
 * @b: another format
 *
 * Context: any.
 * Return: true if the events have the same name, and all fields the same type,
 * name and size.
 */
bool ue_format_equal(const struct ue_format *a, const struct ue_format *b);

/**
 * ue_format_print_fmt() - make the print format that tools read
 * @format: the format
 *
 * In the names of fields, each ASCII character other than letters, digits and
 * "_.:-" is replaced by '_'.
 *
 * Context: may sleep.
 * Return: the text as in the format file, to be freed with kfree(); NULL
 * without memory.
 */
char *ue_format_print_fmt(const struct ue_format *format);

/**
 * ue_format_text() - make the canonical command, "name type field; type field"
 * @format: the format
 *
 * Context: may sleep.
 * Return: the text, to be freed with kfree(); NULL if out of memory.
 */
char *ue_format_text(const struct ue_format *format);

#endif /* UE_FORMAT_H */
