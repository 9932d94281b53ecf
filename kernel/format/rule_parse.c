// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses the text of a rule, and matches events.
 */
#include <linux/glob.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format/group_parse.h"
#include "format/rule_parse.h"
#include "format/trigger_parse.h"

/* The kernel's isspace() also accepts 0xa0, a byte of some UTF-8 characters. */
#define UE_SPACES	" \t\n\v\f\r"

static char *ue_skip_spaces(char *text)
{
	return text + strspn(text, UE_SPACES);
}

/* Return: the next word of *@text; NULL before a comment or the end. */
static char *ue_rule_word(char **text)
{
	char *word = ue_skip_spaces(*text);
	char *end = word + strcspn(word, UE_SPACES);

	if (!*word || *word == '#') {
		*word = '\0';
		*text = word;
		return NULL;
	}
	*text = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

/*
 * A comment begins with a '#' after a space. Quotes, which filters put around
 * strings, may contain a '#' after a space.
 * Return: the rest of a rule without spaces around it; NULL if nothing is left, or if a
 * quote has no end, which could hide a comment.
 */
static char *ue_rule_rest(char *text)
{
	char *rest = ue_skip_spaces(text), *end = rest;
	char quote = '\0', before = ' ';

	for (char *at = rest; *at; before = *at++) {
		if (quote)
			quote = *at == quote ? '\0' : quote;
		else if (*at == '"' || *at == '\'')
			quote = *at;
		else if (*at == '#' && strchr(UE_SPACES, before))
			break;
		if (!strchr(UE_SPACES, *at))
			end = at + 1;
	}
	*end = '\0';
	return *rest && !quote ? rest : NULL;
}

static bool ue_instance_name_valid(const char *name)
{
	return *name && strlen(name) <= NAME_MAX && !strchr(name, '/') &&
	       strcmp(name, ".") && strcmp(name, "..");
}

static bool ue_is_above_zero(const char *value)
{
	unsigned int number;

	return !kstrtouint(value, 10, &number) && number;
}

/* Reads the number before @end, or the end of the text, and advances *@text to there. */
static bool ue_rule_number(const char **text, char end, u32 *number)
{
	const char *from = *text;
	char digits[sizeof("4294967295")];
	size_t length = strchrnul(from, end) - from;

	if (length >= sizeof(digits))
		return false;
	memcpy(digits, from, length);
	digits[length] = '\0';
	*text += length;
	return !kstrtou32(digits, 10, number);
}

int ue_rule_next_number(const char **list, u32 *number)
{
	if (!**list)
		return 0;
	if (!ue_rule_number(list, ',', number))
		return -EINVAL;
	/* A comma has a number behind it. */
	return **list && !*++*list ? -EINVAL : 1;
}

static bool ue_parse_limit(const char *value, struct ue_rule_limit *limit)
{
	if (!ue_rule_number(&value, '/', &limit->rate))
		return false;
	limit->each_process = !strcmp(value, "/s/program");
	return limit->rate && limit->rate <= UE_RULE_LIMIT_MAX &&
	       (limit->each_process || !strcmp(value, "/s"));
}

static bool ue_is_limit(const char *value)
{
	struct ue_rule_limit limit;

	return ue_parse_limit(value, &limit);
}

static bool ue_parse_sample(const char *value, u32 *sample)
{
	return strstarts(value, "1/") && !kstrtou32(value + 2, 10, sample) &&
	       *sample && *sample <= UE_RULE_LIMIT_MAX;
}

static bool ue_is_sample(const char *value)
{
	u32 sample;

	return ue_parse_sample(value, &sample);
}

void ue_rule_limit(const struct ue_rule_text *rule, struct ue_rule_limit *limit)
{
	*limit = (struct ue_rule_limit){ };
	if (rule->options[UE_RULE_LIMIT])
		ue_parse_limit(rule->options[UE_RULE_LIMIT], limit);
	if (rule->options[UE_RULE_SAMPLE])
		ue_parse_sample(rule->options[UE_RULE_SAMPLE], &limit->sample);
}

static bool ue_is_list(const char *list)
{
	u32 number;
	int more = *list ? 1 : -EINVAL;

	while (more > 0)
		more = ue_rule_next_number(&list, &number);
	return !more;
}

static bool ue_is_not_empty(const char *value)
{
	return *value;
}

static bool ue_is_control_group(const char *path)
{
	size_t length = strlen(path);

	return *path == '/' && (length == 1 || path[length - 1] != '/');
}

static const struct ue_option {
	const char *prefix;
	bool (*is_valid)(const char *value);
	const char *reason;
} ue_options[] = {
	[UE_RULE_GROUP] = { "group=", ue_group_name_valid,
			    "no group can have this name" },
	[UE_RULE_INSTANCE] = { "instance=", ue_instance_name_valid,
			       "no instance can have this name" },
	[UE_RULE_MAX_EVENTS] = { "max=", ue_is_above_zero,
				 "not a number above 0 after \"max=\"" },
	[UE_RULE_LIMIT] = { "limit=", ue_is_limit,
			    "not N/s or N/s/program, N from 1 to 1000000000, after \"limit=\"" },
	[UE_RULE_SAMPLE] = { "sample=", ue_is_sample,
			     "not 1/N, N from 1 to 1000000000, after \"sample=\"" },
	[UE_RULE_PID] = { "pid=", ue_is_list,
			  "not numbers with commas between them after \"pid=\"" },
	[UE_RULE_UID] = { "uid=", ue_is_list,
			  "not numbers with commas between them after \"uid=\"" },
	[UE_RULE_COMM] = { "comm=", ue_is_not_empty, "nothing after \"comm=\"" },
	[UE_RULE_EXE] = { "exe=", ue_is_not_empty, "nothing after \"exe=\"" },
	[UE_RULE_CGROUP] = { "cgroup=", ue_is_control_group,
			     "not the path of a control group, from /, after \"cgroup=\"" },
};

/* Return: NULL; why the option is refused. *@word is NULL if it was an option. */
static const char *ue_rule_parse_option(const char **word,
					struct ue_rule_text *rule)
{
	for (int i = 0; i < UE_RULE_OPTIONS; i++) {
		const struct ue_option *option = &ue_options[i];
		const char *value = *word + strlen(option->prefix);

		if (!strstarts(*word, option->prefix))
			continue;
		if (rule->options[i])
			return "an option is given twice";
		if (!option->is_valid(value))
			return option->reason;
		rule->options[i] = value;
		*word = NULL;
		return NULL;
	}
	return NULL;
}

bool ue_rule_has_scope(const struct ue_rule_text *rule)
{
	for (int i = UE_RULE_FIRST_OF_PROGRAMS; i < UE_RULE_OPTIONS; i++) {
		if (rule->options[i])
			return true;
	}
	return false;
}

/*
 * Parses what follows the pattern.
 * Return: NULL, with the word after the options in *@word; why an option is refused.
 */
static const char *ue_rule_parse_options(char **text, const char **word,
					 struct ue_rule_text *rule)
{
	const char *reason = NULL;

	while ((*word = ue_rule_word(text))) {
		reason = ue_rule_parse_option(word, rule);
		if (reason || *word)
			break;
	}
	if (reason || rule->options[UE_RULE_INSTANCE])
		return reason;
	if (ue_rule_has_scope(rule))
		return "a rule for some programs needs \"instance=\"";
	return rule->options[UE_RULE_LIMIT] || rule->options[UE_RULE_SAMPLE] ?
	       "a rule with a limit needs \"instance=\"" : NULL;
}

/* Return: NULL, or why the pattern is malformed. */
static const char *ue_rule_parse_pattern(char *pattern,
					 struct ue_rule_text *rule)
{
	char *colon = strchr(pattern, ':');

	rule->name = pattern;
	if (colon) {
		*colon = '\0';
		rule->system = pattern;
		rule->name = colon + 1;
		if (!*rule->system)
			return "no system before the colon";
		if (!*rule->name)
			return "no name after the colon";
	}
	return NULL;
}

/* Parses what follows the pattern and the options, from @word on. */
static const char *ue_rule_parse_action(const char *word, char *rest,
					struct ue_rule_text *rule)
{
	if (!word)
		return NULL;
	if (!strcmp(word, "if")) {
		rule->filter = ue_rule_rest(rest);
		return rule->filter ? NULL : "no filter after \"if\", or a quote without its end";
	}
	if (strcmp(word, "trigger"))
		return "expected \"if\" or \"trigger\" after the pattern and its options";
	rule->trigger = ue_rule_rest(rest);
	if (!rule->trigger)
		return "no trigger after \"trigger\", or a quote without its end";
	return ue_trigger_parse(rule->trigger);
}

const char *ue_rule_parse(char *text, struct ue_rule_text *rule)
{
	const char *reason, *word;
	char *pattern;

	*rule = (struct ue_rule_text){ };
	if (strlen(text) > UE_RULE_MAX)
		return "longer than 2048 characters";
	pattern = ue_rule_word(&text);
	if (!pattern)
		return NULL;
	reason = ue_rule_parse_pattern(pattern, rule) ?:
		 ue_rule_parse_options(&text, &word, rule);
	return reason ?: ue_rule_parse_action(word, text, rule);
}

/* Return: as kasprintf(); an option that the rule lacks is empty. */
static char *ue_option_to_text(const struct ue_rule_text *rule, int i)
{
	const char *value = rule->options[i];
	struct ue_rule_limit limit;
	unsigned int number;

	/* Equal numbers have equal texts. */
	ue_rule_limit(rule, &limit);
	if (i == UE_RULE_MAX_EVENTS && value && !kstrtouint(value, 10, &number))
		return kasprintf(GFP_KERNEL, " max=%u", number);
	if (i == UE_RULE_LIMIT && value)
		return kasprintf(GFP_KERNEL, " limit=%u/s%s", limit.rate,
				 limit.each_process ? "/program" : "");
	if (i == UE_RULE_SAMPLE && value)
		return kasprintf(GFP_KERNEL, " sample=1/%u", limit.sample);
	return kasprintf(GFP_KERNEL, "%s%s%s", value ? " " : "",
			 value ? ue_options[i].prefix : "", value ?: "");
}

/* Return: the options from @first up to @end; NULL without memory. */
static char *ue_options_to_text(const struct ue_rule_text *rule, int first,
				int end)
{
	char *text = kstrdup("", GFP_KERNEL);

	for (int i = first; text && i < end; i++) {
		char *option = ue_option_to_text(rule, i), *longer = NULL;

		if (option)
			longer = kasprintf(GFP_KERNEL, "%s%s", text, option);
		kfree(option);
		kfree(text);
		text = longer;
	}
	return text;
}

char *ue_rule_scope_to_text(const struct ue_rule_text *rule)
{
	return ue_options_to_text(rule, UE_RULE_FIRST_OF_PROGRAMS,
				  UE_RULE_OPTIONS);
}

char *ue_rule_to_text(const struct ue_rule_text *rule)
{
	char *options = ue_options_to_text(rule, 0, UE_RULE_OPTIONS), *text;

	if (!options)
		return NULL;
	text = kasprintf(GFP_KERNEL, "%s%s%s%s%s%s%s%s",
			 rule->system ?: "", rule->system ? ":" : "",
			 rule->name, options,
			 rule->filter ? " if " : "", rule->filter ?: "",
			 rule->trigger ? " trigger " : "", rule->trigger ?: "");
	kfree(options);
	return text;
}

/* A glob over systems is for the systems of all groups, unless the rule names one. */
static bool ue_rule_matches_group(const struct ue_rule_text *rule, const char *group)
{
	const char *asked = rule->options[UE_RULE_GROUP];

	if (!asked && rule->system)
		return true;
	return !strcmp(asked ?: UE_DEFAULT_GROUP, group);
}

/* Patterns: also rule::is_for() in the tool's tracing/rule.cpp. */
bool ue_rule_matches(const struct ue_rule_text *rule, const char *group,
		     const char *system, const char *name)
{
	return glob_match(rule->name, name) && ue_rule_matches_group(rule, group) &&
	       (!rule->system || glob_match(rule->system, system));
}

unsigned int ue_rule_max_events(const struct ue_rule_text *rule)
{
	unsigned int max;

	if (rule->options[UE_RULE_MAX_EVENTS] &&
	    !kstrtouint(rule->options[UE_RULE_MAX_EVENTS], 10, &max))
		return max;
	return rule->trigger ? UE_RULE_TRIGGERS_MAX : UINT_MAX;
}

size_t ue_rule_prefix_length(const struct ue_rule_text *rule)
{
	return strcspn(rule->name, "*?[\\");
}
