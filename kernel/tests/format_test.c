// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parsing commands: every type, boundary and reason for a refusal; the canonical
 * text, the print format, and comparing formats.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format/format.h"

/* Maximum size of a payload's fixed part, bytes; see format.c. */
#define UE_TEST_PAYLOAD_MAX	(UE_RECORD_LIMIT - UE_RECORD_HEADER)

KUNIT_DEFINE_ACTION_WRAPPER(ue_test_free, kfree, const void *);

/* Parses a command. The test frees the format when it ends. */
static int ue_test_parse(struct kunit *test, const char *command,
			 struct ue_format **format)
{
	int err;

	*format = NULL;
	err = ue_format_parse(command, format);
	if (!err)
		kunit_add_action_or_reset(test, ue_test_free, *format);
	return err;
}

static char *ue_test_text(struct kunit *test, const struct ue_format *format,
			  char *(*make)(const struct ue_format *format))
{
	char *text = make(format);

	KUNIT_ASSERT_NOT_NULL(test, text);
	kunit_add_action_or_reset(test, ue_test_free, text);
	return text;
}

static __printf(2, 3) char *ue_test_printf(struct kunit *test, const char *fmt,
					   ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, fmt);
	text = kvasprintf(GFP_KERNEL, fmt, arguments);
	va_end(arguments);
	KUNIT_ASSERT_NOT_NULL(test, text);
	kunit_add_action_or_reset(test, ue_test_free, text);
	return text;
}

/* Types */

static const struct ue_test_type {
	const char *type;	/* in the command, and in the format */
	u32 size;
	u8 kind;
	const char *print;
	const char *argument;	/* in the print format */
	u16 length;
	u8 storage;
	const char *size_text;	/* after the field's name */
} ue_test_types[] = {
	{ "s64", 8, UE_KIND_S64, "%lld", "REC->f" },
	{ "u64", 8, UE_KIND_U64, "%llu", "REC->f" },
	{ "s32", 4, UE_KIND_S32, "%d", "REC->f" },
	{ "u32", 4, UE_KIND_U32, "%u", "REC->f" },
	{ "int", 4, UE_KIND_S32, "%d", "REC->f" },
	{ "unsigned int", 4, UE_KIND_U32, "%u", "REC->f" },
	{ "s16", 2, UE_KIND_S16, "%d", "REC->f" },
	{ "u16", 2, UE_KIND_U16, "%u", "REC->f" },
	{ "short", 2, UE_KIND_S16, "%d", "REC->f" },
	{ "unsigned short", 2, UE_KIND_U16, "%u", "REC->f" },
	{ "s8", 1, UE_KIND_S8, "%d", "REC->f" },
	{ "u8", 1, UE_KIND_U8, "%u", "REC->f" },
	{ "char", 1, UE_KIND_S8, "%d", "REC->f" },
	{ "unsigned char", 1, UE_KIND_U8, "%u", "REC->f" },
	{ "char[1]", 1, UE_KIND_CHAR_ARRAY, "%s", "REC->f", 1 },
	{ "char[0x10]", 16, UE_KIND_CHAR_ARRAY, "%s", "REC->f", 16 },
	{ "char[010]", 8, UE_KIND_CHAR_ARRAY, "%s", "REC->f", 8 },
	{ "char[1024]", 1024, UE_KIND_CHAR_ARRAY, "%s", "REC->f", 1024 },
	{ "unsigned char[16]", 16, UE_KIND_BYTE_ARRAY, "%s", "REC->f", 16 },
	{ "__data_loc char[]", 4, UE_KIND_LOCATED_TEXT, "%s", "__get_str(f)", 0,
	  UE_STORED_DATA_LOC },
	{ "__data_loc unsigned char[]", 4, UE_KIND_LOCATED_TEXT, "%s",
	  "__get_str(f)", 0, UE_STORED_DATA_LOC },
	{ "__data_loc u8[]", 4, UE_KIND_LOCATED_BYTES, "%llu", "REC->f", 0,
	  UE_STORED_DATA_LOC },
	{ "__data_loc nonsense", 4, UE_KIND_LOCATED_BYTES, "%llu", "REC->f", 0,
	  UE_STORED_DATA_LOC },
	{ "__rel_loc char[]", 4, UE_KIND_LOCATED_TEXT, "%s", "__get_rel_str(f)", 0,
	  UE_STORED_REL_LOC },
	{ "__rel_loc unsigned char[]", 4, UE_KIND_LOCATED_TEXT, "%s",
	  "__get_rel_str(f)", 0, UE_STORED_REL_LOC },
	{ "__rel_loc u32[]", 4, UE_KIND_LOCATED_BYTES, "%llu", "REC->f", 0,
	  UE_STORED_REL_LOC },
	{ "struct s", 1, UE_KIND_STRUCT, "%llu", "REC->f", 0, UE_STORED_INLINE,
	  " 1" },
	{ "struct timespec64", 16, UE_KIND_STRUCT, "%llu", "REC->f", 0,
	  UE_STORED_INLINE, " 16" },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_type, ue_test_types, type);

