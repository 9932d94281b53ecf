// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the objects of each kind, in modules built with UE_DEBUG=y.
 */
#include <linux/atomic.h>
#include <linux/bug.h>

#include "port/debug_counter.h"

static const char * const ue_debug_counter_names[UE_DEBUG_COUNTERS] = {
	[UE_COUNT_EVENTS]	= "events",
	[UE_COUNT_RECORDERS]	= "recorders",
	[UE_COUNT_ENABLERS]	= "enablers",
	[UE_COUNT_SETS]		= "sets of enablers",
	[UE_COUNT_MMS]		= "address spaces",
	[UE_COUNT_MUTES]	= "mutes of address spaces",
	[UE_COUNT_RETURNS]	= "task_works",
	[UE_COUNT_INDEX_TABLES]	= "index tables",
	[UE_COUNT_RULES]	= "rules",
	[UE_COUNT_SCOPES]	= "scopes of rules",
	[UE_COUNT_LIMITS]	= "limits of recorders",
	[UE_COUNT_USERS]	= "users",
	[UE_COUNT_GROUPS]	= "groups",
};

static atomic_t ue_debug_counters[UE_DEBUG_COUNTERS];

void ue_debug_count(enum ue_debug_counter kind, int change)
{
	WARN(atomic_add_return(change, &ue_debug_counters[kind]) < 0,
	     "user_events: more %s were freed than allocated\n",
	     ue_debug_counter_names[kind]);
}

void ue_debug_counters_check(void)
{
	for (int i = 0; i < UE_DEBUG_COUNTERS; i++)
		WARN(atomic_read(&ue_debug_counters[i]),
		     "user_events: the module exits, but %d %s are not freed\n",
		     atomic_read(&ue_debug_counters[i]), ue_debug_counter_names[i]);
}
