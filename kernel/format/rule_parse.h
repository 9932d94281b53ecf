/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of a rule:
 *
 *	PATTERN[ OPTION]...[ if FILTER][ # comment]
 *	PATTERN[ OPTION]... trigger TRIGGER[ # comment]
 *
 * PATTERN is a glob over registered names, or SYSTEM:NAME with two globs. The options,
 * in any order and each at most once, are those of enum ue_rule_option. A rule with
 * neither a glob over systems nor "group=" is for the group "default".
 */
#ifndef UE_RULE_PARSE_H
#define UE_RULE_PARSE_H

#include <linux/types.h>

/*
 * A longer rule is refused. The kernel must be able to print a filter, with an
 * error behind it, to a page.
 */
#define UE_RULE_MAX	2048

/*
 * Without "max=", a rule with a trigger is applied to this many events: a histogram
 * takes about 1 MiB, which is charged to no memory cgroup.
 */
#define UE_RULE_TRIGGERS_MAX	512

/**
 * enum ue_rule_option - the options, in the order in which the module prints them
 * @UE_RULE_GROUP: group=NAME, the group of events
 * @UE_RULE_INSTANCE: instance=NAME, the ftrace instance; without it the top-level one
 * @UE_RULE_MAX_EVENTS: max=N, to how many events the rule is applied at a time
 * @UE_RULE_LIMIT: limit=N/s or limit=N/s/program, how many records are made
 * @UE_RULE_SAMPLE: sample=1/N, one record of N is made
 * @UE_RULE_PID: pid=N[,N]..., processes. This option and the next ones make the rule
 *	be for some programs only.
 * @UE_RULE_UID: uid=N[,N]..., the users of processes
 * @UE_RULE_COMM: comm=GLOB, the name of a process
 * @UE_RULE_EXE: exe=GLOB, the path of its program
 * @UE_RULE_CGROUP: cgroup=PATH, a control group, and those below it
 * @UE_RULE_OPTIONS: how many
 *
 * Also in the tool's tracing/rule.hpp and rule.cpp.
 */
enum ue_rule_option {
	UE_RULE_GROUP,
	UE_RULE_INSTANCE,
	UE_RULE_MAX_EVENTS,
	UE_RULE_LIMIT,
	UE_RULE_SAMPLE,
	UE_RULE_PID,
	UE_RULE_UID,
	UE_RULE_COMM,
	UE_RULE_EXE,
	UE_RULE_CGROUP,
	UE_RULE_OPTIONS
};

/* The first option that is about programs; all that follow are, too. */
#define UE_RULE_FIRST_OF_PROGRAMS	UE_RULE_PID

/* The largest number of a limit. */
#define UE_RULE_LIMIT_MAX	1000000000

/**
 * struct ue_rule_limit - how many records a rule makes of an event
 * @rate: how many in a second; 0: any number
 * @sample: one of how many; 0: each
 * @each_process: @rate is for each process, not for all together
 */
struct ue_rule_limit {
	u32 rate;
	u32 sample;
	bool each_process;
};

/**
 * struct ue_rule_text - a parsed rule
 * @system: glob over the system of events; NULL for any system of the group
 * @name: glob over registered names; NULL if the text has no rule
 * @options: the text after the "=" of each option; NULL for those that the rule lacks
 * @filter: filter of the events; NULL for none
 * @trigger: trigger that events get instead of being enabled; NULL for none
 */
struct ue_rule_text {
	const char *system;
	const char *name;
	const char *options[UE_RULE_OPTIONS];
	const char *filter;
	const char *trigger;
};

/**
 * ue_rule_parse() - parse a rule
 * @text: one line; changed, and the members of @rule point into it
 * @rule: set to the rule
 *
 * An empty line or a comment is no error, but has no rule.
 *
 * Context: any.
 * Return: NULL, or why the text is malformed.
 */
const char *ue_rule_parse(char *text, struct ue_rule_text *rule);

/**
 * ue_rule_to_text() - write a rule as text
 * @rule: the rule, with a name
 *
 * Of the options, max=, limit= and sample= are written in one way, whatever the rule's first text
 * was; the others as they were.
 *
 * Context: may sleep.
 * Return: the text, to be freed with kfree(); NULL if out of memory.
 */
char *ue_rule_to_text(const struct ue_rule_text *rule);

/**
 * ue_rule_limit() - get the limit of a rule
 * @rule: the rule, with a name
 * @limit: set to the limit; all 0 if the rule has none
 *
 * Context: any.
 */
void ue_rule_limit(const struct ue_rule_text *rule, struct ue_rule_limit *limit);

/**
 * ue_rule_has_scope() - check for options that are about programs
 * @rule: the rule, with a name
 *
 * Context: any.
 * Return: true if the rule is for some programs only.
 */
bool ue_rule_has_scope(const struct ue_rule_text *rule);

/**
 * ue_rule_scope_to_text() - write the options that are about programs
 * @rule: the rule, with a name
 *
 * Context: may sleep.
 * Return: the text, to be freed with kfree(); NULL if out of memory.
 */
char *ue_rule_scope_to_text(const struct ue_rule_text *rule);

/**
 * ue_rule_next_number() - get the next number of a list
 * @list: what is left of the list, not NULL; advanced
 * @number: set to the number
 *
 * Context: any.
 * Return: 1; 0 after the last number; -EINVAL.
 */
int ue_rule_next_number(const char **list, u32 *number);

/**
 * ue_rule_matches() - check whether a rule is meant for an event
 * @rule: the rule, with a name
 * @group: name of the event's group
 * @system: system of the event
 * @name: registered name of the event
 *
 * Context: any.
 * Return: true if it is.
 */
bool ue_rule_matches(const struct ue_rule_text *rule, const char *group,
		     const char *system, const char *name);

/**
 * ue_rule_max_events() - get to how many events a rule is applied at a time
 * @rule: the rule
 *
 * Context: any.
 * Return: the number.
 */
unsigned int ue_rule_max_events(const struct ue_rule_text *rule);

/**
 * ue_rule_prefix_length() - get the length of what all matching names begin with
 * @rule: the rule, with a name
 *
 * Context: any.
 * Return: the number of characters of @rule->name before the first special one.
 */
size_t ue_rule_prefix_length(const struct ue_rule_text *rule);

#endif /* UE_RULE_PARSE_H */
