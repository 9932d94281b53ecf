// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules, and applying them to events.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/cred.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include "events/event.h"
#include "events/limit.h"
#include "format/format.h"
#include "format/rule_parse.h"
#include "format/trigger_parse.h"
#include "port/compat.h"
#include "port/debug_counter.h"
#include "port/kernel_symbols.h"
#include "port/module_state.h"
#include "programs/scope.h"
#include "programs/update.h"
#include "registry/registry.h"
#include "registry/rule_action.h"
#include "registry/rules.h"
#include "registry/suppression.h"

/**
 * struct ue_rule - a rule
 * @node: entry in the list of rules
 * @parsed: the parsed text
 * @source: what @parsed points into
 * @text: the canonical text; equal rules have equal texts
 * @scope: for which programs the rule is, see scope.h; 0 for all
 * @limit: how many records are made of each event
 * @instance: the ftrace instance, with a reference
 * @removed: the rule is not applied any more
 * @applied: the events to which the rule was applied, by serial. The value is
 *	the number of the event's recorder for @instance. While the recorder has
 *	this number, the event was not disabled.
 * @nr_entries: number of entries in @applied
 * @nr_applied: to how many events the rule was applied since it was added
 * @nr_failed: for how many events that failed
 * @reason: why applying the rule failed for the last of these
 *
 * The members after @instance are protected by event_mutex.
 */
struct ue_rule {
	struct list_head node;
	struct ue_rule_text parsed;
	char *source;
	char *text;
	u64 scope;
	struct ue_rule_limit limit;
	struct trace_array *instance;
	bool removed;
	struct xarray applied;
	unsigned int nr_entries;
	unsigned long nr_applied;
	unsigned long nr_failed;
	char reason[2 * UE_REASON_MAX];
};

/* Marks, which the registry does not have, by serial. Protected by event_mutex. */
static struct ue_event *ue_marks[UE_NR_MARKS];

/* Serializes adding and removing rules; event_mutex is taken inside it. */
static DEFINE_MUTEX(ue_rules_mutex);

/* Changed with both mutexes held, except at module exit. */
static LIST_HEAD(ue_rules);

/*
 * Most events match no rule. A set of hashed prefixes shows that without a look
 * at each rule. All prefixes have the length of the shortest one, so the set
 * does not help if a pattern begins with a wildcard. The length and the set are
 * protected by event_mutex.
 */
#define UE_PREFIX_MAX	8
#define UE_PREFIX_BITS	8192

static size_t ue_prefix_length;
static DECLARE_BITMAP(ue_prefixes, UE_PREFIX_BITS);

static unsigned int ue_prefix_bit(const char *name)
{
	return jhash(name, ue_prefix_length, 0) % UE_PREFIX_BITS;
}

/* Called after the list has changed. */
static void ue_rules_set_prefixes(void)
{
	struct ue_rule *rule;

	ue_prefix_length = UE_PREFIX_MAX;
	list_for_each_entry(rule, &ue_rules, node)
		ue_prefix_length = min(ue_prefix_length,
				       ue_rule_prefix_length(&rule->parsed));
	bitmap_zero(ue_prefixes, UE_PREFIX_BITS);
	list_for_each_entry(rule, &ue_rules, node)
		__set_bit(ue_prefix_bit(rule->parsed.name), ue_prefixes);
}

/* Return: false if no rule is for the event. */
static bool ue_rules_may_be_for(const struct ue_event *event)
{
	const struct ue_format *format = event->format;

	lockdep_assert_held(ue_event_mutex);
	return ue_format_name_length(format) >= ue_prefix_length &&
	       test_bit(ue_prefix_bit(ue_format_name(format)), ue_prefixes);
}

/* The module's own events are in no group. A rule has to name their system. */
static bool ue_rule_is_for(const struct ue_rule *rule,
			   const struct ue_event *event)
{
	const bool own = event->serial < UE_NR_MARKS;
	const char *system = rule->parsed.system;

	if (own && (!system || strcmp(system, event->class.system)))
		return false;
	return !rule->removed &&
	       ue_rule_matches(&rule->parsed,
			       own ? "" : ue_group_of(event)->name,
			       event->class.system,
			       ue_format_name(event->format));
}

