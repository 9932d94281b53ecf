/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The enabler set of a parent as it was when fork copied the memory.
 */
#ifndef UE_FORK_SNAPSHOT_H
#define UE_FORK_SNAPSHOT_H

#include <linux/types.h>

struct ue_enabler_set;
struct ue_mm;

/**
 * struct ue_inherited_set - the set that a child inherits
 * @set: the set; the structure owns a reference to it
 * @changes: @set->changes when the reference was taken
 * @stale: the enable bits in the copied memory may differ from the state of
 *	their events
 * @notifier_address: if not 0, and the child's memory at this address was
 *	copied, the enablers in @set are newer than the copy, and the child
 *	inherits nothing
 */
struct ue_inherited_set {
	struct ue_enabler_set *set;
	unsigned int changes;
	bool stale;
	unsigned long notifier_address;
};

/**
 * ue_fork_snapshot_take() - take a snapshot while fork copies the memory
 * @ue_mm: the parent's address space
 *
 * If memory is short, no snapshot is taken. A set without enablers needs none.
 *
 * Context: in the forking task, which holds the mmap_lock for writing; does not
 * sleep. A call for another reason than a fork leaves a snapshot that does no
 * harm.
 */
void ue_fork_snapshot_take(struct ue_mm *ue_mm);

/**
 * ue_fork_snapshots_expire() - make all snapshots of an address space expire
 * @ue_mm: the parent's address space
 *
 * Called before the set is replaced, or if there are too many snapshots. Each
 * forking task drops its snapshot when it returns to user space or exits.
 * The kernel does not report a failed fork, so its snapshot remains. It is
 * harmless as long as the address space keeps its set.
 *
 * Context: @ue_mm->lock held.
 */
void ue_fork_snapshots_expire(struct ue_mm *ue_mm);

/**
 * ue_fork_inherit() - take a reference to the set that a child inherits
 * @inherited: filled in; the caller hands its reference to ue_mm_attach(), or
 *	drops it with ue_enabler_set_put()
 *
 * The set comes from the current task's snapshot. If there is none, it is the
 * set that the current address space has now.
 *
 * Context: in the forking task; does not sleep.
 * Return: false if there is nothing to inherit.
 */
bool ue_fork_inherit(struct ue_inherited_set *inherited);

#endif /* UE_FORK_SNAPSHOT_H */
