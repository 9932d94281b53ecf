// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses a command into fields, and writes fields as text.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format/format.h"

/* As in "struct NAME field SIZE". */
#define UE_FIELD_WORDS_MAX	4

#define UE_CHAR_ARRAY_MAX	1024

/* Characters of an array's length; the kernel's own tests expect this limit. */
#define UE_ARRAY_NUMBER_MAX	6

/* No recorder holds a record with larger fields. */
#define UE_PAYLOAD_MAX		(UE_RECORD_LIMIT - UE_RECORD_HEADER)

/* Types of fields: also in the tool's event_type.cpp and the library's number.hpp. */
const struct ue_kind ue_kinds[] = {
	[UE_KIND_CHAR_ARRAY]	= { { "char[" },		0, true,  "%s" },
	[UE_KIND_BYTE_ARRAY]	= { { "unsigned char[" },	0, false, "%s" },
	[UE_KIND_S64]		= { { "s64" },			8, true,  "%lld" },
	[UE_KIND_U64]		= { { "u64" },			8, false, "%llu" },
	[UE_KIND_S32]		= { { "s32", "int" },		4, true,  "%d" },
	[UE_KIND_U32]		= { { "u32", "unsigned int" },	4, false, "%u" },
	[UE_KIND_S16]		= { { "s16", "short" },		2, true,  "%d" },
	[UE_KIND_U16]		= { { "u16", "unsigned short" }, 2, false, "%u" },
	[UE_KIND_S8]		= { { "s8", "char" },		1, true,  "%d" },
	[UE_KIND_U8]		= { { "u8", "unsigned char" },	1, false, "%u" },
	[UE_KIND_STRUCT]	= { { },			0, true,  "%llu" },
	[UE_KIND_LOCATED_TEXT]	= { { },			4, true,  "%s" },
	[UE_KIND_LOCATED_BYTES]	= { { },			4, true,  "%llu" },
};

/* The kernel's isspace() also accepts 0xa0, a byte of some UTF-8 characters. */
static bool ue_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool ue_is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/**
 * struct ue_reader - a command that is being parsed
 * @text: the text not yet parsed
 * @store: where the next word is copied to, with a NUL. The NUL replaces the
 *	separator after the word, so the words take no more space than the text.
 */
struct ue_reader {
	const char *text;
	char *store;
};

/* Return: the copy of the next word before @end; NULL if there is none. */
static char *ue_next_word(struct ue_reader *reader, char end)
{
	const char *text = reader->text;
	char *word = reader->store;
	char *to = word;

	while (ue_is_space(*text))
		text++;
	while (*text && *text != end && !ue_is_space(*text))
		*to++ = *text++;
	reader->text = text;
	if (to == word)
		return NULL;
	*to++ = '\0';
	reader->store = to;
	return word;
}

/*
 * A name becomes a directory in tracefs, so it must not be a path or a name
 * that the parent directory already has. Control characters would break the
 * lines of files that list events. A colon would start flags, and no flags
 * exist.
 */
static bool ue_event_name_valid(const char *name)
{
	static const char * const taken[] = { ".", "..", "enable", "filter" };

	for (int i = 0; i < ARRAY_SIZE(taken); i++) {
		if (!strcmp(name, taken[i]))
			return false;
	}
	for (; *name; name++) {
		if (*name == '/' || *name == ':' || ue_is_control(*name))
			return false;
	}
	return true;
}

/* @text: the text after the '[' of an array; must end with the ']'. */
static int ue_parse_array_length(const char *text, u32 *length)
{
	const char *end = strchr(text, ']');
	char number[UE_ARRAY_NUMBER_MAX + 1];

	if (!end || end[1] || end - text >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, end - text);
	number[end - text] = '\0';
	if (kstrtou32(number, 0, length) || !*length ||
	    *length > UE_CHAR_ARRAY_MAX)
		return -EINVAL;
	return 0;
}

/*
 * Return: the text after a name of @kind, which is empty unless it is an array;
 * NULL if the type has another kind.
 */
static const char *ue_match_kind(const struct ue_kind *kind, const char *type)
{
	for (int i = 0; i < ARRAY_SIZE(kind->names) && kind->names[i]; i++) {
		const char *name = kind->names[i], *rest = type;

		/* Most differ here. str_has_prefix() would cost a call or two. */
		if (*name != *rest)
			continue;
		for (; *name && *name == *rest; name++)
			rest++;
		if (!*name && (!kind->size || !*rest))
			return rest;
	}
	return NULL;
}