/* A rule for some programs looks for registrations, and marks have none. */
static bool ue_rule_scope_fits(const struct ue_rule *rule,
			       const struct ue_event *event)
{
	return !rule->scope || event->serial >= UE_NR_MARKS;
}

static struct trace_event_file *ue_rule_file(const struct ue_rule *rule,
					     struct ue_event *event)
{
	return ue_instance_file(rule->instance, &event->call);
}

static void ue_rule_forget(struct ue_rule *rule, unsigned long serial)
{
	if (xa_erase(&rule->applied, serial))
		rule->nr_entries--;
}

/* An entry for the event itself, from before others have changed the event, needs no more room. */
static bool ue_rule_is_full(struct ue_rule *rule, const struct ue_event *event)
{
	return rule->nr_entries >= ue_rule_max_events(&rule->parsed) &&
	       !xa_load(&rule->applied, event->serial);
}

/* Keeps why a rule could not be applied to an event. */
static void ue_rule_keep_reason(struct ue_rule *rule, const struct ue_event *event,
				const char *reason)
{
	scnprintf(rule->reason, sizeof(rule->reason), "%.*s: %s",
		  UE_REASON_MAX, ue_event_name(event), reason);
}

/* Remembers that a rule was applied. The caller has reserved the entry. */
static void ue_rule_applied(struct ue_rule *rule, const struct ue_event *event,
			    const struct trace_event_file *file)
{
	unsigned long number = ue_recorder_number(&event->recorders, file);

	/* A rule that takes an event over may have an entry already. */
	if (!xa_store(&rule->applied, event->serial, xa_mk_value(number),
		      GFP_KERNEL))
		rule->nr_entries++;
	rule->nr_applied++;
}

/**
 * struct ue_rules_sum - the rules that share a recorder
 * @any: there are such rules
 * @enabled: one of them has enabled the event
 * @triggered: one of them has given the event a trigger; the recorder then has the scope and the
 *	limit of this rule, and so has each of the others
 * @scoped: one of them is for some programs
 * @scopes: the scopes of them all; 0 if one is for all programs, or if there is none
 */
struct ue_rules_sum {
	bool any;
	bool enabled;
	bool triggered;
	bool scoped;
	u64 scopes;
};

/* Adds up the rules other than @without that have an entry for the same recorder. */
static struct ue_rules_sum ue_rules_add_up(const struct ue_event *event,
					   unsigned long number,
					   const struct ue_rule *without)
{
	const void *entry = xa_mk_value(number);
	struct ue_rules_sum sum = { };
	struct ue_rule *rule;
	bool all = false;

	list_for_each_entry(rule, &ue_rules, node) {
		if (rule == without ||
		    xa_load(&rule->applied, event->serial) != entry)
			continue;
		sum.any = true;
		sum.enabled |= !rule->parsed.trigger;
		sum.triggered |= !!rule->parsed.trigger;
		sum.scoped |= rule->scope;
		sum.scopes |= rule->scope;
		all |= !rule->scope;
	}
	if (all)
		sum.scopes = 0;
	return sum;
}

static bool ue_rule_limits_equal(const struct ue_rule_limit *one,
				 const struct ue_rule_limit *two)
{
	return one->rate == two->rate && one->sample == two->sample &&
	       one->each_process == two->each_process;
}

/* Whether a recorder has the limit of a rule. */
static bool ue_rule_limits(const struct ue_rule *rule, const struct ue_event *event,
			   const struct trace_event_file *file)
{
	return ue_rule_limits_equal(ue_limit_terms(ue_recorder_limit(&event->recorders, file)),
				    &rule->limit);
}