static void ue_type_test(struct kunit *test)
{
	const struct ue_test_type *type = test->param_value;
	const char *size_text = type->size_text ?: "";
	const struct ue_field *field;
	struct ue_format *format;
	char *command, *print;

	command = ue_test_printf(test, "e %s f%s", type->type, size_text);
	KUNIT_ASSERT_EQ(test, ue_test_parse(test, command, &format), 0);
	KUNIT_EXPECT_STREQ(test, ue_format_name(format), "e");
	KUNIT_ASSERT_EQ(test, format->nr_fields, 1);
	KUNIT_EXPECT_EQ(test, format->size, type->size);
	KUNIT_EXPECT_EQ(test, format->nr_locations,
			type->storage != UE_STORED_INLINE);

	field = &format->fields[0];
	KUNIT_EXPECT_STREQ(test, ue_field_type(format, field), type->type);
	KUNIT_EXPECT_STREQ(test, ue_field_name(format, field), "f");
	KUNIT_EXPECT_EQ(test, field->offset, 0);
	KUNIT_EXPECT_EQ(test, field->size, type->size);
	KUNIT_EXPECT_EQ(test, field->length, type->length);
	KUNIT_EXPECT_EQ(test, field->storage, type->storage);
	KUNIT_EXPECT_EQ(test, field->kind, type->kind);
	KUNIT_EXPECT_EQ(test, ue_kinds[field->kind].is_signed,
			type->type[0] != 'u');

	print = ue_test_printf(test, "\"f=%s\", %s", type->print,
			       type->argument);
	KUNIT_EXPECT_STREQ(test, ue_test_text(test, format,
					      ue_format_print_fmt), print);
	KUNIT_EXPECT_STREQ(test, ue_test_text(test, format, ue_format_text),
			   command);
}

/* Fields of two types, in both orders, are packed. */
static void ue_packed_test(struct kunit *test)
{
	const struct ue_test_type *a = test->param_value, *b;

	for (int i = 0; i < ARRAY_SIZE(ue_test_types); i++) {
		struct ue_format *format;
		char *command;

		b = &ue_test_types[i];
		command = kasprintf(GFP_KERNEL, "e %s f%s; %s g%s; %s h%s",
				    a->type, a->size_text ?: "",
				    b->type, b->size_text ?: "",
				    a->type, a->size_text ?: "");
		KUNIT_ASSERT_NOT_NULL(test, command);
		KUNIT_ASSERT_EQ_MSG(test, ue_format_parse(command, &format), 0,
				    "%s", command);
		KUNIT_EXPECT_EQ(test, format->nr_fields, 3);
		KUNIT_EXPECT_EQ(test, format->fields[0].offset, 0);
		KUNIT_EXPECT_EQ(test, format->fields[1].offset, a->size);
		KUNIT_EXPECT_EQ(test, format->fields[2].offset,
				a->size + b->size);
		KUNIT_EXPECT_EQ(test, format->size, 2 * a->size + b->size);
		KUNIT_EXPECT_EQ(test, format->nr_locations,
				2 * (a->storage != UE_STORED_INLINE) +
				(b->storage != UE_STORED_INLINE));
		kfree(format);
		kfree(command);
	}
}

