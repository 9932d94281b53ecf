/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the objects of each kind, so that unloading can warn of leaks. Only in
 * modules built with UE_DEBUG=y; otherwise the functions do nothing.
 */
#ifndef UE_DEBUG_COUNTER_H
#define UE_DEBUG_COUNTER_H

/**
 * enum ue_debug_counter - kinds of objects
 * @UE_COUNT_EVENTS: struct ue_event
 * @UE_COUNT_RECORDERS: recorders of events
 * @UE_COUNT_ENABLERS: enablers
 * @UE_COUNT_SETS: sets of enablers
 * @UE_COUNT_MMS: struct ue_mm
 * @UE_COUNT_MUTES: struct ue_mute
 * @UE_COUNT_RETURNS: tasks that look at their bits when they return to user space
 * @UE_COUNT_INDEX_TABLES: index tables of open files
 * @UE_COUNT_RULES: rules
 * @UE_COUNT_SCOPES: scopes of rules
 * @UE_COUNT_LIMITS: limits of recorders
 * @UE_COUNT_USERS: struct ue_user
 * @UE_COUNT_GROUPS: struct ue_group, without the default group
 * @UE_DEBUG_COUNTERS: number of kinds
 */
enum ue_debug_counter {
	UE_COUNT_EVENTS,
	UE_COUNT_RECORDERS,
	UE_COUNT_ENABLERS,
	UE_COUNT_SETS,
	UE_COUNT_MMS,
	UE_COUNT_MUTES,
	UE_COUNT_RETURNS,
	UE_COUNT_INDEX_TABLES,
	UE_COUNT_RULES,
	UE_COUNT_SCOPES,
	UE_COUNT_LIMITS,
	UE_COUNT_USERS,
	UE_COUNT_GROUPS,
	UE_DEBUG_COUNTERS
};

#ifdef UE_DEBUG

/**
 * ue_debug_count() - count a new or a freed object
 * @kind: kind of the object
 * @change: 1 for a new object, -1 for a freed one
 *
 * Context: any.
 */
void ue_debug_count(enum ue_debug_counter kind, int change);

/**
 * ue_debug_counters_check() - warn of objects that were not freed
 *
 * Context: module exit, after all objects were freed.
 */
void ue_debug_counters_check(void);

#else

static inline void ue_debug_count(enum ue_debug_counter kind, int change)
{
}

static inline void ue_debug_counters_check(void)
{
}

#endif

#endif /* UE_DEBUG_COUNTER_H */