static int ue_parse_plain_type(const char *type, struct ue_field *field)
{
	const char *rest = NULL;
	int kind = 0;

	while (kind < ARRAY_SIZE(ue_kinds)) {
		rest = ue_match_kind(&ue_kinds[kind], type);
		if (rest)
			break;
		kind++;
	}
	if (!rest)
		return -EINVAL;
	field->kind = kind;
	field->size = ue_kinds[kind].size;
	if (field->size)
		return 0;
	if (ue_parse_array_length(rest, &field->size))
		return -EINVAL;
	field->length = field->size;
	return 0;
}

/* Any type may follow "__data_loc" or "__rel_loc"; one with "char" is text. */
static void ue_set_location(const char *type, struct ue_field *field)
{
	field->kind = strstr(type, "char") ? UE_KIND_LOCATED_TEXT :
					     UE_KIND_LOCATED_BYTES;
	field->size = ue_kinds[field->kind].size;
}

/* Which words of a field are the type, the name and the size. */
static const struct ue_field_form {
	const char *first;	/* first word, NULL: any */
	const char *second;
	u8 type_words;
	bool has_size;
	u8 storage;
} ue_field_forms[] = {
	{ "struct",	NULL,		2, true,  UE_STORED_INLINE },
	{ "__data_loc",	"unsigned",	3, false, UE_STORED_DATA_LOC },
	{ "__data_loc",	NULL,		2, false, UE_STORED_DATA_LOC },
	{ "__rel_loc",	"unsigned",	3, false, UE_STORED_REL_LOC },
	{ "__rel_loc",	NULL,		2, false, UE_STORED_REL_LOC },
	{ "unsigned",	NULL,		2, false, UE_STORED_INLINE },
	{ NULL,		NULL,		1, false, UE_STORED_INLINE },
};

static const struct ue_field_form *ue_find_form(char **words, int nr)
{
	const struct ue_field_form *form = ue_field_forms;

	for (;; form++) {
		if (form->first && strcmp(form->first, words[0]))
			continue;
		if (form->second && (nr < 2 || strcmp(form->second, words[1])))
			continue;
		return form;
	}
}

/*
 * The kernel's tracing searches the whole text of a type for these words, to
 * find locations and cpumasks. If one comes after the first word, tracing would
 * treat the field differently from the payload check, so the type is refused.
 * @inner: the text after the first word
 */
static bool ue_type_misleads_tracing(const char *inner)
{
	if (!*inner)
		return false;
	return strstr(inner, "__data_loc") || strstr(inner, "__rel_loc") ||
	       strstr(inner, "cpumask_t");
}

static int ue_parse_type(const struct ue_field_form *form, const char *type,
			 const char *size, struct ue_field *field)
{
	field->storage = form->storage;
	if (form->storage != UE_STORED_INLINE) {
		ue_set_location(type, field);
		return 0;
	}
	if (!form->has_size)
		return ue_parse_plain_type(type, field);

	field->kind = UE_KIND_STRUCT;
	return kstrtou32(size, 10, &field->size) || !field->size ? -EINVAL : 0;
}

/* Joins adjacent words: replaces the NUL between them by a space. */
static void ue_join(char **words, int nr)
{
	for (int i = 1; i < nr; i++)
		words[i][-1] = ' ';
}

static int ue_parse_words(char **words, int nr, struct ue_reader *reader,
			  struct ue_format *format)
{
	struct ue_field *field = &format->fields[format->nr_fields];
	const struct ue_field_form *form = ue_find_form(words, nr);
	const char *inner = words[0] + strlen(words[0]);

	if (nr != form->type_words + 1 + form->has_size)
		return -EINVAL;
	ue_join(words, form->type_words);
	field->type = words[0] - (char *)format;
	field->name = words[form->type_words] - (char *)format;
	/* Do not keep the text of the size. */
	if (form->has_size)
		reader->store = words[nr - 1];
	if (ue_type_misleads_tracing(inner))
		return -EINVAL;
	return ue_parse_type(form, words[0], words[nr - 1], field);
}

