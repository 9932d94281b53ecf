// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parsing rules: every form and every reason for a refusal, the canonical text,
 * and which events a rule is for.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format/rule_parse.h"

/* A rule with its canonical text; NULL if the line has no rule. */
static const struct ue_test_rule {
	const char *what;
	const char *line;
	const char *text;
} ue_test_rules[] = {
	{ "empty", "", NULL },
	{ "spaces", " \t ", NULL },
	{ "comment", "# order_*", NULL },
	{ "comment after spaces", "  #order_*", NULL },
	{ "name", "order_*", "order_*" },
	{ "spaces around", "\t order_* \t", "order_*" },
	{ "system", "user_*:order_*", "user_*:order_*" },
	{ "colon in the name", "a:b:c", "a:b:c" },
	{ "number sign in the name", "order#1", "order#1" },
	{ "quote in the name", "it's_* # comment", "it's_*" },
	{ "byte 0xa0", "\xe0\xa0\xa0", "\xe0\xa0\xa0" },
	{ "instance", "o  instance=i", "o instance=i" },
	{ "instance, comment", "o instance=i # if a", "o instance=i" },
	{ "filter", "o if a > 1", "o if a > 1" },
	{ "spaces in a filter", "o  if \t a  >  1 ", "o if a  >  1" },
	{ "system, instance, filter", "s:o instance=i if a", "s:o instance=i if a" },
	{ "comment after a filter", "o if a > 1 # more", "o if a > 1" },
	{ "comment with quotes", "o if a > 1\t# it's", "o if a > 1" },
	{ "number sign in a filter", "o if a > 1#2", "o if a > 1#2" },
	{ "quoted number sign", "o if a == \" # \" # c", "o if a == \" # \"" },
	{ "quote in quotes", "o if a == \"' # \" # c", "o if a == \"' # \"" },
	{ "maximum", "o max=010 if a # c", "o max=10 if a" },
	{ "instance, maximum, trigger", "o instance=i max=1 trigger traceon",
	  "o instance=i max=1 trigger traceon" },
	{ "maximum, instance", "o max=1 instance=i if a", "o instance=i max=1 if a" },
	{ "all options, backwards",
	  "o cgroup=/a/b exe=/bin/x? comm=x? uid=0,4294967295 pid=1 max=2 instance=i if a",
	  "o instance=i max=2 pid=1 uid=0,4294967295 comm=x? exe=/bin/x? cgroup=/a/b if a" },
	{ "limit", "o instance=i limit=010/s", "o instance=i limit=10/s" },
	{ "limit of each program, sample, before another option",
	  "o pid=1 sample=1/07 limit=1000000000/s/program instance=i trigger traceon",
	  "o instance=i limit=1000000000/s/program sample=1/7 pid=1 trigger traceon" },
	{ "the root of control groups", "o instance=i cgroup=/",
	  "o instance=i cgroup=/" },
	{ "group", "o instance=i group=web", "o group=web instance=i" },
	{ "trigger", "o trigger hist:keys=a", "o trigger hist:keys=a" },
	{ "instance, trigger", "o instance=i trigger stacktrace:5 if a # c",
	  "o instance=i trigger stacktrace:5 if a" },
	{ "words as names", "if instance=trigger if trigger",
	  "if instance=trigger if trigger" },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_rule, ue_test_rules, what);

/* Parses a copy of @line, which the test frees when it ends. */
static const char *ue_test_parse(struct kunit *test, const char *line,
				 struct ue_rule_text *rule)
{
	size_t size = strlen(line) + 1;
	char *copy = kunit_kmalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	return ue_rule_parse(memcpy(copy, line, size), rule);
}

static void ue_rule_text_test(struct kunit *test)
{
	const struct ue_test_rule *one = test->param_value;
	struct ue_rule_text rule;
	char *text;

	KUNIT_ASSERT_NULL(test, ue_test_parse(test, one->line, &rule));
	if (!one->text) {
		KUNIT_EXPECT_NULL(test, rule.name);
		return;
	}
	KUNIT_ASSERT_NOT_NULL(test, rule.name);
	text = ue_rule_to_text(&rule);
	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_EXPECT_STREQ(test, text, one->text);
	kfree(text);
}

#define UE_TEST_NO_ACTION \
	"expected \"if\" or \"trigger\" after the pattern and its options"

#define UE_TEST_NO_NUMBERS(option) \
	"not numbers with commas between them after \"" option "=\""
#define UE_TEST_NO_LIMIT \
	"not N/s or N/s/program, N from 1 to 1000000000, after \"limit=\""