/* Whether a recorder records the same programs as a rule, with the same limit. */
static bool ue_rule_equals(const struct ue_rule *rule, const struct ue_event *event,
			   const struct trace_event_file *file)
{
	return ue_recorder_scopes(&event->recorders, file) == rule->scope &&
	       ue_rule_limits(rule, event, file);
}

/*
 * An event may be enabled already, with the same filter and limit, by rules of which at
 * least one is for some programs; or by any rule, if the new rule is for some programs. The
 * rules then add up, unless that would give a trigger of theirs further programs.
 */
static bool ue_rule_may_join(const struct ue_rule *rule,
			     const struct ue_event *event,
			     struct trace_event_file *file,
			     const struct ue_rule *without)
{
	unsigned long number = ue_recorder_number(&event->recorders, file);
	struct ue_rules_sum sum;

	if (!number || !ue_rule_limits(rule, event, file))
		return false;
	sum = ue_rules_add_up(event, number, without);
	return sum.enabled && (sum.scoped || rule->scope) &&
	       (!sum.triggered || ue_rule_equals(rule, event, file)) &&
	       ue_file_is_enabled(file, rule->parsed.filter);
}

/*
 * @without: a rule that gives the event up, or NULL
 * Return: false if the rule may not join the others that have enabled the event.
 */
static bool ue_rule_joins(const struct ue_rule *rule, struct ue_event *event,
			  struct trace_event_file *file,
			  const struct ue_rule *without)
{
	u64 scopes;

	if (rule->parsed.trigger ||
	    !ue_rule_may_join(rule, event, file, without))
		return false;
	scopes = ue_recorder_scopes(&event->recorders, file);
	if (scopes)
		ue_event_set_scopes(event, file,
				    rule->scope ? scopes | rule->scope : 0);
	return true;
}

/*
 * Enables an event, or gives it a trigger, which leaves the event soft-disabled: a recorder, but no
 * records.
 */
static int ue_rule_begin(const struct ue_rule *rule, struct ue_event *event,
			 struct trace_event_file *file, char *reason)
{
	struct ue_limit *limit;
	int err = ue_limit_create(&rule->limit, &limit);

	if (err) {
		strscpy(reason, "-ENOMEM", UE_REASON_MAX);
		return err;
	}
	/* Without effect if the instance has a recorder of the event already. */
	ue_recorder_prepare(&event->recorders, rule->scope, limit);
	err = rule->parsed.trigger ?
	      ue_file_add_trigger(file, rule->parsed.trigger, reason) :
	      ue_file_enable(file, rule->parsed.filter, reason);
	ue_recorder_prepare_end();
	return err;
}

/*
 * Return: false if the event has a recorder in the instance that does not suit the rule: it is for
 * other programs or has another limit, or a rule that shares it has other programs than the trigger
 * is for.
 */
static bool ue_rule_suits(const struct ue_rule *rule, const struct ue_event *event,
			  const struct trace_event_file *file)
{
	unsigned long number = ue_recorder_number(&event->recorders, file);

	return !number ||
	       (ue_rule_equals(rule, event, file) &&
		(rule->scope || !rule->parsed.trigger ||
		 !ue_rules_add_up(event, number, NULL).scoped));
}

static int ue_rule_enable(const struct ue_rule *rule, struct ue_event *event,
			  struct trace_event_file *file, char *reason)
{
	if (ue_rule_joins(rule, event, file, NULL))
		return 0;
	if (!ue_rule_suits(rule, event, file)) {
		strscpy(reason,
			"recorded there for other programs, or with another filter or limit",
			UE_REASON_MAX);
		return -EBUSY;
	}
	return ue_rule_begin(rule, event, file, reason);
}