/* Whether tracing, which looks at the type's name, treats the field as a string. */
static bool ue_is_inline_text(const struct ue_field *field, const char *type)
{
	return field->storage == UE_STORED_INLINE && strchr(type, '[') &&
	       strstr(type, "char");
}

/* Updates how many bytes after the fields tracing may read. */
static void ue_add_read_beyond(struct ue_format *format,
			       const struct ue_field *field)
{
	const u32 size = field->size;

	if (format->read_beyond)
		format->read_beyond -= min(size, (u32)format->read_beyond);
	if (field->kind != UE_KIND_STRUCT || size >= UE_READ_SIZE)
		return;
	if (size != 1 && size != 2 && size != 4)
		format->read_beyond = max_t(u8, format->read_beyond,
					    UE_READ_SIZE - size);
}

/* Adds a field that has been parsed to the totals of the format. */
static void ue_add_field(struct ue_format *format, struct ue_field *field)
{
	field->offset = format->size;
	format->size += field->size;
	format->nr_fields++;
	format->nr_locations += field->storage != UE_STORED_INLINE;
	if (ue_is_inline_text(field, ue_field_type(format, field)))
		format->last_text = format->nr_fields;
	ue_add_read_beyond(format, field);
	format->needs_check = format->nr_locations || format->last_text ||
			      format->read_beyond;
}

/* The text between two semicolons may be empty. */
static int ue_parse_field(struct ue_reader *reader, struct ue_format *format)
{
	struct ue_field *field = &format->fields[format->nr_fields];
	char *words[UE_FIELD_WORDS_MAX];
	char *word;
	int nr = 0;

	while ((word = ue_next_word(reader, ';'))) {
		if (nr == UE_FIELD_WORDS_MAX)
			return -EINVAL;
		words[nr++] = word;
	}
	if (!nr)
		return 0;
	if (ue_parse_words(words, nr, reader, format))
		return -EINVAL;
	if (field->size > UE_PAYLOAD_MAX - format->size)
		return -EINVAL;
	ue_add_field(format, field);
	return 0;
}

static size_t ue_name_length(const char *command)
{
	const char *end = command;

	while (*end && !ue_is_space(*end))
		end++;
	return end - command;
}

/* Return: the number of non-blank parts between semicolons after the name. */
static size_t ue_count_fields(const char *command)
{
	bool blank = true;
	size_t nr = 0;

	for (command += ue_name_length(command); *command; command++) {
		if (*command == ';') {
			blank = true;
		} else if (blank && !ue_is_space(*command)) {
			blank = false;
			nr++;
		}
	}
	return nr;
}

static int ue_parse_into(struct ue_format *format, struct ue_reader *reader)
{
	const char *name;
	int err;

	/* The name ends at the first white space, so it would be empty. */
	if (ue_is_space(*reader->text))
		return -EINVAL;
	name = ue_next_word(reader, '\0');
	if (!name || !ue_event_name_valid(name))
		return -EINVAL;
	format->name = name - (const char *)format;

	do {
		err = ue_parse_field(reader, format);
	} while (!err && *reader->text++ == ';');
	format->bytes = reader->store - (char *)format;
	return err;
}

bool ue_command_has_flags(const char *command)
{
	while (*command && *command != ':' && !ue_is_space(*command))
		command++;
	return *command == ':';
}

char *ue_command_name(const char *command)
{
	return kmemdup_nul(command, ue_name_length(command), GFP_KERNEL);
}

int ue_format_parse(const char *command, struct ue_format **result)
{
	size_t nr = ue_count_fields(command);
	struct ue_reader reader = { .text = command };
	struct ue_format *format;
	size_t size = struct_size(format, fields, nr) + strlen(command) + 1;
	int err;

	/* The offsets of texts have 16 bits. */
	if (size > U16_MAX)
		return -EINVAL;
	format = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!format)
		return -ENOMEM;
	reader.store = (char *)&format->fields[nr];
	err = ue_parse_into(format, &reader);
	if (err)
		kfree(format);
	else
		*result = format;
	return err;
}

/*
 * U+0080 to U+009F are control characters, too; their first byte is 0xc2. Most texts
 * are ASCII and have none, which takes one comparison for each character.
 */
static bool ue_has_control(const char *text)
{
	unsigned char before = 0;

	while ((unsigned char)(*text - ' ') < '~' + 1 - ' ')
		text++;
	for (; *text; before = *text++) {
		const unsigned char c = *text;

		if (ue_is_control(c) || (before == 0xc2 && c >= 0x80 && c < 0xa0))
			return true;
	}
	return false;
}

