/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts what there is of each kind, so that unloading can tell what was
 * forgotten. Only in modules built with UE_DEBUG=y; else there is nothing.
 */
#ifndef UE_TALLY_H
#define UE_TALLY_H

enum ue_tally {
	UE_TALLY_EVENTS,
	UE_TALLY_RECORDERS,
	UE_TALLY_ENABLERS,
	UE_TALLY_SETS,
	UE_TALLY_PROCESSES,
	UE_TALLY_WORKERS,
	UE_TALLY_NOTES,
	UE_TALLY_FORKS,
	UE_TALLY_FILES,
	UE_TALLIES
};

#ifdef UE_DEBUG

/* ue_tally() - one of a kind has come (1), or gone (-1). Any context. */
void ue_tally(enum ue_tally kind, int change);

/* ue_tally_check() - at unload: warn of each kind of which there are some. */
void ue_tally_check(void);

#else

static inline void ue_tally(enum ue_tally kind, int change)
{
}

static inline void ue_tally_check(void)
{
}

#endif

#endif /* UE_TALLY_H */