/* Refusals */

static const struct ue_test_refused {
	const char *what;
	const char *command;
} ue_test_refused[] = {
	{ "nothing", "" },
	{ "a space", " " },
	{ "a space before the name", " e u32 a" },
	{ "a tab before the name", "\te" },
	{ "no name", " u32 a" },
	{ "a dot", ". u32 a" },
	{ "two dots", ".." },
	{ "a name taken: enable", "enable" },
	{ "a name taken: filter", "filter u32 a" },
	{ "a path", "a/b" },
	{ "a path at the end", "a/" },
	{ "text flags", "e:flag u32 a" },
	{ "empty text flags", "e: u32 a" },
	{ "a field without a name", "e u32" },
	{ "a field without a name, second", "e u32 a; u32" },
	{ "unsigned alone", "e unsigned" },
	{ "unsigned without a name", "e unsigned int" },
	{ "unsigned long", "e unsigned long a" },
	{ "unsigned u32", "e unsigned u32 a" },
	{ "unsigned s8", "e unsigned s8 a" },
	{ "signed int", "e signed int a" },
	{ "long", "e long a" },
	{ "bool", "e bool a" },
	{ "_Bool", "e _Bool a" },
	{ "float", "e float a" },
	{ "double", "e double a" },
	{ "void", "e void a" },
	{ "capital letters", "e U32 a" },
	{ "a pointer", "e char* a" },
	{ "a pointer, apart", "e char * a" },
	{ "const", "e const char a" },
	{ "an enum", "e enum f a" },
	{ "a union", "e union u a 4" },
	{ "fields with a comma between them", "e u32 a,u32 b" },
	{ "an array of u32", "e u32[4] a" },
	{ "an array of s8", "e s8[4] a" },
	{ "an array after the name", "e char a[4] b" },
	{ "an array without a number", "e char[] a" },
	{ "an array of 0", "e char[0] a" },
	{ "an array of 0x0", "e char[0x0] a" },
	{ "an array of 1025", "e char[1025] a" },
	{ "an array of -1", "e char[-1] a" },
	{ "an array of 4294967297", "e char[4294967297] a" },
	{ "an array of 7 digits", "e char[0000001] a" },
	{ "an array of a word", "e char[x] a" },
	{ "an array of 1x", "e char[1x] a" },
	{ "an array of 08", "e char[08] a" },
	{ "an array with a space", "e char[ 4] a" },
	{ "an array without an end", "e char[4 a" },
	{ "text after an array", "e char[4]x a" },
	{ "an array of arrays", "e char[4][4] a" },
	{ "an array that names a location", "e char[16]__data_loc a" },
	{ "an array that names a location, unsigned",
	  "e unsigned char[16]__rel_loc a" },
	{ "an array of 0, unsigned", "e unsigned char[0] a" },
	{ "an array of 1025, unsigned", "e unsigned char[1025] a" },
	{ "an array of shorts", "e unsigned short[2] a" },
	{ "a location alone", "e __data_loc" },
	{ "a location without a name", "e __data_loc char[]" },
	{ "a location, unsigned, without a name",
	  "e __rel_loc unsigned char[]" },
	{ "a location with a size", "e __rel_loc char[] a 4" },
	{ "a location, unsigned, with a size",
	  "e __rel_loc unsigned char[] a 4" },
	{ "a location of a location", "e __data_loc __rel_loc a" },
	{ "a location inside the type of a location",
	  "e __rel_loc x__data_locchar[] a" },
	{ "a location without a space", "e __data_locchar[] a" },
	{ "a word before a location", "e x__data_loc char[] a" },
	{ "a location of cpumask_t", "e __data_loc cpumask_t a" },
	{ "a struct alone", "e struct" },
	{ "a struct without a name", "e struct s" },
	{ "a struct without a size", "e struct s a" },
	{ "a struct of size 0", "e struct s a 0" },
	{ "a struct of size -1", "e struct s a -1" },
	{ "a struct of size 0x10", "e struct s a 0x10" },
	{ "a struct of size 4294967296", "e struct s a 4294967296" },
	{ "a struct of size x", "e struct s a x" },
	{ "a struct of size 4x", "e struct s a 4x" },
	{ "a struct of a size that is negative as an int",
	  "e struct s a 4294967200" },
	{ "a word after a struct", "e struct s a 4 b" },
	{ "a struct named as a location", "e struct __data_loc a 4" },
	{ "a struct named with a location", "e struct x__rel_loc[] a 4" },
	{ "a struct named with cpumask_t", "e struct cpumask_t a 4" },
	{ "a size on a u32", "e u32 a 4" },
	{ "a size on an unsigned int", "e unsigned int a 4" },
	{ "a size on an array", "e char[4] a 4" },
	{ "5 words", "e unsigned int a b c" },
	{ "9 words", "e a b c d e f g h i" },
	{ "a bad field after a good one", "e u32 a; long b" },
	{ "a bad field before a good one", "e long b; u32 a" },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_refused, ue_test_refused, what);

