/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The address spaces that are attached to the module.
 */
#ifndef UE_MM_H
#define UE_MM_H

#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "update_wait.h"

struct ue_enabler_set;

/**
 * struct ue_mm - an attached address space
 * @notifier: reports the end of the address space and the copying of its
 *	memory; holds a reference to the mm_struct, but none to its memory
 * @set: its enablers; NULL while the address space is not attached.
 *	Changed with both @lock and ue_enabler_mutex held, read with either.
 * @of_set: node in the list of address spaces that have @set
 * @task_work: removes @notifier after the address space is detached
 * @detached: node in the list of address spaces whose @notifier a work item
 *	removes
 * @rcu: frees this structure
 * @by_mm: node in the hash table
 * @references: one of the notifier, one while @update_pending, and one of each
 *	fork snapshot that is about to expire
 * @lock: held to change an unshared set in place, and to take a reference to
 *	the set without ue_enabler_mutex. A leaf.
 * @waiting: node in the list of address spaces without a slot for their worker
 * @wait: for tasks that wait for the pending update
 * @snapshots: of forks in progress, or of failed ones; protected by @lock
 * @nr_snapshots: the number of them that are not about to expire; protected
 *	by @lock
 * @snapshots_missing: allocating a snapshot has failed before; needs no lock
 * @update_pending: a worker is to update the enable bits, or is doing so;
 *	changed with ue_enabler_mutex held
 * @update_again: an event has changed since the worker began
 * @worker_holds_mm: the worker holds the memory (mmget())
 *
 * Protected by ue_enabler_mutex unless stated otherwise. The members of the
 * union are used one after the other.
 */
struct ue_mm {
	struct mmu_interval_notifier notifier;
	struct ue_enabler_set *set;
	union {
		struct hlist_node of_set;
		struct callback_head task_work;
		struct list_head detached;
		struct rcu_head rcu;
	};
	struct rhash_head by_mm;
	refcount_t references;
	spinlock_t lock;
	struct list_head waiting;
	struct ue_update_wait wait;
	struct hlist_head snapshots;
	u8 nr_snapshots;
	bool snapshots_missing;
	bool update_pending;
	bool update_again;
	bool worker_holds_mm;
};

/**
 * ue_mm_has_exited() - has the program exited, or called exec?
 * @ue_mm: the address space
 * @holders: how many references to its memory (mmget()) the caller holds, not
 *	counting those of the worker and of the program itself
 *
 * If only this module still holds the memory, no program uses its bits, and
 * pages that are shared with other programs may be in use for something else. A
 * reference that another part of the kernel holds counts as the program's.
 *
 * Context: ue_enabler_mutex held.
 * Return: true if nothing may be written to the memory any more.
 */
static inline bool ue_mm_has_exited(const struct ue_mm *ue_mm, int holders)
{
	return atomic_read(&ue_mm->notifier.mm->mm_users) <=
	       ue_mm->worker_holds_mm + holders;
}

/**
 * ue_mm_create() - allocate a struct ue_mm with one reference, not in the table
 *
 * Context: may sleep.
 * Return: the ue_mm, or NULL if memory is short.
 */
struct ue_mm *ue_mm_create(void);

/**
 * ue_mm_put() - drop a reference
 * @ue_mm: the address space; freed with the last reference
 *
 * Context: any.
 */
void ue_mm_put(struct ue_mm *ue_mm);

/**
 * ue_mm_find_current() - find the current address space
 *
 * It stays attached as long as the current task uses the address space.
 *
 * Context: any.
 * Return: the ue_mm, or NULL if it is not attached.
 */
struct ue_mm *ue_mm_find_current(void);

/**
 * ue_mm_insert() - add an address space to the table
 * @ue_mm: has a set, so that every ue_mm in the table has one
 *
 * Context: ue_enabler_mutex held; does not sleep.
 * Return: 0; -EEXIST if the table has its mm_struct; -ENOMEM.
 */
int ue_mm_insert(struct ue_mm *ue_mm);

/**
 * ue_mm_erase() - remove an address space from the table
 * @ue_mm: the address space
 *
 * Context: ue_enabler_mutex held.
 */
void ue_mm_erase(struct ue_mm *ue_mm);

/**
 * ue_mm_table_init() - create the table
 *
 * Return: 0 or -ENOMEM.
 */
int ue_mm_table_init(void);

/**
 * ue_mm_table_exit() - destroy the table
 * @detach: called for each ue_mm that is still in the table
 *
 * Context: at unload, ue_enabler_mutex held.
 */
void ue_mm_table_exit(void (*detach)(void *ue_mm, void *unused));

#endif /* UE_MM_H */
