/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scopes: what rules say of programs (pid=, uid=, comm=, exe=, cgroup=).
 *
 * Each distinct set of these options is a scope, and has a bit. An address space has
 * the bits of the scopes that match the process that owns the memory. They are found
 * when the address space is attached, before a forked child runs, and when a rule
 * with a new scope is added. Some time after a process has moved to another control
 * group, a work item looks again which scopes with ``cgroup=`` match.
 *
 * An event is recorded for all programs, or for the scopes in @scopes of struct
 * ue_event.
 */
#ifndef UE_SCOPE_H
#define UE_SCOPE_H

#include <linux/bitops.h>
#include <linux/types.h>

struct ue_mm;
struct ue_rule_text;

/**
 * ue_scope_get() - get the scope of a rule, which is kept for the rule
 * @rule: the rule
 * @scope: set to the bit of the scope; 0 if the rule is for all programs
 *
 * From now on, the address spaces that match have the bit.
 *
 * Context: may sleep; called by one task at a time. event_mutex not held.
 * Return: 0; -ENOENT if there is no process of one of the numbers; -ENOSPC if there
 * are 63 scopes; -EOPNOTSUPP if the kernel lacks the tracepoint cgroup_attach_task, or
 * memory cgroups, which know the process that owns an address space; -ENOMEM.
 */
int ue_scope_get(const struct ue_rule_text *rule, u64 *scope);

/**
 * ue_scope_reason() - say why ue_scope_get() has failed
 * @err: the error
 *
 * Context: any.
 * Return: the reason.
 */
const char *ue_scope_reason(int err);

/**
 * ue_scope_put() - undo ue_scope_get()
 * @scope: the bit, or 0. Neither an event, on behalf of this rule, nor an update that
 *	is left to a work item (see ue_updates_finish()) uses the bit any more.
 *
 * Context: as ue_scope_get().
 */
void ue_scope_put(u64 scope);

/*
 * One less than there are bits: UE_SCOPE_TRACED of traced.h. Also in a message of the tool's
 * tracing/rules.cpp.
 */
#define UE_SCOPES_MAX		63

/**
 * struct ue_scope_counts - how many address spaces match
 * @of: the number for each scope, by its bit
 */
struct ue_scope_counts {
	unsigned int of[UE_SCOPES_MAX];
};

/**
 * ue_scopes_count() - count the address spaces that match, for all scopes at once
 * @counts: set to the numbers
 *
 * Context: may sleep; ue_enabler_mutex not held.
 * Return: 0; -ENOMEM.
 */
int ue_scopes_count(struct ue_scope_counts *counts);

/**
 * ue_scope_count() - look a number up
 * @counts: set by ue_scopes_count()
 * @scope: a bit that some rule has
 *
 * Context: any.
 * Return: the number.
 */
static inline unsigned int ue_scope_count(const struct ue_scope_counts *counts,
					  u64 scope)
{
	return counts->of[__ffs64(scope)];
}

/**
 * ue_scopes_lock() - set the scopes of an address space, and take ue_enabler_mutex
 * @ue_mm: the address space, which need not be attached yet. Its memory belongs to
 *	the current task. Its @scopes are set to those that match.
 *
 * The scopes cannot change while the mutex is held. Calls ue_mm_scopes_changed().
 *
 * Context: may sleep; ue_enabler_mutex not held, but held afterwards by
 * ue_enabler_lock().
 * Return: true if they differ from what @ue_mm had.
 */
bool ue_scopes_lock(struct ue_mm *ue_mm);

/**
 * ue_current_has_scopes() - find out if the current program is in one of some scopes
 * @scopes: their bits
 *
 * Context: as ue_mm_scopes_in_write().
 * Return: true if it is; false also if the address space is not attached.
 */
bool ue_current_has_scopes(u64 scopes);

#endif /* UE_SCOPE_H */