static void ue_refused_test(struct kunit *test)
{
	const struct ue_test_refused *refused = test->param_value;
	struct ue_format *format;

	KUNIT_EXPECT_EQ(test, ue_test_parse(test, refused->command, &format),
			-EINVAL);
	KUNIT_EXPECT_NULL(test, format);
}

/* Boundaries */

static void ue_array_length_test(struct kunit *test)
{
	static const char * const notations[] = { "%u", "0x%x", "0X%X", "0%o" };

	for (u32 length = 0; length <= 1030; length++) {
		/* Skip lengths that differ in nothing but the number. */
		if (length == 70)
			length = 1000;
		for (int i = 0; i < ARRAY_SIZE(notations); i++) {
			char number[16], command[32];
			struct ue_format *format;
			int err;

			snprintf(number, sizeof(number), notations[i], length);
			snprintf(command, sizeof(command), "e char[%s] f",
				 number);
			err = ue_format_parse(command, &format);
			if (!length || length > 1024) {
				KUNIT_EXPECT_EQ_MSG(test, err, -EINVAL, "%s",
						    command);
				continue;
			}
			KUNIT_ASSERT_EQ_MSG(test, err, 0, "%s", command);
			KUNIT_EXPECT_EQ(test, format->size, length);
			KUNIT_EXPECT_EQ(test, format->fields[0].length, length);
			kfree(format);
		}
	}
}

static const struct ue_test_sizes {
	const char *what;
	u32 a;
	u32 b;
	bool fits;
} ue_test_sizes[] = {
	{ "the largest, and none", UE_TEST_PAYLOAD_MAX, 0, true },
	{ "one more", UE_TEST_PAYLOAD_MAX + 1, 0, false },
	{ "INT_MAX", INT_MAX, 0, false },
	{ "UINT_MAX", UINT_MAX, 0, false },
	{ "the largest in two", UE_TEST_PAYLOAD_MAX - 1, 1, true },
	{ "one more in two", UE_TEST_PAYLOAD_MAX, 1, false },
	{ "one more in two, turned", 1, UE_TEST_PAYLOAD_MAX, false },
	{ "a sum over UINT_MAX", 1, UINT_MAX, false },
	{ "a sum over INT_MAX", UE_TEST_PAYLOAD_MAX, UE_TEST_PAYLOAD_MAX,
	  false },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_sizes, ue_test_sizes, what);

