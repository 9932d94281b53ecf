/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaches address spaces to the module, and detaches them when they end. An
 * attached address space has a set of enablers. The set is shared after a fork,
 * and copied when one of the sharing address spaces changes it.
 */
#ifndef UE_MM_ATTACH_H
#define UE_MM_ATTACH_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "programs/enabler.h"
#include "programs/mm.h"

/**
 * ue_mm_attach() - attach an address space until it ends
 * @mm: the address space, whose memory the caller holds (mmget()). If perf events
 *	record single tasks, @mm is the current task's: see ue_mm_look_for_perf().
 * @set: its set; on success the caller's reference becomes the address space's
 *
 * Context: may sleep.
 * Return: 0; -EEXIST if it is attached already; -ENOMEM.
 */
int ue_mm_attach(struct mm_struct *mm, struct ue_enabler_set *set);

/**
 * ue_mm_join_set() - add an address space to the list of its set
 * @ue_mm: the address space, which is in no list; nothing happens if it has no
 *	set
 *
 * From now on, updates reach its bits, except those whose walk (below) is in progress. If the set
 * has such a walk, the caller updates all bits of a forked child.
 *
 * Context: ue_enabler_mutex held.
 */
void ue_mm_join_set(struct ue_mm *ue_mm);

/**
 * struct ue_set_walk - a walk through the address spaces of a set
 * @of_set: node in the list of the set, from the beginning to the end of the walk
 * @next: the address space that is next, or NULL
 *
 * ue_enabler_mutex may be released between two steps. An address space that leaves the set in the
 * meantime is passed over. One that joins it is not met, so that a program cannot fork faster
 * than the walk goes: a forked child that joins during a walk updates its bits itself.
 */
struct ue_set_walk {
	struct hlist_node of_set;
	struct ue_mm *next;
};

/**
 * ue_set_walk_begin() - begin with the first address space of a set
 * @walk: not in progress
 * @set: the set. If it is freed, the walk ends.
 *
 * Context: ue_enabler_mutex held.
 */
void ue_set_walk_begin(struct ue_set_walk *walk, struct ue_enabler_set *set);

/**
 * ue_set_walk_next() - go on to the next address space
 * @walk: the walk
 *
 * Context: ue_enabler_mutex held.
 * Return: the address space; NULL if there is no other.
 */
struct ue_mm *ue_set_walk_next(struct ue_set_walk *walk);

/**
 * ue_set_walk_end() - end a walk
 * @walk: the walk; nothing happens if it has ended, or is all zeros
 *
 * The complete walk of an update ends in the critical section that counts the update in
 * @changes of the set: a forked child sees one or the other.
 *
 * Context: ue_enabler_mutex held.
 */
void ue_set_walk_end(struct ue_set_walk *walk);

/**
 * ue_mm_shares_set() - find out if another address space, or a copy in progress, has a reference to
 * the set
 * @ue_mm: the address space, which stays attached
 *
 * A fork may share the set at any time.
 *
 * Context: ue_enabler_mutex held.
 * Return: true if the set must not be changed.
 */
static inline bool ue_mm_shares_set(const struct ue_mm *ue_mm)
{
	return atomic_read(&ue_mm->set->references) > 1;
}

/**
 * ue_mm_own_set() - give an address space a set that it does not share
 * @ue_mm: the address space, which stays attached: the caller holds its memory
 * @times: as for ue_enabler_set_copy(), if the set has to be copied
 * @gfp: how to allocate
 *
 * A fork may share the set again at any time.
 *
 * Context: ue_enabler_lock() held, which may be released and retaken; may sleep.
 * Return: 0; -EMFILE; -ENOMEM.
 */
int ue_mm_own_set(struct ue_mm *ue_mm, unsigned int times, gfp_t gfp);

/**
 * ue_mm_lock_own_set() - take @ue_mm->lock if the set is not shared
 * @ue_mm: the address space
 *
 * Context: ue_enabler_mutex held.
 * Return: true with the lock held, and the set may be changed in place; else
 * false.
 */
bool ue_mm_lock_own_set(struct ue_mm *ue_mm);

/**
 * ue_mm_detach_ended() - wait for the work item that detaches address spaces
 *
 * Afterwards, the address spaces that ended in a kernel thread before the call
 * are detached. The task in which another address space ended detaches it on
 * the way to user space, or during exit.
 *
 * Context: may sleep.
 */
void ue_mm_detach_ended(void);

/**
 * ue_mm_attach_init() - begin to track the ends of address spaces
 *
 * Return: 0; an error of ue_kernel_hook_add(); -ENOMEM.
 */
int ue_mm_attach_init(void);

/**
 * ue_mm_attach_exit() - detach all address spaces
 *
 * Context: at unload; may sleep. No set has enablers any more.
 */
void ue_mm_attach_exit(void);

#endif /* UE_MM_ATTACH_H */