static int ue_rule_try(struct ue_rule *rule, struct ue_event *event,
		       char *reason)
{
	struct trace_event_file *file = ue_rule_file(rule, event);
	int err;

	if (!file) {
		strscpy(reason, "not in this instance", UE_REASON_MAX);
		return -ENOENT;
	}
	if (!ue_rule_scope_fits(rule, event)) {
		strscpy(reason, "recorded for all programs only", UE_REASON_MAX);
		return -EINVAL;
	}
	if (rule->parsed.trigger && !ue_trigger_fits(rule->parsed.trigger, event->format)) {
		strscpy(reason,
			"the histogram needs a field that the event lacks, or that is not a number",
			UE_REASON_MAX);
		return -EINVAL;
	}
	if (ue_rule_is_full(rule, event)) {
		snprintf(reason, UE_REASON_MAX, "more than %u events",
			 ue_rule_max_events(&rule->parsed));
		return -ENOSPC;
	}
	if (xa_reserve(&rule->applied, event->serial, GFP_KERNEL)) {
		strscpy(reason, "-ENOMEM", UE_REASON_MAX);
		return -ENOMEM;
	}
	err = ue_rule_enable(rule, event, file, reason);
	if (err)
		xa_release(&rule->applied, event->serial);
	else
		ue_rule_applied(rule, event, file);
	return err;
}

/* Creating an event succeeds even if a rule can't be applied to it. */
static void ue_rule_apply(struct ue_rule *rule, struct ue_event *event)
{
	char reason[UE_REASON_MAX];

	lockdep_assert_held(ue_event_mutex);
	if (!ue_rule_is_for(rule, event) ||
	    !ue_rule_try(rule, event, reason))
		return;
	rule->nr_failed++;
	ue_rule_keep_reason(rule, event, reason);
}

static void ue_rules_event_added(struct ue_event *event)
{
	struct ue_rule *rule;

	if (!ue_rules_may_be_for(event))
		return;
	list_for_each_entry(rule, &ue_rules, node)
		ue_rule_apply(rule, event);
}

/*
 * An event that is removed has no recorder. So it was disabled after a rule was
 * applied.
 */
static void ue_rules_event_removed(struct ue_event *event)
{
	struct ue_rule *rule;

	if (!ue_rules_may_be_for(event))
		return;
	list_for_each_entry(rule, &ue_rules, node)
		ue_rule_forget(rule, event->serial);
}

void ue_rules_add_event(struct ue_event *event)
{
	struct ue_rule *rule;

	lockdep_assert_held(ue_event_mutex);
	ue_marks[event->serial] = event;
	list_for_each_entry(rule, &ue_rules, node)
		ue_rule_apply(rule, event);
}

void ue_rules_remove_event(struct ue_event *event)
{
	struct ue_rule *rule;

	lockdep_assert_held(ue_event_mutex);
	ue_marks[event->serial] = NULL;
	list_for_each_entry(rule, &ue_rules, node)
		ue_rule_forget(rule, event->serial);
}

static struct ue_registry_observer ue_rules_observer = {
	.added = ue_rules_event_added,
	.removed = ue_rules_event_removed,
};

/*
 * Finds an event. The caller holds event_mutex, which keeps the event.
 * Return: the event; NULL if there is none in [*@serial, @end).
 */
static struct ue_event *ue_rules_next_event(unsigned long *serial,
					    unsigned long end)
{
	struct ue_event *event;

	for (; *serial < UE_NR_MARKS; ++*serial) {
		event = ue_marks[*serial];
		if (event)
			return *serial < end ? event : NULL;
	}
	rcu_read_lock();
	event = ue_registry_next(serial);
	rcu_read_unlock();
	return *serial < end ? event : NULL;
}

/*
 * Links a rule, and applies the rule to the events that exist. Newer events get
 * the rule when they are created. Releases event_mutex after each event: there
 * may be many.
 */
static void ue_rule_apply_all(struct ue_rule *rule)
{
	unsigned long serial = 0, end;
	struct ue_event *event;

	mutex_lock(ue_event_mutex);
	list_add_tail(&rule->node, &ue_rules);
	ue_rules_set_prefixes();
	end = ue_registry_next_serial();
	while ((event = ue_rules_next_event(&serial, end))) {
		ue_rule_apply(rule, event);
		serial++;
		mutex_unlock(ue_event_mutex);
		cond_resched();
		mutex_lock(ue_event_mutex);
	}
	mutex_unlock(ue_event_mutex);
}