static void ue_struct_size_test(struct kunit *test)
{
	const struct ue_test_sizes *sizes = test->param_value;
	struct ue_format *format;
	char *command;

	command = ue_test_printf(test, "e struct s a %u", sizes->a);
	if (sizes->b)
		command = ue_test_printf(test, "%s;struct s b %u", command,
					 sizes->b);
	KUNIT_ASSERT_EQ(test, ue_test_parse(test, command, &format),
			sizes->fits ? 0 : -EINVAL);
	if (sizes->fits)
		KUNIT_EXPECT_EQ(test, format->size, sizes->a + sizes->b);
}

/* The longest command with the most fields, and with the longest name. */
static void ue_longest_command_test(struct kunit *test)
{
	static const char field[] = ";u8 a";
	char command[UE_COMMAND_MAX + 1] = "e ";
	int nr = (UE_COMMAND_MAX - 2) / strlen(field);
	struct ue_format *format;

	for (int i = 0; i < nr; i++)
		strlcat(command, field, sizeof(command));
	KUNIT_ASSERT_EQ(test, ue_test_parse(test, command, &format), 0);
	KUNIT_EXPECT_EQ(test, format->nr_fields, nr);
	KUNIT_EXPECT_EQ(test, format->size, nr);
	KUNIT_EXPECT_EQ(test, format->fields[nr - 1].offset, nr - 1);

	memset(command, 'n', UE_COMMAND_MAX);
	command[UE_COMMAND_MAX] = '\0';
	KUNIT_ASSERT_EQ(test, ue_test_parse(test, command, &format), 0);
	KUNIT_EXPECT_STREQ(test, ue_format_name(format), command);
	KUNIT_EXPECT_EQ(test, format->nr_fields, 0);
}

/* Longer commands, up to one that is too long for a format. */
static void ue_long_command_test(struct kunit *test)
{
	static const char field[] = "u8 f;";
	const size_t most = 16 * 1024;
	char *command = kunit_kzalloc(test, most + 1, GFP_KERNEL);
	struct ue_format *format;

	KUNIT_ASSERT_NOT_NULL(test, command);
	strscpy(command, "e ", most);
	memset(command + 2, ';', 4096);
	strlcat(command, field, most);
	KUNIT_ASSERT_EQ(test, ue_test_parse(test, command, &format), 0);
	KUNIT_ASSERT_EQ(test, format->nr_fields, 1);
	KUNIT_EXPECT_STREQ(test, ue_field_name(format, format->fields), "f");

	command[2] = '\0';
	while (strlen(command) < 7000)
		strlcat(command, field, most);
	KUNIT_ASSERT_EQ(test, ue_test_parse(test, command, &format), 0);
	KUNIT_EXPECT_EQ(test, format->nr_fields, 1400);
	KUNIT_EXPECT_STREQ(test, ue_field_name(format, &format->fields[1399]),
			   "f");

	while (strlen(command) < 16000)
		strlcat(command, field, most);
	KUNIT_EXPECT_EQ(test, ue_test_parse(test, command, &format), -EINVAL);
}

/* Every byte in the middle of the name of an event and of a field. */
static void ue_every_byte_test(struct kunit *test)
{
	for (int byte = 1; byte <= 255; byte++) {
		bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
		bool control = byte < ' ' || byte == 0x7f;
		char event[] = "a?b u8 f", field[] = "e u8 a?b";
		struct ue_format *format;
		int err;

		/* A space ends the name, and the rest is not a field. */
		event[1] = byte;
		err = ue_test_parse(test, event, &format);
		KUNIT_EXPECT_EQ_MSG(test, err,
				    space || control || byte == '/' ||
				    byte == ':' ? -EINVAL : 0, "byte %d", byte);

		field[6] = byte;
		err = ue_test_parse(test, field, &format);
		if (space || byte == ';') {
			KUNIT_EXPECT_EQ_MSG(test, err, -EINVAL, "byte %d",
					    byte);
			continue;
		}
		KUNIT_ASSERT_EQ_MSG(test, err, 0, "byte %d", byte);
		KUNIT_EXPECT_STREQ(test,
				   ue_field_name(format, &format->fields[0]),
				   field + 5);
	}
}