#define UE_TEST_NO_SAMPLE \
	"not 1/N, N from 1 to 1000000000, after \"sample=\""
#define UE_TEST_LIMIT_NO_INSTANCE \
	"a rule with a limit needs \"instance=\""
#define UE_TEST_NO_GROUP \
	"not the path of a control group, from /, after \"cgroup=\""
#define UE_TEST_NO_INSTANCE \
	"a rule for some programs needs \"instance=\""

#define UE_TEST_NO_TRIGGER \
	"the trigger is none of traceon, traceoff, snapshot, stacktrace and hist"
#define UE_TEST_NO_COUNT \
	"not a number above 0 after the trigger and a colon"
#define UE_TEST_NO_CONDITION \
	"expected \"if\" and a filter after the trigger"
#define UE_TEST_NO_KEYS \
	"a histogram without \"keys=\""
#define UE_TEST_NO_OPTION \
	"a histogram can only have keys=, vals=, sort= and size="
#define UE_TEST_BAD_KEYS \
	"not one to three fields as the keys, or a modifier that a rule can't have"
#define UE_TEST_BAD_VALUES \
	"not one to three fields as the values of a histogram"
#define UE_TEST_BAD_SORT \
	"not one or two fields, with or without .ascending or .descending, after \"sort=\""
#define UE_TEST_BAD_SIZE \
	"not a number from 65 to 2048 after \"size=\""

