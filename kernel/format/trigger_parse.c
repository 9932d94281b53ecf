// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses the text of a trigger. What the tables here do not name is refused.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "format/format.h"
#include "format/trigger_parse.h"

#define UE_BLANKS	" \t"

/* A part of a text, or NULL. */
struct ue_part {
	const char *text;
	size_t length;
};

/*
 * Return: what is before the first @end, or all of @rest. @rest is then what is behind @end, and
 * NULL if there is no @end.
 */
static struct ue_part ue_part_next(struct ue_part *rest, char end)
{
	struct ue_part part = *rest;
	const char *found = memchr(part.text, end, part.length);

	if (!found) {
		rest->text = NULL;
		return part;
	}
	part.length = found - part.text;
	rest->text = found + 1;
	rest->length -= part.length + 1;
	return part;
}

static bool ue_part_is(struct ue_part part, const char *word)
{
	return part.length == strlen(word) && !memcmp(part.text, word, part.length);
}

static bool ue_part_begins(struct ue_part part, const char *prefix)
{
	size_t length = strlen(prefix);

	return part.length >= length && !memcmp(part.text, prefix, length);
}

static bool ue_part_is_one_of(struct ue_part part, const char * const *words)
{
	while (*words && !ue_part_is(part, *words))
		words++;
	return *words;
}

/* Some parts of the kernel take a leading 0 for an octal number. */
static bool ue_part_is_number(struct ue_part part, u32 max)
{
	u64 number = 0;

	if (!part.length || *part.text == '0')
		return false;
	for (size_t i = 0; i < part.length && number <= max; i++) {
		if (part.text[i] < '0' || part.text[i] > '9')
			return false;
		number = 10 * number + part.text[i] - '0';
	}
	return number <= max;
}

/* The kernel takes other names for expressions, constants and variables. */
static bool ue_is_field(struct ue_part name)
{
	for (size_t i = 0; i < name.length; i++) {
		const unsigned char c = name.text[i];

		if (!isascii(c) || isalpha(c) || c == '_' || (i && isdigit(c)))
			continue;
		return false;
	}
	/* The kernel takes this byte at the end of its text for a space. */
	if (name.length && (unsigned char)name.text[name.length - 1] == 0xa0)
		return false;
	/* A time stamp sets the instance's clock, which empties its buffer. */
	return name.length && !ue_part_is(name, "common_timestamp");
}

static bool ue_is_stacktrace(struct ue_part name)
{
	return ue_part_is(name, "stacktrace") || ue_part_is(name, "common_stacktrace");
}

static bool ue_is_key(struct ue_part key)
{
	static const char * const modifiers[] = { "hex", "sym", "sym-offset", "syscall", "execname",
						  "log2", NULL };
	static const char buckets[] = "buckets=";
	const struct ue_part name = ue_part_next(&key, '.');

	if (!ue_is_field(name) || ue_part_is(name, "hitcount"))
		return false;
	if (!key.text)
		return true;
	if (ue_is_stacktrace(name))
		return false;
	if (!ue_part_begins(key, buckets))
		return ue_part_is_one_of(key, modifiers);
	key.text += strlen(buckets);
	key.length -= strlen(buckets);
	return ue_part_is_number(key, INT_MAX);
}

static bool ue_is_value(struct ue_part value)
{
	return ue_is_field(value) && !ue_is_stacktrace(value);
}

static bool ue_is_sort_key(struct ue_part key)
{
	static const char * const orders[] = { "ascending", "descending", NULL };

	return ue_is_field(ue_part_next(&key, '.')) &&
	       (!key.text || ue_part_is_one_of(key, orders));
}

/* The kernel refuses smaller histograms. */
static bool ue_is_size(struct ue_part size)
{
	return ue_part_is_number(size, UE_HIST_SIZE_MAX) && !ue_part_is_number(size, 64);
}

enum ue_hist_option {
	UE_HIST_KEYS,
	UE_HIST_VALUES,
	UE_HIST_SORT,
	UE_HIST_SIZE,
};

static const char ue_bad_keys[] =
	"not one to three fields as the keys, or a modifier that a rule can't have";
static const char ue_bad_values[] =
	"not one to three fields as the values of a histogram";

static const struct ue_hist_spelling {
	const char *name;
	enum ue_hist_option option;
	unsigned int max;
	bool (*is_valid)(struct ue_part one);
	const char *reason;
} ue_hist_spellings[] = {
#define UE_KEYS(name)	{ name, UE_HIST_KEYS, 3, ue_is_key, ue_bad_keys }
#define UE_VALUES(name)	{ name, UE_HIST_VALUES, 3, ue_is_value, ue_bad_values }
	UE_KEYS("keys"), UE_KEYS("key"),
	UE_VALUES("vals"), UE_VALUES("values"), UE_VALUES("val"),
	{ "sort", UE_HIST_SORT, 2, ue_is_sort_key,
	  "not one or two fields, with or without .ascending or .descending, after \"sort=\"" },
	{ "size", UE_HIST_SIZE, 1, ue_is_size, "not a number from 65 to 2048 after \"size=\"" },
};