/*
 * Replaces filter, scope and limit of an event that @from gives up. Triggers of other rules keep
 * the scope and the limit that they have.
 * Return: false if that fails. The rule has counted a failure when it was applied to the event.
 */
static bool ue_rule_take_over(struct ue_rule *rule, struct ue_event *event,
			      struct trace_event_file *file, const struct ue_rule *from)
{
	unsigned long number = ue_recorder_number(&event->recorders, file);
	char reason[UE_REASON_MAX] = "-ENOMEM";
	struct ue_limit *limit;

	if (!ue_rule_equals(rule, event, file) &&
	    ue_rules_add_up(event, number, from).triggered)
		return false;
	if (ue_limit_create(&rule->limit, &limit)) {
		ue_rule_keep_reason(rule, event, reason);
		return false;
	}
	if (ue_file_set_filter(file, rule->parsed.filter, reason)) {
		ue_rule_keep_reason(rule, event, reason);
		ue_limit_free(limit);
		return false;
	}
	ue_event_set_limit(event, file, limit);
	ue_event_set_scopes(event, file, rule->scope);
	return true;
}

/*
 * Other rules may be for the event that a removed rule has enabled. Unless the event is @taken by a
 * rule that shares the recorder, another rule takes the event over, so that the event is not
 * disabled in between. Further rules join, if they can.
 * Return: whether a rule has the event.
 */
static bool ue_rules_hand_over(const struct ue_rule *from,
			       struct ue_event *event,
			       struct trace_event_file *file, bool taken)
{
	const void *shared = xa_mk_value(ue_recorder_number(&event->recorders, file));
	struct ue_rule *rule;

	list_for_each_entry(rule, &ue_rules, node) {
		if (rule->instance != from->instance || rule->parsed.trigger ||
		    xa_load(&rule->applied, event->serial) == shared ||
		    !ue_rule_is_for(rule, event) ||
		    !ue_rule_scope_fits(rule, event) || ue_rule_is_full(rule, event) ||
		    xa_reserve(&rule->applied, event->serial, GFP_KERNEL))
			continue;
		if (taken ? ue_rule_joins(rule, event, file, from) :
			    ue_rule_take_over(rule, event, file, from)) {
			ue_rule_applied(rule, event, file);
			taken = true;
		} else {
			xa_release(&rule->applied, event->serial);
		}
	}
	return taken;
}

/*
 * Gives up the scope of a rule that is removed, if the event stays enabled in the instance. Its
 * recorder then records for the rules that are left. If none is left, because others have changed
 * the event, it records all programs, without a limit.
 */
static void ue_rule_leave(const struct ue_rule *rule, struct ue_event *event,
			  unsigned long number)
{
	struct trace_event_file *file = ue_recorder_file(&event->recorders, number);
	struct ue_rules_sum sum;

	if (!file)
		return;
	sum = ue_rules_add_up(event, number, rule);
	if (ue_recorder_scopes(&event->recorders, file) != sum.scopes)
		ue_event_set_scopes(event, file, sum.scopes);
	if (!sum.any)
		ue_event_set_limit(event, file, NULL);
}

static int ue_rule_undo_file(struct ue_rule *rule, struct ue_event *event,
			     struct trace_event_file *file, unsigned long number)
{
	if (rule->parsed.trigger)
		return ue_file_remove_trigger(file, rule->parsed.trigger);
	if (ue_file_is_enabled(file, rule->parsed.filter) &&
	    !ue_rules_hand_over(rule, event, file,
				ue_rules_add_up(event, number, rule).enabled))
		ue_file_disable(file);
	return 0;
}

/*
 * Undoes ue_rule_try(), unless something else was done to the event since.
 * Return: 0; the error of ue_file_remove_trigger().
 */