/*
 * What a terminal may take for a command, what only looks like it, and fields that
 * would hide those of the kernel.
 */
static void ue_created_test(struct kunit *test)
{
	static const struct {
		const char *command;
		bool may_be_created;
	} cases[] = {
		{ "a\xc2\x80", false },
		{ "a\xc2\x9bm u8 f", false },
		{ "e u8 a\xc2\x9f", false },
		{ "e u8 a\x1b", false },
		{ "e struct \x1b a 8", false },
		{ "e __rel_loc \x07 a", false },
		{ "a\xc2\xa0", true },
		{ "a\xc2Z u8 \xc2", true },
		{ "a\xe2\x82\xac u8 \xe2\x80\xa6", true },
		{ "a\tu8\nf", true },
		{ "e s32 common_pid", false },
		{ "e u8 a; u64 common_timestamp", false },
		{ "e u8 common; u8 uncommon_a; u32 cpu; u8 comm", true },
	};

	for (int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ue_format *format;

		KUNIT_ASSERT_EQ(test, ue_test_parse(test, cases[i].command, &format), 0);
		KUNIT_EXPECT_EQ_MSG(test, ue_format_may_be_created(format),
				    cases[i].may_be_created, "case %d", i);
	}
}

static const char * const ue_test_names[] = {
	"a", "9", "-", "...", ".a", "enabled", "Enable", "filters", "format",
	"e-v.e_n,t", "caf\xc3\xa9", "\xa0", "a;b", "%s", "\"", "\\", "#",
};

static void ue_name_test(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(ue_test_names); i++) {
		struct ue_format *format;

		KUNIT_ASSERT_EQ_MSG(test, ue_test_parse(test, ue_test_names[i],
							&format), 0,
				    "%s", ue_test_names[i]);
		KUNIT_EXPECT_STREQ(test, ue_format_name(format),
				   ue_test_names[i]);
	}
}

/* Spellings of commands; all of a row have the same canonical text */

#define UE_TEST_SPELLINGS	8

static const struct ue_test_group {
	const char *canonical;
	const char *spellings[UE_TEST_SPELLINGS];
} ue_test_groups[] = {
	{ "e", { "e", "e ", "e\t", "e ;", "e ;;", "e  ; ;\n", "e\r;\v;\f" } },
	{ "e u32 a", {
		"e u32 a", "e  u32  a", "e\tu32\ta", "e u32 a;", "e ;u32 a",
		"e u32 a ; ", "e ;; u32\na\v;;", "e\fu32\ra" } },
	{ "e u32 a; u32 b", {
		"e u32 a;u32 b", "e u32 a; u32 b", "e u32  a ;u32 b;",
		"e u32 a;;u32 b", "e u32 a\t;\tu32\tb\t" } },
	{ "e u32 b; u32 a", { "e u32 b;u32 a" } },
	{ "e u32 a; u32 b; u32 c", { "e u32 a;u32 b;u32 c" } },
	{ "e int a", { "e int a" } },
	{ "e s32 a", { "e s32 a" } },
	{ "e unsigned int a", {
		"e unsigned int a", "e unsigned  int a", "e unsigned\tint\ta" } },
	{ "e char[16] a", { "e char[16] a" } },
	{ "e char[0x10] a", { "e char[0x10] a" } },
	{ "e unsigned char[16] a", { "e unsigned \t char[16] a;" } },
	{ "e __rel_loc char[] a", {
		"e __rel_loc char[] a", "e __rel_loc\nchar[]\na" } },
	{ "e __data_loc char[] a", { "e __data_loc  char[]  a" } },
	{ "e __data_loc unsigned char[] a", {
		"e __data_loc unsigned char[] a",
		"e __data_loc  unsigned  char[]  a" } },
	{ "e struct s a 16", {
		"e struct s a 16", "e struct s a 016", "e struct s a +16",
		"e struct  s  a  16 ;" } },
	{ "e struct s a 17", { "e struct s a 17" } },
	{ "e struct t a 16", { "e struct t a 16" } },
};

