// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses the text of a rule, and matches events.
 */
#include <linux/glob.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "format/rule_parse.h"

/* The kernel's isspace() also accepts 0xa0, a byte of some UTF-8 characters. */
#define UE_SPACES	" \t\n\v\f\r"

#define UE_INSTANCE	"instance="
#define UE_MAX		"max="

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
 * Return: the rest of a rule without spaces around it; NULL if nothing is left,
 * or if a quote without an end would hide a comment.
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

/* Parses what follows the pattern and the instance, from @word on. */
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
	return *rule->trigger == '!' ? "a rule can't remove a trigger" : NULL;
}

const char *ue_rule_parse(char *text, struct ue_rule_text *rule)
{
	const char *reason;
	char *word;

	*rule = (struct ue_rule_text){ };
	if (strlen(text) > UE_RULE_MAX)
		return "longer than 2048 characters";
	word = ue_rule_word(&text);
	if (!word)
		return NULL;
	reason = ue_rule_parse_pattern(word, rule);
	if (reason)
		return reason;
	word = ue_rule_word(&text);
	if (word && strstarts(word, UE_INSTANCE)) {
		rule->instance = word + strlen(UE_INSTANCE);
		if (!ue_instance_name_valid(rule->instance))
			return "no instance can have this name";
		word = ue_rule_word(&text);
	}
	if (word && strstarts(word, UE_MAX)) {
		if (kstrtouint(word + strlen(UE_MAX), 10, &rule->max) ||
		    !rule->max)
			return "not a number above 0 after \"max=\"";
		word = ue_rule_word(&text);
	}
	return ue_rule_parse_action(word, text, rule);
}

char *ue_rule_to_text(const struct ue_rule_text *rule)
{
	char max[sizeof(" " UE_MAX "4294967295")] = "";

	if (rule->max)
		snprintf(max, sizeof(max), " " UE_MAX "%u", rule->max);
	return kasprintf(GFP_KERNEL, "%s%s%s%s%s%s%s%s%s%s",
			 rule->system ?: "", rule->system ? ":" : "",
			 rule->name,
			 rule->instance ? " " UE_INSTANCE : "",
			 rule->instance ?: "", max,
			 rule->filter ? " if " : "", rule->filter ?: "",
			 rule->trigger ? " trigger " : "", rule->trigger ?: "");
}

bool ue_rule_matches(const struct ue_rule_text *rule, const char *system,
		     const char *name)
{
	return glob_match(rule->name, name) &&
	       (!rule->system || glob_match(rule->system, system));
}

unsigned int ue_rule_max_events(const struct ue_rule_text *rule)
{
	if (rule->max)
		return rule->max;
	return rule->trigger ? UE_RULE_TRIGGERS_MAX : UINT_MAX;
}

size_t ue_rule_prefix_length(const struct ue_rule_text *rule)
{
	return strcspn(rule->name, "*?[\\");
}
