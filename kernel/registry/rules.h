/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules: which events are enabled, or get a trigger, in which ftrace instance
 * before a program can use them. See rule_parse.h for their text.
 *
 * A rule is applied once to each event that it matches: when the event is
 * created, or when the rule is added. The rule leaves alone what others do with
 * the event afterwards.
 */
#ifndef UE_RULES_H
#define UE_RULES_H

struct seq_file;
struct ue_event;

/**
 * ue_rules_change() - add or remove a rule
 * @text: the rule to add, or '!' and the rule to remove. An empty line or a comment
 *	does nothing.
 *
 * A new rule is applied to all events that exist. Removing a rule undoes what
 * the rule did to events, unless others have changed an event since. Prints the
 * reason to the kernel log if the text is malformed, or another rule prevents a new one.
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0, also if the rule exists; -EINVAL if the text is malformed;
 * -ENOENT if the rule to remove does not exist, or a process that a new rule names;
 * -ENOSPC and -EOPNOTSUPP as ue_scope_get(); -EBUSY if an earlier rule records an
 * event for other programs and with another filter or limit in the same instance; -ENOMEM, also
 * if the kernel can't create the instance; the kernel's error if it can't remove the trigger. A
 * rule whose trigger can't be removed from an event stays, and is undone for the other events.
 */
int ue_rules_change(const char *text);

/**
 * ue_rules_remove_all() - remove all rules
 *
 * No rule takes over what another one has done.
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0; the error of one that stays.
 */
int ue_rules_remove_all(void);

/**
 * ue_rules_add_event() - apply rules to an event that no registry has
 * @event: the event, whose serial is less than UE_NR_MARKS
 *
 * A rule is for the event only if it names the event's system without wildcards.
 *
 * Context: event_mutex held; may sleep.
 */
void ue_rules_add_event(struct ue_event *event);

/**
 * ue_rules_remove_event() - undo ue_rules_add_event()
 * @event: the event, which has no recorder
 *
 * Context: event_mutex held.
 */
void ue_rules_remove_event(struct ue_event *event);

/**
 * ue_rules_start() - start reading the rules, as seq_operations do
 * @seq: the file, whose private data is a struct ue_scope_counts
 * @position: position of the first rule to show
 *
 * Context: may sleep; event_mutex not held. It is held until ue_rules_stop().
 * Return: that rule, or NULL; -ENOMEM as an error pointer.
 */
void *ue_rules_start(struct seq_file *seq, loff_t *position);

/**
 * ue_rules_next() - continue with the next rule
 * @seq: the file
 * @item: the last rule
 * @position: its position; advanced
 *
 * Context: event_mutex held by ue_rules_start().
 * Return: the next rule, or NULL.
 */
void *ue_rules_next(struct seq_file *seq, void *item, loff_t *position);

/**
 * ue_rules_stop() - end what ue_rules_start() began
 * @seq: the file
 * @item: the last rule, or NULL
 *
 * Context: event_mutex held by ue_rules_start().
 */
void ue_rules_stop(struct seq_file *seq, void *item);

/**
 * ue_rules_show() - print a rule, with what became of it as a comment
 * @seq: the file
 * @item: the rule
 *
 * Context: event_mutex held by ue_rules_start().
 * Return: 0.
 */
int ue_rules_show(struct seq_file *seq, void *item);

/**
 * ue_rules_init() - begin to apply rules to new events
 *
 * Context: module init; may sleep.
 * Return: 0.
 */
int ue_rules_init(void);

/**
 * ue_rules_exit() - free all rules
 *
 * Context: module exit; may sleep. No event is enabled.
 */
void ue_rules_exit(void);

#endif /* UE_RULES_H */