static const char *ue_test_spelling(int group, int i)
{
	return i < UE_TEST_SPELLINGS ? ue_test_groups[group].spellings[i] :
				       NULL;
}

static void ue_canonical_text_test(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(ue_test_groups); i++) {
		const char *canonical = ue_test_groups[i].canonical, *spelling;

		for (int j = 0; (spelling = ue_test_spelling(i, j)); j++) {
			struct ue_format *format, *again;
			char *text;

			KUNIT_ASSERT_EQ_MSG(test,
					    ue_test_parse(test, spelling,
							  &format), 0,
					    "%s", spelling);
			text = ue_test_text(test, format, ue_format_text);
			KUNIT_EXPECT_STREQ(test, text, canonical);
			KUNIT_ASSERT_EQ(test, ue_test_parse(test, text, &again),
					0);
			KUNIT_EXPECT_TRUE(test, ue_format_equal(format, again));
			KUNIT_EXPECT_EQ(test, format->size, again->size);
		}
	}
}

/* Spellings of a row are equal, those of different rows are not. */
static void ue_equal_test(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(ue_test_groups) * UE_TEST_SPELLINGS; i++) {
		const char *one = ue_test_spelling(i / UE_TEST_SPELLINGS,
						   i % UE_TEST_SPELLINGS);
		struct ue_format *a, *b;

		if (!one)
			continue;
		KUNIT_ASSERT_EQ(test, ue_format_parse(one, &a), 0);
		for (int j = 0; j < ARRAY_SIZE(ue_test_groups); j++) {
			const char *other = ue_test_groups[j].canonical;
			bool equal = i / UE_TEST_SPELLINGS == j;

			KUNIT_ASSERT_EQ(test, ue_format_parse(other, &b), 0);
			KUNIT_EXPECT_EQ_MSG(test, ue_format_equal(a, b), equal,
					    "%s, %s", one, other);
			KUNIT_EXPECT_EQ_MSG(test, ue_format_equal(b, a), equal,
					    "%s, %s", other, one);
			kfree(b);
		}
		kfree(a);
	}
}

static void ue_equal_other_name_test(struct kunit *test)
{
	struct ue_format *a, *b;

	KUNIT_ASSERT_EQ(test, ue_test_parse(test, "one u32 a", &a), 0);
	KUNIT_ASSERT_EQ(test, ue_test_parse(test, "two u32 a", &b), 0);
	KUNIT_EXPECT_FALSE(test, ue_format_equal(a, b));
	KUNIT_EXPECT_FALSE(test, ue_format_equal(b, a));
}

static const struct ue_test_print_fmt {
	const char *command;
	const char *print_fmt;
} ue_test_print_fmts[] = {
	{ "e", "\"\"" },
	{ "e u32 a; __rel_loc char[] b; s64 c",
	  "\"a=%u b=%s c=%lld\", REC->a, __get_rel_str(b), REC->c" },
	/* Characters that have a meaning in the print format are replaced. */
	{ "e u8 azAZ09_.:-", "\"azAZ09_.:-=%u\", REC->azAZ09_.:-" },
	{ "e u8 caf\xc3\xa9\xff", "\"caf\xc3\xa9\xff=%u\", REC->caf\xc3\xa9\xff" },
	{ "e u8 b[(1/0)]", "\"b__1_0__=%u\", REC->b__1_0__" },
	{ "e u8 100%s", "\"100_s=%u\", REC->100_s" },
	{ "e u8 a\\n\"", "\"a_n_=%u\", REC->a_n_" },
	{ "e char[1] a;u8 b[\",f(REC->x,30),\"]",
	  "\"a=%s b___f_REC-_x_30____=%u\", REC->a, REC->b___f_REC-_x_30____" },
	{ "e __rel_loc char[] a),f(b; __data_loc char[] '",
	  "\"a__f_b=%s _=%s\", __get_rel_str(a__f_b), __get_str(_)" },
	/* The text of a type is not in the print format. */
	{ "e __data_loc (1/0) a; struct \"%s a 4",
	  "\"a=%llu a=%llu\", REC->a, REC->a" },
};

