/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Address spaces that perf events of single tasks may record.
 *
 * A *root* is a perf event that was opened for a task (perf record -p), and not one that was
 * inherited. An address space is *traced* if a root of any event may record one of its tasks. The
 * bit of an event that has roots is 1 in all address spaces that are traced, until its last root
 * is closed. So a program that is traced for one event may also have the bits of others.
 *
 * An address space becomes traced when a root is opened for one of its tasks. While there are
 * roots, one that is attached also becomes traced if one of its tasks has perf events. All further
 * tasks are cloned from these. A forked child of a traced one looks at its own perf events before
 * the child runs. When there are no roots, the period ends, and all that are traced cease to be so.
 *
 * ue_enabler_mutex protects everything here.
 */
#ifndef UE_TRACED_H
#define UE_TRACED_H

#include <linux/bits.h>
#include <linux/types.h>

#include "programs/mm.h"

struct perf_event;

/* The scope of the address spaces that are traced. Rules have the other bits. */
#define UE_SCOPE_TRACED		BIT_ULL(63)

/* The number of perf events of single tasks, and of the period. */
extern unsigned int ue_nr_roots, ue_traced_period;

/**
 * ue_mm_is_traced() - may perf record the program as a single task?
 * @ue_mm: the address space
 *
 * Context: any; without ue_enabler_mutex the result may be outdated.
 * Return: true if it may.
 */
static inline bool ue_mm_is_traced(const struct ue_mm *ue_mm)
{
	return READ_ONCE(ue_mm->traced_period) == READ_ONCE(ue_traced_period);
}

/**
 * ue_mm_scopes() - get all scopes that match
 * @ue_mm: the address space
 *
 * Context: ue_enabler_mutex held.
 * Return: their bits, with UE_SCOPE_TRACED if the address space is traced.
 */
static inline u64 ue_mm_scopes(const struct ue_mm *ue_mm)
{
	return ue_mm->scopes | (ue_mm_is_traced(ue_mm) ? UE_SCOPE_TRACED : 0);
}

/**
 * ue_mm_differs() - may this address space need other bits than others?
 * @ue_mm: the address space
 *
 * Context: any; without ue_enabler_mutex the result may be outdated.
 * Return: true if a forked child may have to write bits: it has no mutes, and perhaps does not
 * inherit the perf events.
 */
static inline bool ue_mm_differs(const struct ue_mm *ue_mm)
{
	return !hlist_empty(&ue_mm->mutes) ||
	       (READ_ONCE(ue_nr_roots) && ue_mm_is_traced(ue_mm));
}

/**
 * ue_new_root_add() - note a root that perf has yet to add to its task
 * @root: the root; taken off by list_del() of its hw.tp_list
 *
 * Context: ue_enabler_mutex held.
 */
void ue_new_root_add(struct perf_event *root);

/**
 * ue_mm_look_for_perf() - find out if the current address space is traced
 * @ue_mm: the current address space
 *
 * Context: ue_enabler_mutex held.
 */
void ue_mm_look_for_perf(struct ue_mm *ue_mm);

#endif /* UE_TRACED_H */