static int ue_rule_undo(struct ue_rule *rule, struct ue_event *event,
			unsigned long number)
{
	/* Not by name: a kernel probe may have the same name. */
	struct trace_event_file *file = ue_recorder_file(&event->recorders, number);
	int err;

	if (rule->limit.rate)
		ue_suppressions_tell(event);
	err = file ? ue_rule_undo_file(rule, event, file, number) : 0;

	if (!err)
		ue_rule_leave(rule, event, number);
	return err;
}

/* After a success, the rule has no entry for the event. */
static int ue_rule_undo_event(struct ue_rule *rule, unsigned long serial,
			      unsigned long number)
{
	unsigned long found = serial;
	struct ue_event *event = ue_rules_next_event(&found, serial + 1);
	int err = event ? ue_rule_undo(rule, event, number) : 0;

	if (!err)
		ue_rule_forget(rule, serial);
	return err;
}

/*
 * An event may be removed as soon as event_mutex is released.
 * Return: 0; the error of one of the events for which the rule was not undone.
 */
static int ue_rule_undo_events(struct ue_rule *rule)
{
	unsigned long serial = 0;
	int err = 0;
	void *number;

	lockdep_assert_held(ue_event_mutex);
	while ((number = xa_find(&rule->applied, &serial, ULONG_MAX,
				 XA_PRESENT))) {
		err = ue_rule_undo_event(rule, serial, xa_to_value(number)) ?:
		      err;
		serial++;
		mutex_unlock(ue_event_mutex);
		cond_resched();
		mutex_lock(ue_event_mutex);
	}
	return err;
}

/*
 * To remove a filter, the kernel waits for a grace period. For many events that
 * takes long, so grace periods are expedited.
 * Return: 0 with the rule unlinked; or an error, and the rule is applied to new
 * events again.
 */
static int ue_rule_undo_all(struct ue_rule *rule)
{
	int err;

	rcu_expedite_gp();
	mutex_lock(ue_event_mutex);
	err = ue_rule_undo_events(rule);
	if (err)
		rule->removed = false;
	else
		list_del(&rule->node);
	ue_rules_set_prefixes();
	mutex_unlock(ue_event_mutex);
	rcu_unexpedite_gp();
	return err;
}

static void ue_rule_free(struct ue_rule *rule)
{
	if (rule->instance)
		ue_instance_put(rule->instance);
	if (rule->scope)
		ue_updates_finish();
	ue_scope_put(rule->scope);
	xa_destroy(&rule->applied);
	kfree(rule->text);
	kfree(rule->source);
	kfree(rule);
	ue_debug_count(UE_COUNT_RULES, -1);
}

/*
 * Return: the rule, not linked and without an instance; NULL if the text has
 * none; -EINVAL with *@reason, or -ENOMEM.
 */
static struct ue_rule *ue_rule_create(const char *source, const char **reason)
{
	struct ue_rule *rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	int err = -ENOMEM;

	if (!rule)
		return ERR_PTR(-ENOMEM);
	ue_debug_count(UE_COUNT_RULES, 1);
	xa_init(&rule->applied);
	rule->source = kstrdup(source, GFP_KERNEL);
	if (!rule->source)
		goto fail;
	*reason = ue_rule_parse(rule->source, &rule->parsed);
	err = *reason ? -EINVAL : 0;
	if (err || !rule->parsed.name)
		goto fail;
	ue_rule_limit(&rule->parsed, &rule->limit);
	rule->text = ue_rule_to_text(&rule->parsed);
	if (rule->text)
		return rule;
	err = -ENOMEM;
fail:
	ue_rule_free(rule);
	return ERR_PTR(err);
}

static struct ue_rule *ue_rules_find(const char *text)
{
	struct ue_rule *rule;

	list_for_each_entry(rule, &ue_rules, node) {
		if (!strcmp(rule->text, text))
			return rule;
	}
	return NULL;
}