static void ue_print_fmt_test(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(ue_test_print_fmts); i++) {
		const struct ue_test_print_fmt *one = &ue_test_print_fmts[i];
		struct ue_format *format;

		KUNIT_ASSERT_EQ_MSG(test, ue_test_parse(test, one->command,
							&format), 0,
				    "%s", one->command);
		KUNIT_EXPECT_STREQ(test,
				   ue_test_text(test, format,
						ue_format_print_fmt),
				   one->print_fmt);
	}
}

/* Every byte in the middle of a field's name is kept or replaced by '_'. */
static void ue_print_fmt_byte_test(struct kunit *test)
{
	for (int byte = '!'; byte <= 255; byte++) {
		bool allowed = byte >= 0x80 || (byte >= '0' && byte <= '9') ||
			       (byte >= 'A' && byte <= 'Z') ||
			       (byte >= 'a' && byte <= 'z') || byte == '_' ||
			       byte == '.' || byte == ':' || byte == '-';
		int kept = allowed ? byte : '_';
		struct ue_format *format;
		char *command, *expected;

		if (byte == ';')
			continue;
		command = ue_test_printf(test, "e u8 a%cb", byte);
		expected = ue_test_printf(test, "\"a%cb=%%u\", REC->a%cb", kept,
					  kept);
		KUNIT_ASSERT_EQ(test, ue_test_parse(test, command, &format), 0);
		KUNIT_EXPECT_STREQ(test,
				   ue_test_text(test, format,
						ue_format_print_fmt),
				   expected);
	}
}

static const struct ue_test_command {
	const char *command;
	const char *name;
	bool has_flags;
} ue_test_commands[] = {
	{ "", "" },
	{ " u32 a", "" },
	{ "e", "e" },
	{ "e u32 a", "e" },
	{ "e\tu32 a", "e" },
	{ "e u32 a:b", "e" },
	{ "e :b", "e" },
	{ "e:b", "e:b", true },
	{ "e: u32 a", "e:", true },
	{ ":", ":", true },
	{ "e;u32 a", "e;u32" },
};

static void ue_command_name_test(struct kunit *test)
{
	for (int i = 0; i < ARRAY_SIZE(ue_test_commands); i++) {
		const struct ue_test_command *one = &ue_test_commands[i];
		char *name = ue_command_name(one->command);

		KUNIT_ASSERT_NOT_NULL(test, name);
		KUNIT_EXPECT_STREQ(test, name, one->name);
		KUNIT_EXPECT_EQ(test, ue_command_has_flags(one->command),
				one->has_flags);
		kfree(name);
	}
}

static struct kunit_case ue_format_cases[] = {
	KUNIT_CASE_PARAM(ue_type_test, ue_test_type_gen_params),
	KUNIT_CASE_PARAM(ue_packed_test, ue_test_type_gen_params),
	KUNIT_CASE_PARAM(ue_refused_test, ue_test_refused_gen_params),
	KUNIT_CASE(ue_array_length_test),
	KUNIT_CASE_PARAM(ue_struct_size_test, ue_test_sizes_gen_params),
	KUNIT_CASE(ue_longest_command_test),
	KUNIT_CASE(ue_long_command_test),
	KUNIT_CASE(ue_every_byte_test),
	KUNIT_CASE(ue_created_test),
	KUNIT_CASE(ue_name_test),
	KUNIT_CASE(ue_canonical_text_test),
	KUNIT_CASE(ue_equal_test),
	KUNIT_CASE(ue_equal_other_name_test),
	KUNIT_CASE(ue_print_fmt_test),
	KUNIT_CASE(ue_print_fmt_byte_test),
	KUNIT_CASE(ue_command_name_test),
	{ }
};

static struct kunit_suite ue_format_suite = {
	.name = "user_events_format",
	.test_cases = ue_format_cases,
};

kunit_test_suite(ue_format_suite);