static const struct ue_test_refusal {
	const char *line;
	const char *reason;
} ue_test_refusals[] = {
	{ ":", "no system before the colon" },
	{ ":o", "no system before the colon" },
	{ "s:", "no name after the colon" },
	{ "o group=a.b", "no group can have this name" },
	{ "o instance=", "no instance can have this name" },
	{ "o instance=.", "no instance can have this name" },
	{ "o instance=..", "no instance can have this name" },
	{ "o instance=a/b", "no instance can have this name" },
	{ "o if", "no filter after \"if\", or a quote without its end" },
	{ "o if  # a > 1", "no filter after \"if\", or a quote without its end" },
	{ "o if a == ' # c", "no filter after \"if\", or a quote without its end" },
	{ "o max=0", "not a number above 0 after \"max=\"" },
	{ "o max=1x", "not a number above 0 after \"max=\"" },
	{ "o max=1 max=1", "an option is given twice" },
	{ "o instance=i pid=1 pid=1", "an option is given twice" },
	{ "o instance=i pid=", UE_TEST_NO_NUMBERS("pid") },
	{ "o instance=i pid=,", UE_TEST_NO_NUMBERS("pid") },
	{ "o instance=i pid=1,", UE_TEST_NO_NUMBERS("pid") },
	{ "o instance=i pid=1,,2", UE_TEST_NO_NUMBERS("pid") },
	{ "o instance=i pid=-1", UE_TEST_NO_NUMBERS("pid") },
	{ "o instance=i pid=4294967296", UE_TEST_NO_NUMBERS("pid") },
	{ "o instance=i pid=00000000001", UE_TEST_NO_NUMBERS("pid") },
	{ "o instance=i uid=x", UE_TEST_NO_NUMBERS("uid") },
	{ "o instance=i comm=", "nothing after \"comm=\"" },
	{ "o instance=i exe=", "nothing after \"exe=\"" },
	{ "o instance=i cgroup=", UE_TEST_NO_GROUP },
	{ "o instance=i cgroup=a", UE_TEST_NO_GROUP },
	{ "o instance=i cgroup=/a/", UE_TEST_NO_GROUP },
	{ "o instance=i limit=", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=1", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=/s", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=0/s", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=-1/s", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=1000000001/s", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=4294967297/s", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=00000000001/s", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=1/m", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=1/s/", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=1/s/programs", UE_TEST_NO_LIMIT },
	{ "o instance=i limit=1/s limit=1/s", "an option is given twice" },
	{ "o instance=i sample=", UE_TEST_NO_SAMPLE },
	{ "o instance=i sample=1", UE_TEST_NO_SAMPLE },
	{ "o instance=i sample=2/3", UE_TEST_NO_SAMPLE },
	{ "o instance=i sample=1/0", UE_TEST_NO_SAMPLE },
	{ "o instance=i sample=1/1000000001", UE_TEST_NO_SAMPLE },
	{ "o instance=i sample=1/2 sample=1/2", "an option is given twice" },
	{ "o limit=1/s", UE_TEST_LIMIT_NO_INSTANCE },
	{ "o sample=1/2", UE_TEST_LIMIT_NO_INSTANCE },
	{ "o comm=x", UE_TEST_NO_INSTANCE },
	{ "o pids=1", UE_TEST_NO_ACTION },
	{ "o a > 1", UE_TEST_NO_ACTION },
	{ "o if# a", UE_TEST_NO_ACTION },
	{ "o if a instance=i", NULL },
	{ "o instance=a instance=b", "an option is given twice" },
	{ "o trigger", "no trigger after \"trigger\", or a quote without its end" },
	{ "o trigger # x", "no trigger after \"trigger\", or a quote without its end" },
	{ "o trigger !traceon", UE_TEST_NO_TRIGGER },
	{ "o trigger enable_event:a:b", UE_TEST_NO_TRIGGER },
	{ "o trigger traceonx", UE_TEST_NO_TRIGGER },
	{ "o trigger traceon if a > 1", NULL },
	{ "o trigger traceon:0", UE_TEST_NO_COUNT },
	{ "o trigger traceon:", UE_TEST_NO_COUNT },
	{ "o trigger traceon:1:2", UE_TEST_NO_COUNT },
	{ "o trigger snapshot:4294967295", NULL },
	{ "o trigger snapshot:4294967296", UE_TEST_NO_COUNT },
	{ "o trigger traceoff 1", UE_TEST_NO_CONDITION },
	{ "o trigger traceoff if", UE_TEST_NO_CONDITION },
	{ "o trigger traceoff\vif a", UE_TEST_NO_TRIGGER },
	{ "o trigger hist", UE_TEST_NO_KEYS },
	{ "o trigger hist:vals=a", UE_TEST_NO_KEYS },
	{ "o trigger hist:keys=a if a", NULL },
	{ "o trigger hist:size=65:sort=a.descending,b:values=b:key=a.log2,b.buckets=5,stacktrace",
	  NULL },
	{ "o trigger hist:keys=a.sym-offset,b.syscall,common_pid.execname", NULL },
	{ "o trigger hist:keys=a,b,c,d", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=a,", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=$a", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=a-b", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=1", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=hitcount", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=stacktrace.log2", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=a.usecs", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=a.buckets=0", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=common_timestamp", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=a:vals=b.hex", UE_TEST_BAD_VALUES },
	{ "o trigger hist:keys=a:vals=stacktrace", UE_TEST_BAD_VALUES },
	{ "o trigger hist:keys=a:vals=b,c,d,e", UE_TEST_BAD_VALUES },
	{ "o trigger hist:keys=a:sort=a.up", UE_TEST_BAD_SORT },
	{ "o trigger hist:keys=a:size=2049", UE_TEST_BAD_SIZE },
	{ "o trigger hist:keys=a:size=64", UE_TEST_BAD_SIZE },
	{ "o trigger hist:keys=a\xa0", UE_TEST_BAD_KEYS },
	{ "o trigger hist:keys=a if a.function == f",
	  "the filter of a rule's trigger can't have \".function\"" },
	{ "o trigger hist:keys=a:size=0x80", UE_TEST_BAD_SIZE },
	{ "o trigger hist:keys=a:size=128,128", UE_TEST_BAD_SIZE },
	{ "o trigger hist:keys=a:key=b", "an option of the histogram is given twice" },
	{ "o trigger hist:keys=a:name=n", UE_TEST_NO_OPTION },
	{ "o trigger hist:keys=a:x=b", UE_TEST_NO_OPTION },
	{ "o trigger hist:keys=a:onmax(b).snapshot()", UE_TEST_NO_OPTION },
	{ "o trigger hist:keys=a:clock=mono", UE_TEST_NO_OPTION },
	{ "o trigger hist:keys=a:pause", UE_TEST_NO_OPTION },
	{ "o trigger hist:keys=a:", UE_TEST_NO_OPTION },
	{ "o trigger hist:keys=a :pause", UE_TEST_NO_CONDITION },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_refusal, ue_test_refusals, line);

static void ue_rule_refused_test(struct kunit *test)
{
	const struct ue_test_refusal *one = test->param_value;
	struct ue_rule_text rule;

	KUNIT_EXPECT_STREQ(test, ue_test_parse(test, one->line, &rule) ?: "",
			   one->reason ?: "");
}

/* Return: the result for @prefix followed by @count times 'x'. */
static const char *ue_test_parse_long(struct kunit *test, const char *prefix,
				      size_t count)
{
	size_t length = strlen(prefix);
	char *text = kunit_kzalloc(test, length + count + 1, GFP_KERNEL);
	struct ue_rule_text rule;

	KUNIT_ASSERT_NOT_NULL(test, text);
	memcpy(text, prefix, length);
	memset(text + length, 'x', count);
	return ue_rule_parse(text, &rule);
}

