// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command format: text -> fields, and fields -> print format.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format.h"

/* "struct NAME field SIZE" has the most. */
#define UE_FIELD_WORDS_MAX	4

#define UE_CHAR_ARRAY_MAX	1024

/* Characters of its number; the kernel's own tests want more refused. */
#define UE_ARRAY_NUMBER_MAX	6

/* Offsets in a record are ints, and start behind its common fields. */
#define UE_PAYLOAD_MAX		(INT_MAX - 64)

static const struct ue_scalar {
	const char *type;
	u8 size;
	u8 kind;
	const char *print;
} ue_scalars[] = {
	{ "s64",		8, UE_KIND_SIGNED,	"%lld" },
	{ "u64",		8, UE_KIND_UNSIGNED,	"%llu" },
	{ "s32",		4, UE_KIND_SIGNED,	"%d" },
	{ "u32",		4, UE_KIND_UNSIGNED,	"%u" },
	{ "int",		4, UE_KIND_SIGNED,	"%d" },
	{ "unsigned int",	4, UE_KIND_UNSIGNED,	"%u" },
	{ "s16",		2, UE_KIND_SIGNED,	"%d" },
	{ "u16",		2, UE_KIND_UNSIGNED,	"%u" },
	{ "short",		2, UE_KIND_SIGNED,	"%d" },
	{ "unsigned short",	2, UE_KIND_UNSIGNED,	"%u" },
	{ "s8",			1, UE_KIND_SIGNED,	"%d" },
	{ "u8",			1, UE_KIND_UNSIGNED,	"%u" },
	{ "char",		1, UE_KIND_SIGNED,	"%d" },
	{ "unsigned char",	1, UE_KIND_UNSIGNED,	"%u" },
};

/* char arrays: what stands before the length, and how the bytes read. */
static const struct ue_array {
	const char *prefix;
	u8 kind;
} ue_arrays[] = {
	{ "char[",		UE_KIND_STRING },
	{ "unsigned char[",	UE_KIND_BYTES },
};

/*
 * The kernel's isspace() takes 0xa0, and iscntrl() nothing above 0x7f; both
 * would see into the middle of UTF-8.
 */
static bool ue_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool ue_is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