/* A file has one filter, and a recorder one limit. */
static bool ue_rules_differ(const struct ue_rule *one, const struct ue_rule *two)
{
	const char *filter = one->parsed.filter, *other = two->parsed.filter;

	return !ue_rule_limits_equal(&one->limit, &two->limit) ||
	       (filter && other ? strcmp(filter, other) : filter != other);
}

/*
 * If the rules are for the same programs, the earlier rule records these. If not, the
 * programs of the later one would be recorded by neither.
 */
static bool ue_rules_may_conflict(const struct ue_rule *rule,
				  const struct ue_rule *earlier)
{
	return rule->instance == earlier->instance &&
	       rule->scope != earlier->scope && !rule->parsed.trigger &&
	       !earlier->parsed.trigger && ue_rules_differ(rule, earlier);
}

/* Whether @rule is for the event, and the event is recorded as @earlier says. */
static bool ue_rule_is_late(const struct ue_rule *rule, const struct ue_rule *earlier,
			    const struct ue_event *event, unsigned long number)
{
	struct trace_event_file *file = ue_recorder_file(&event->recorders, number);

	return file && ue_rule_is_for(rule, event) &&
	       ue_rule_scope_fits(rule, event) &&
	       ue_file_is_enabled(file, earlier->parsed.filter);
}

/* Return: 0; -EBUSY, and the reason is in the kernel log. */
static int ue_rule_check(const struct ue_rule *rule, struct ue_rule *earlier)
{
	unsigned long serial;
	void *number;
	int err = 0;

	mutex_lock(ue_event_mutex);
	xa_for_each(&earlier->applied, serial, number) {
		unsigned long found = serial;
		struct ue_event *event = ue_rules_next_event(&found, serial + 1);

		if (event && ue_rule_is_late(rule, earlier, event, xa_to_value(number))) {
			pr_warn("the rule is not added, %s is recorded there for other programs, with another filter or limit, by the rule %.128s: %.128s\n",
				ue_event_name(event), earlier->text, rule->text);
			err = -EBUSY;
			break;
		}
		mutex_unlock(ue_event_mutex);
		cond_resched();
		mutex_lock(ue_event_mutex);
	}
	mutex_unlock(ue_event_mutex);
	return err;
}

/* Registering an event succeeds in any case. So only events that exist can conflict. */
static int ue_rules_check(const struct ue_rule *rule)
{
	struct ue_rule *earlier;
	int err = 0;

	list_for_each_entry(earlier, &ue_rules, node) {
		if (ue_rules_may_conflict(rule, earlier))
			err = ue_rule_check(rule, earlier);
		if (err)
			break;
	}
	return err;
}

static int ue_rule_get_instance(struct ue_rule *rule)
{
	const struct cred *cred = override_creds(ue_kernel_cred());

	rule->instance = ue_instance_get(rule->parsed.options[UE_RULE_INSTANCE]);
	revert_creds(cred);
	return rule->instance ? 0 : -ENOMEM;
}

/* On success, @rule is linked. */
static int ue_rules_add(struct ue_rule *rule)
{
	int err;

	if (ue_rules_find(rule->text))
		return -EEXIST;
	err = ue_scope_get(&rule->parsed, &rule->scope);
	if (err) {
		pr_warn("the rule is not added, %s: %.128s\n",
			ue_scope_reason(err), rule->text);
		return err;
	}
	err = ue_rule_get_instance(rule) ?: ue_rules_check(rule);
	if (err) {
		/* Put here, while ue_rules_mutex is held: ue_rule_free() runs without it. */
		ue_scope_put(rule->scope);
		rule->scope = 0;
		return err;
	}
	ue_rule_apply_all(rule);
	return 0;
}

static void ue_rules_set_removed(struct ue_rule *rule)
{
	mutex_lock(ue_event_mutex);
	rule->removed = true;
	mutex_unlock(ue_event_mutex);
}