static void ue_rule_long_test(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, ue_test_parse_long(test, "", UE_RULE_MAX));
	KUNIT_EXPECT_STREQ(test, ue_test_parse_long(test, "", UE_RULE_MAX + 1),
			   "longer than 2048 characters");
	KUNIT_EXPECT_NULL(test, ue_test_parse_long(test, "o instance=",
						   NAME_MAX));
	KUNIT_EXPECT_STREQ(test, ue_test_parse_long(test, "o instance=",
						    NAME_MAX + 1),
			   "no instance can have this name");
}

static const struct ue_test_match {
	const char *pattern;
	const char *group;
	const char *system;
	const char *name;
	bool matches;
} ue_test_matches[] = {
	{ "order_*", "default", "user_events", "order_placed", true },
	{ "order_*", "default", "user_events_multi", "order_placed", true },
	{ "order_*", "default", "user_events", "order_", true },
	{ "order_*", "default", "user_events", "reorder_x", false },
	{ "order_*", "web", "user_events_web", "order_placed", false },
	{ "order", "default", "user_events", "order_placed", false },
	{ "o[a-z]d?r", "default", "user_events", "order", true },
	{ "o[!a-z]d?r", "default", "user_events", "order", false },
	{ "\\*", "default", "user_events", "*", true },
	{ "\\*", "default", "user_events", "a", false },
	{ "user_events:order", "default", "user_events", "order", true },
	{ "user_events:order", "default", "user_events_multi", "order", false },
	{ "user_events:order", "web", "user_events_web", "order", false },
	{ "user_events_w*:order", "web", "user_events_web", "order", true },
	{ "*_multi:o*", "default", "user_events_multi", "order", true },
	{ "*_multi:o*", "web", "user_events_web_multi", "order", true },
	{ "*:*", "default", "user_events_multi", "order", true },
	{ "*:*", "web", "user_events_web", "order", true },
	{ "user_events:*", "web", "sched", "order", false },
	{ "o* group=web", "web", "user_events_web", "order", true },
	{ "o* group=web", "web", "user_events_web_multi", "order", true },
	{ "o* group=web", "default", "user_events", "order", false },
	{ "o* group=web", "web_2", "user_events_web_2", "order", false },
	{ "o* group=default", "default", "user_events", "order", true },
	{ "*_multi:o* group=web", "web", "user_events_web_multi", "order", true },
	{ "*_multi:o* group=web", "web", "user_events_web", "order", false },
	{ "*_multi:o* group=web", "shop", "user_events_shop_multi", "order", false },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_match, ue_test_matches, pattern);

static void ue_rule_match_test(struct kunit *test)
{
	const struct ue_test_match *one = test->param_value;
	struct ue_rule_text rule;

	KUNIT_ASSERT_NULL(test, ue_test_parse(test, one->pattern, &rule));
	KUNIT_EXPECT_EQ(test, ue_rule_matches(&rule, one->group, one->system,
					      one->name), one->matches);
}

static void ue_rule_prefix_test(struct kunit *test)
{
	static const struct {
		const char *pattern;
		size_t length;
	} prefixes[] = {
		{ "order", 5 }, { "*", 0 }, { "order_*", 6 }, { "o?d", 1 },
		{ "or[a]", 2 }, { "ord\\*", 3 }, { "user_events:a*", 1 },
	};
	struct ue_rule_text rule;

	for (int i = 0; i < ARRAY_SIZE(prefixes); i++) {
		KUNIT_ASSERT_NULL(test, ue_test_parse(test, prefixes[i].pattern,
						      &rule));
		KUNIT_EXPECT_EQ(test, ue_rule_prefix_length(&rule),
				prefixes[i].length);
	}
}

static struct kunit_case ue_rule_cases[] = {
	KUNIT_CASE_PARAM(ue_rule_text_test, ue_test_rule_gen_params),
	KUNIT_CASE_PARAM(ue_rule_refused_test, ue_test_refusal_gen_params),
	KUNIT_CASE(ue_rule_long_test),
	KUNIT_CASE_PARAM(ue_rule_match_test, ue_test_match_gen_params),
	KUNIT_CASE(ue_rule_prefix_test),
	{ }
};

static struct kunit_suite ue_rule_suite = {
	.name = "user_events_rule_parse",
	.test_cases = ue_rule_cases,
};

kunit_test_suite(ue_rule_suite);