/* The next word of *text, terminated in place; NULL when there is none. */
static char *ue_next_word(char **text)
{
	char *word = *text;
	char *end;

	while (ue_is_space(*word))
		word++;
	if (!*word)
		return NULL;
	for (end = word; *end && !ue_is_space(*end); end++)
		;
	*text = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

/*
 * A name becomes a directory of tracefs: no path, nothing that stands there
 * already, nothing that breaks the lines of the files that list events. A
 * colon would begin text flags, of which there are none.
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

static int ue_parse_scalar(struct ue_field *field)
{
	for (int i = 0; i < ARRAY_SIZE(ue_scalars); i++) {
		const struct ue_scalar *scalar = &ue_scalars[i];

		if (strcmp(field->type, scalar->type))
			continue;
		field->size = scalar->size;
		field->kind = scalar->kind;
		field->print = scalar->print;
		return 0;
	}
	return -EINVAL;
}

/* @text: what follows the '[' of a char array, the number and its ']'. */
static int ue_parse_array_length(const char *text, u32 *length)
{
	const char *end = strchr(text, ']');
	char number[UE_ARRAY_NUMBER_MAX + 1];

	if (!end || end - text >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, end - text);
	number[end - text] = '\0';
	if (kstrtou32(number, 0, length) || !*length ||
	    *length > UE_CHAR_ARRAY_MAX)
		return -EINVAL;
	return 0;
}

static int ue_parse_plain_type(struct ue_field *field)
{
	for (int i = 0; i < ARRAY_SIZE(ue_arrays); i++) {
		size_t prefix = str_has_prefix(field->type,
					       ue_arrays[i].prefix);

		if (!prefix)
			continue;
		if (ue_parse_array_length(field->type + prefix, &field->size))
			return -EINVAL;
		field->length = field->size;
		field->kind = ue_arrays[i].kind;
		field->print = "%s";
		return 0;
	}
	return ue_parse_scalar(field);
}

/* A location is one word; whatever it leads to is not checked, but text is. */
static void ue_set_location(struct ue_field *field, enum ue_field_place place)
{
	bool text = strstr(field->type, "char");

	field->place = place;
	field->size = sizeof(u32);
	field->kind = text ? UE_KIND_STRING : UE_KIND_BYTES;
	field->print = text ? "%s" : "%llu";
}

/* Joins the words of a type with one space, in place at @to. */
static char *ue_join(char *to, char **words, int nr)
{
	for (int i = 0; i < nr; i++) {
		size_t length = strlen(words[i]);

		if (i)
			*to++ = ' ';
		memmove(to, words[i], length);
		to += length;
	}
	*to++ = '\0';
	return to;
}

/*
 * Which words are the type, which the name and which the size: one row for
 * each form of a field.
 */
static const struct ue_field_form {
	const char *first;	/* word, NULL for any */
	const char *second;
	u8 type_words;
	bool has_size;
	u8 place;
} ue_field_forms[] = {
	{ "struct",	NULL,		2, true,  UE_PLACE_HERE },
	{ "__data_loc",	"unsigned",	3, false, UE_PLACE_DATA_LOC },
	{ "__data_loc",	NULL,		2, false, UE_PLACE_DATA_LOC },
	{ "__rel_loc",	"unsigned",	3, false, UE_PLACE_REL_LOC },
	{ "__rel_loc",	NULL,		2, false, UE_PLACE_REL_LOC },
	{ "unsigned",	NULL,		2, false, UE_PLACE_HERE },
	{ NULL,		NULL,		1, false, UE_PLACE_HERE },
};

static const struct ue_field_form *ue_find_form(char **words, int nr)
{
	const struct ue_field_form *form = ue_field_forms;

	for (;; form++) {
		if (form->first && strcmp(form->first, words[0]))
			continue;
		if (form->second &&
		    (nr < 2 || strcmp(form->second, words[1])))
			continue;
		return form;
	}
}

/*
 * The kernel's tracing takes a field for a location, and one for text, by any
 * part of its type's text. What it takes a field for must be what was checked.
 */
static bool ue_type_misleads(const char *inner)
{
	if (!*inner)
		return false;
	return strstr(inner, "__data_loc") || strstr(inner, "__rel_loc") ||
	       strstr(inner, "cpumask_t");
}

/* @text is cut up into words; the field's own text goes to *store. */
static int ue_parse_field(char *text, char **store, struct ue_field *field)
{
	char *words[UE_FIELD_WORDS_MAX];
	const struct ue_field_form *form;
	char *word;
	int nr = 0;

	while ((word = ue_next_word(&text))) {
		if (nr == UE_FIELD_WORDS_MAX)
			return -EINVAL;
		words[nr++] = word;
	}
	form = ue_find_form(words, nr);
	if (nr != form->type_words + 1 + form->has_size)
		return -EINVAL;

	field->type = *store;
	*store = ue_join(*store, words, form->type_words);
	field->name = *store;
	*store = ue_join(*store, words + form->type_words, 1);
	field->is_signed = field->type[0] != 'u';
	if (ue_type_misleads(field->type + strlen(words[0])))
		return -EINVAL;

	if (form->place != UE_PLACE_HERE) {
		ue_set_location(field, form->place);
		return 0;
	}
	if (!form->has_size)
		return ue_parse_plain_type(field);

	field->kind = UE_KIND_BYTES;
	field->print = "%llu";
	if (kstrtou32(words[nr - 1], 10, &field->size) || !field->size)
		return -EINVAL;
	return 0;
}

static bool ue_is_blank(const char *text)
{
	while (ue_is_space(*text))
		text++;
	return !*text;
}

static int ue_parse_fields(char *text, char *store, struct ue_format *format)
{
	u64 offset = 0;
	char *part;
	int err;

	while ((part = strsep(&text, ";"))) {
		struct ue_field *field = &format->fields[format->nr_fields];

		if (ue_is_blank(part))
			continue;
		err = ue_parse_field(part, &store, field);
		if (err)
			return err;
		field->offset = offset;
		offset += field->size;
		if (offset > UE_PAYLOAD_MAX)
			return -EINVAL;
		format->nr_locations += field->place != UE_PLACE_HERE;
		format->nr_fields++;
	}
	format->size = offset;
	return 0;
}

static size_t ue_count_fields(const char *command)
{
	size_t nr = 1;

	while ((command = strchr(command, ';'))) {
		command++;
		nr++;
	}
	return nr;
}

static int ue_parse_into(struct ue_format *format, char *copy, char *store)
{
	char *rest = copy;
	char *name;

	/* What stands before the first white space, which may be nothing. */
	if (!*rest || ue_is_space(*rest))
		return -EINVAL;
	name = ue_next_word(&rest);
	if (!ue_event_name_valid(name))
		return -EINVAL;
	format->name = store;
	store = ue_join(store, &name, 1);
	return ue_parse_fields(rest, store, format);
}

static size_t ue_name_length(const char *command)
{
	size_t length = 0;

	while (command[length] && !ue_is_space(command[length]))
		length++;
	return length;
}

bool ue_command_has_flags(const char *command)
{
	return memchr(command, ':', ue_name_length(command));
}

char *ue_command_name(const char *command)
{
	return kmemdup_nul(command, ue_name_length(command), GFP_KERNEL);
}

int ue_format_parse(const char *command, struct ue_format **result)
{
	size_t length = strlen(command) + 1;
	size_t nr = ue_count_fields(command);
	struct ue_format *format;
	char *kept, *copy;
	int err;

	/*
	 * The kept text is no longer than the command: what separates two
	 * words or two fields there becomes the NUL of what it ends. Behind
	 * it stands the copy that is cut up into words, which is sooner had
	 * here than with an allocation of its own.
	 */
	format = kzalloc(struct_size(format, fields, nr) + 2 * length,
			 GFP_KERNEL_ACCOUNT);
	if (!format)
		return -ENOMEM;
	kept = (char *)&format->fields[nr];
	copy = memcpy(kept + length, command, length);
	err = ue_parse_into(format, copy, kept);
	if (err)
		kfree(format);
	else
		*result = format;
	return err;
}

bool ue_format_equal(const struct ue_format *a, const struct ue_format *b)
{
	if (a->nr_fields != b->nr_fields)
		return false;
	for (int i = 0; i < a->nr_fields; i++) {
		const struct ue_field *x = &a->fields[i], *y = &b->fields[i];

		if (x->size != y->size || strcmp(x->type, y->type) ||
		    strcmp(x->name, y->name))
			return false;
	}
	return true;
}

static bool ue_is_text_elsewhere(const struct ue_field *field)
{
	return field->place != UE_PLACE_HERE && field->kind == UE_KIND_STRING;
}

static const char *ue_accessor(const struct ue_field *field)
{
	if (!ue_is_text_elsewhere(field))
		return "REC->";
	return field->place == UE_PLACE_REL_LOC ? "__get_rel_str(" :
						  "__get_str(";
}

static const char *ue_accessor_end(const struct ue_field *field)
{
	return ue_is_text_elsewhere(field) ? ")" : "";
}

/* Text that grows until it is full, and goes on counting then. */
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

static void ue_append_number(struct ue_text *text, unsigned int number)
{
	char digits[sizeof("4294967295")];

	snprintf(digits, sizeof(digits), "%u", number);
	ue_append(text, digits);
}

/* Runs @write twice: to know the length, and to write. */
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
		ue_append(text, format->fields[i].name);
		ue_append(text, "=");
		ue_append(text, format->fields[i].print);
	}
	ue_append(text, format->nr_fields ? "\"" : "\"\"");
	for (int i = 0; i < format->nr_fields; i++) {
		const struct ue_field *field = &format->fields[i];

		ue_append(text, ", ");
		ue_append(text, ue_accessor(field));
		ue_append(text, field->name);
		ue_append(text, ue_accessor_end(field));
	}
}

char *ue_format_print_fmt(const struct ue_format *format)
{
	return ue_make_text(format, ue_write_print_fmt);
}

static void ue_write_text(const struct ue_format *format, struct ue_text *text)
{
	ue_append(text, format->name);
	for (int i = 0; i < format->nr_fields; i++) {
		const struct ue_field *field = &format->fields[i];

		ue_append(text, i ? "; " : " ");
		ue_append(text, field->type);
		ue_append(text, " ");
		ue_append(text, field->name);
		if (strstarts(field->type, "struct ")) {
			ue_append(text, " ");
			ue_append_number(text, field->size);
		}
	}
}

char *ue_format_text(const struct ue_format *format)
{
	return ue_make_text(format, ue_write_text);
}