static int ue_rules_remove(const char *text)
{
	struct ue_rule *rule = ue_rules_find(text);
	int err;

	if (!rule)
		return -ENOENT;
	ue_rules_set_removed(rule);
	err = ue_rule_undo_all(rule);
	if (!err)
		ue_rule_free(rule);
	return err;
}

int ue_rules_change(const char *text)
{
	bool remove = *text == '!';
	const char *reason = NULL;
	struct ue_rule *rule;
	int err;

	rule = ue_rule_create(text + remove, &reason);
	if (reason)
		pr_warn("bad rule, %s: %.128s\n", reason, text);
	if (IS_ERR_OR_NULL(rule))
		return PTR_ERR(rule);
	mutex_lock(&ue_rules_mutex);
	err = remove ? ue_rules_remove(rule->text) : ue_rules_add(rule);
	mutex_unlock(&ue_rules_mutex);
	if (err || remove)
		ue_rule_free(rule);
	/* So a file that is loaded again adds its new rules. */
	return err == -EEXIST ? 0 : err;
}

/*
 * All rules are marked as removed first, so that none takes over the events of
 * another one.
 */
int ue_rules_remove_all(void)
{
	struct ue_rule *rule, *next;
	int err = 0, result;

	mutex_lock(&ue_rules_mutex);
	list_for_each_entry(rule, &ue_rules, node)
		ue_rules_set_removed(rule);
	list_for_each_entry_safe(rule, next, &ue_rules, node) {
		result = ue_rule_undo_all(rule);
		if (result)
			err = result;
		else
			ue_rule_free(rule);
	}
	mutex_unlock(&ue_rules_mutex);
	return err;
}

/*
 * The programs that match are counted once, for all rules, when reading begins: a pass over all
 * programs for each rule would take too long.
 */
void *ue_rules_start(struct seq_file *seq, loff_t *position)
{
	int err = *position ? 0 : ue_scopes_count(seq->private);

	mutex_lock(ue_event_mutex);
	return err ? ERR_PTR(err) : seq_list_start(&ue_rules, *position);
}

void *ue_rules_next(struct seq_file *seq, void *item, loff_t *position)
{
	return seq_list_next(item, &ue_rules, position);
}

void ue_rules_stop(struct seq_file *seq, void *item)
{
	mutex_unlock(ue_event_mutex);
}

/* Counts the payloads beyond the limits of the recorders that a rule has now. */
static unsigned long ue_rule_suppressed(struct ue_rule *rule)
{
	unsigned long serial, nr = 0;
	void *number;

	xa_for_each(&rule->applied, serial, number) {
		unsigned long found = serial;
		const struct ue_event *event = ue_rules_next_event(&found, serial + 1);
		const struct trace_event_file *file = event ?
			ue_recorder_file(&event->recorders, xa_to_value(number)) : NULL;

		if (file)
			nr += ue_limit_suppressed(ue_recorder_limit(&event->recorders, file));
		cond_resched();
	}
	return nr;
}

int ue_rules_show(struct seq_file *seq, void *item)
{
	struct ue_rule *rule = list_entry(item, struct ue_rule, node);

	if (rule->removed)
		return 0;
	seq_printf(seq, "%s # applied to %lu", rule->text, rule->nr_applied);
	if (rule->scope)
		seq_printf(seq, ", matches %u",
			   ue_scope_count(seq->private, rule->scope));
	if (rule->limit.rate)
		seq_printf(seq, ", suppressed %lu", ue_rule_suppressed(rule));
	if (rule->nr_failed)
		seq_printf(seq, ", failed for %lu: %s", rule->nr_failed,
			   rule->reason);
	seq_putc(seq, '\n');
	return 0;
}

int ue_rules_init(void)
{
	ue_registry_observe(&ue_rules_observer);
	return 0;
}

void ue_rules_exit(void)
{
	struct ue_rule *rule, *next;

	ue_registry_unobserve(&ue_rules_observer);
	list_for_each_entry_safe(rule, next, &ue_rules, node) {
		list_del(&rule->node);
		ue_rule_free(rule);
	}
}