/* Return: the option, and its value in @part; NULL if a rule can't have it. */
static const struct ue_hist_spelling *ue_hist_spelling(struct ue_part *part)
{
	const struct ue_part name = ue_part_next(part, '=');

	for (int i = 0; part->text && i < ARRAY_SIZE(ue_hist_spellings); i++) {
		if (ue_part_is(name, ue_hist_spellings[i].name))
			return &ue_hist_spellings[i];
	}
	return NULL;
}

static bool ue_hist_list_valid(const struct ue_hist_spelling *spelling, struct ue_part list)
{
	for (unsigned int i = 0; list.text; i++) {
		if (i == spelling->max || !spelling->is_valid(ue_part_next(&list, ',')))
			return false;
	}
	return true;
}

static const char *ue_hist_parse(struct ue_part options)
{
	unsigned int seen = 0;

	while (options.text) {
		struct ue_part value = ue_part_next(&options, ':');
		const struct ue_hist_spelling *spelling = ue_hist_spelling(&value);

		if (!spelling)
			return "a histogram can only have keys=, vals=, sort= and size=";
		if (seen & BIT(spelling->option))
			return "an option of the histogram is given twice";
		seen |= BIT(spelling->option);
		if (!ue_hist_list_valid(spelling, value))
			return spelling->reason;
	}
	return seen & BIT(UE_HIST_KEYS) ? NULL : "a histogram without \"keys=\"";
}

/* Return: whether nothing or a filter follows, as the kernel sees it. */
static bool ue_is_condition(const char *text)
{
	text += strspn(text, UE_BLANKS);
	return !*text || (strstarts(text, "if") && text[2] && strchr(UE_BLANKS, text[2]));
}

/* Return: the first word, which ends where the kernel also ends it. */
static struct ue_part ue_trigger_word(const char *trigger)
{
	return (struct ue_part){ trigger, strcspn(trigger, UE_BLANKS) };
}

const char *ue_trigger_parse(const char *trigger)
{
	static const char * const counted[] = { "traceon", "traceoff", "snapshot", "stacktrace",
						NULL };
	struct ue_part options = ue_trigger_word(trigger);
	const char *rest = trigger + options.length;
	const struct ue_part name = ue_part_next(&options, ':');
	const char *reason = NULL;

	if (ue_part_is(name, "hist"))
		reason = options.text ? ue_hist_parse(options) : "a histogram without \"keys=\"";
	else if (!ue_part_is_one_of(name, counted))
		return "the trigger is none of traceon, traceoff, snapshot, stacktrace and hist";
	else if (options.text && !ue_part_is_number(options, U32_MAX))
		reason = "not a number above 0 after the trigger and a colon";
	if (reason)
		return reason;
	/* The kernel looks the function up again when the trigger is removed. */
	if (strstr(rest, ".function"))
		return "the filter of a rule's trigger can't have \".function\"";
	return ue_is_condition(rest) ? NULL : "expected \"if\" and a filter after the trigger";
}

/* Return: the field of this name, or NULL. Of several, the kernel takes the last one. */
static const struct ue_field *ue_field_named(struct ue_part name, const struct ue_format *format)
{
	for (int i = format->nr_fields - 1; i >= 0; i--) {
		if (ue_part_is(name, ue_field_name(format, &format->fields[i])))
			return &format->fields[i];
	}
	return NULL;
}

/*
 * The kernel also has fields that stand for no bytes of the record, such as STACKTRACE and COMM,
 * and reads something else there.
 */
static bool ue_is_common_number(struct ue_part name)
{
	static const char * const names[] = { "common_pid", "common_type", "common_flags",
					      "common_preempt_count", "common_cpu", "cpu", NULL };

	return ue_part_is_one_of(name, names);
}

static bool ue_is_number_of(struct ue_part name, const struct ue_format *format)
{
	const struct ue_field *field = ue_field_named(name, format);

	return field ? field->kind >= UE_KIND_S64 && field->kind <= UE_KIND_U8 :
	       ue_is_common_number(name);
}

static bool ue_is_known(struct ue_part name, const struct ue_format *format)
{
	return ue_field_named(name, format) || ue_is_common_number(name) || ue_is_stacktrace(name);
}

/* A modifier that computes with the key. */
static bool ue_needs_number(struct ue_part modifier)
{
	return modifier.text &&
	       (ue_part_is(modifier, "log2") || ue_part_begins(modifier, "buckets="));
}

bool ue_trigger_fits(const char *trigger, const struct ue_format *format)
{
	struct ue_part options = ue_trigger_word(trigger);

	if (!ue_part_is(ue_part_next(&options, ':'), "hist"))
		return true;
	while (options.text) {
		struct ue_part list = ue_part_next(&options, ':');
		const enum ue_hist_option option = ue_hist_spelling(&list)->option;

		while (list.text && (option == UE_HIST_KEYS || option == UE_HIST_VALUES)) {
			struct ue_part modifier = ue_part_next(&list, ',');
			const struct ue_part name = ue_part_next(&modifier, '.');

			if (option == UE_HIST_VALUES && ue_part_is(name, "hitcount"))
				continue;
			if (option == UE_HIST_VALUES || ue_needs_number(modifier) ?
			    !ue_is_number_of(name, format) : !ue_is_known(name, format))
				return false;
		}
	}
	return true;
}
