// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts what there is of each kind, in modules built with UE_DEBUG=y.
 */
#include <linux/atomic.h>
#include <linux/bug.h>

#include "tally.h"

static const char * const ue_tally_names[UE_TALLIES] = {
	[UE_TALLY_EVENTS]	= "events",
	[UE_TALLY_RECORDERS]	= "recorders",
	[UE_TALLY_ENABLERS]	= "enablers",
	[UE_TALLY_SETS]		= "sets of enablers",
	[UE_TALLY_PROCESSES]	= "address spaces",
	[UE_TALLY_WORKERS]	= "workers",
	[UE_TALLY_NOTES]	= "notes of forks",
	[UE_TALLY_FORKS]	= "forks",
	[UE_TALLY_FILES]	= "open files",
};

static atomic_t ue_tallies[UE_TALLIES];

void ue_tally(enum ue_tally kind, int change)
{
	WARN(atomic_add_return(change, &ue_tallies[kind]) < 0,
	     "user_events: more %s went than came\n", ue_tally_names[kind]);
}

void ue_tally_check(void)
{
	for (int i = 0; i < UE_TALLIES; i++)
		WARN(atomic_read(&ue_tallies[i]),
		     "user_events: unloaded with %d %s left\n",
		     atomic_read(&ue_tallies[i]), ue_tally_names[i]);
}