bool ue_format_may_be_created(const struct ue_format *format)
{
	if (ue_has_control(ue_format_name(format)))
		return false;
	for (int i = 0; i < format->nr_fields; i++) {
		const struct ue_field *field = &format->fields[i];
		const char *name = ue_field_name(format, field);

		if (strstarts(name, "common_") || ue_has_control(name) ||
		    ue_has_control(ue_field_type(format, field)))
			return false;
	}
	return true;
}

bool ue_format_equal(const struct ue_format *a, const struct ue_format *b)
{
	return a->bytes == b->bytes && !memcmp(a, b, a->bytes);
}

static const char *ue_accessor(const struct ue_field *field)
{
	if (field->kind != UE_KIND_LOCATED_TEXT)
		return "REC->";
	return field->storage == UE_STORED_REL_LOC ? "__get_rel_str(" :
						  "__get_str(";
}

static const char *ue_accessor_end(const struct ue_field *field)
{
	return field->kind == UE_KIND_LOCATED_TEXT ? ")" : "";
}

/* A text being written; once @at is full, only @length grows. */
struct ue_text {
	char *at;
	size_t size;
	size_t length;
};

static void ue_append(struct ue_text *text, const char *string)
{
	size_t length = strlen(string);

	if (text->length + length < text->size)
		memcpy(text->at + text->length, string, length + 1);
	text->length += length;
}

/*
 * Tools, some of them run by root, evaluate the print format as an expression.
 * A field's name must not add anything to that expression.
 */
static bool ue_allowed_in_print_fmt(char c)
{
	return c & 0x80 || isalnum(c) || strchr("_.:-", c);
}

static void ue_append_sanitized(struct ue_text *text, const char *name)
{
	size_t start = text->length;

	ue_append(text, name);
	/* Nothing to replace while only the length is counted. */
	for (; start < min(text->length, text->size); start++) {
		if (!ue_allowed_in_print_fmt(text->at[start]))
			text->at[start] = '_';
	}
}

static void ue_append_number(struct ue_text *text, unsigned int number)
{
	char digits[sizeof("4294967295")];

	snprintf(digits, sizeof(digits), "%u", number);
	ue_append(text, digits);
}

/* Calls @write twice: to get the length, and to write the text. */
static char *ue_make_text(const struct ue_format *format,
			  void (*write)(const struct ue_format *format,
					struct ue_text *text))
{
	struct ue_text text = { };

	write(format, &text);
	text.size = text.length + 1;
	text.length = 0;
	text.at = kmalloc(text.size, GFP_KERNEL_ACCOUNT);
	if (text.at)
		write(format, &text);
	return text.at;
}

static void ue_write_print_fmt(const struct ue_format *format,
			       struct ue_text *text)
{
	for (int i = 0; i < format->nr_fields; i++) {
		ue_append(text, i ? " " : "\"");
		ue_append_sanitized(text, ue_field_name(format, &format->fields[i]));
		ue_append(text, "=");
		ue_append(text, ue_kinds[format->fields[i].kind].conversion);
	}
	ue_append(text, format->nr_fields ? "\"" : "\"\"");
	for (int i = 0; i < format->nr_fields; i++) {
		const struct ue_field *field = &format->fields[i];

		ue_append(text, ", ");
		ue_append(text, ue_accessor(field));
		ue_append_sanitized(text, ue_field_name(format, field));
		ue_append(text, ue_accessor_end(field));
	}
}

char *ue_format_print_fmt(const struct ue_format *format)
{
	return ue_make_text(format, ue_write_print_fmt);
}

static void ue_write_text(const struct ue_format *format, struct ue_text *text)
{
	ue_append(text, ue_format_name(format));
	for (int i = 0; i < format->nr_fields; i++) {
		const struct ue_field *field = &format->fields[i];

		ue_append(text, i ? "; " : " ");
		ue_append(text, ue_field_type(format, field));
		ue_append(text, " ");
		ue_append(text, ue_field_name(format, field));
		if (field->kind == UE_KIND_STRUCT) {
			ue_append(text, " ");
			ue_append_number(text, field->size);
		}
	}
}

char *ue_format_text(const struct ue_format *format)
{
	return ue_make_text(format, ue_write_text);
}
