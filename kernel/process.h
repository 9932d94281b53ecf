/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The address spaces that have enablers, and which set each of them has.
 */
#ifndef UE_PROCESS_H
#define UE_PROCESS_H

#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct ue_enabler_set;

/**
 * struct ue_process - an address space that has, or had, enablers
 * @notifier: holds the mm_struct, and tells of the end
 * @set: its enablers; NULL before it is known and after it is gone. Changed
 *	with @lock and ue_enabler_mutex held, read with either.
 * @in_set: its place among those who have @set
 * @task_work: removes @notifier, after the end
 * @ended: its place among those whose @notifier a worker removes
 * @rcu: frees it
 * @by_mm: its place in the table
 * @references: one of the notifier, one while @behind, one of each
 *	note that is going to end
 * @lock: taken to change the set in place, which needs the only share of it,
 *	and to take another share of it
 * @waiting: its place among those for whom the workqueue has no place
 * @expected: its place among those that are waited for, while @behind
 * @expected_since: when that began, in jiffies
 * @notes: of forks under way, or failed; protected by @lock
 * @nr_notes: how many of them are not going to end; protected by @lock
 * @notes_missing: there was no memory for one; no lock
 * @behind: it is to be brought up to date, or is just being; changed with
 *	ue_enabler_mutex held
 * @unexpected: how often it is not going to be waited for
 * @again: something has changed since that has begun
 * @held: the worker holds the memory (mmget())
 *
 * Protected by ue_enabler_mutex where nothing else is said.
 */
struct ue_process {
	struct mmu_interval_notifier notifier;
	struct ue_enabler_set *set;
	union {	/* one after the other */
		struct hlist_node in_set;
		struct callback_head task_work;
		struct list_head ended;
		struct rcu_head rcu;
	};
	struct rhash_head by_mm;
	refcount_t references;
	spinlock_t lock;
	struct list_head waiting;
	struct list_head expected;
	struct hlist_head notes;
	u32 expected_since;
	u8 nr_notes;
	bool notes_missing;
	bool behind;
	bool again;
	bool held;
	u8 unexpected;
};

/*
 * ue_process_mm() - the address space; held, not its memory, until it has been
 * forgotten
 */
static inline struct mm_struct *ue_process_mm(const struct ue_process *process)
{
	return process->notifier.mm;
}

/**
 * struct ue_share - a share of a set, taken at a fork
 * @set: the set
 * @changes: of the set, at the fork
 * @stale: the copied memory may be behind the events
 * @told_by: 0, or an address: if the child has a copy of what was there, the set
 *	had no enablers when the memory was copied
 */
struct ue_share {
	struct ue_enabler_set *set;
	unsigned int changes;
	bool stale;
	unsigned long told_by;
};

/**
 * ue_process_find() - the record of an address space
 * @mm: the address space
 *
 * Context: ue_enabler_mutex held.
 * Return: the record, or NULL.
 */
struct ue_process *ue_process_find(struct mm_struct *mm);

/**
 * ue_process_know() - make sure that an address space is known
 * @mm: the address space, held by the caller (mmget())
 * @set: the set it is to have
 *
 * On success the caller's share of @set is the address space's. It stays
 * known until its last user is gone.
 *
 * Context: may sleep; takes mmap_lock, and waits until nobody changes the page
 * tables.
 * Return: 0; -EEXIST when it is known already; -ENOMEM; -EINTR when a signal
 * came first.
 */
int ue_process_know(struct mm_struct *mm, struct ue_enabler_set *set);

/**
 * ue_process_find_current() - the record of the current address space
 *
 * It stays known as long as the current task has it.
 *
 * Context: any.
 * Return: the record, or NULL.
 */
struct ue_process *ue_process_find_current(void);

/**
 * ue_process_own_set() - give an address space a set that nobody else has
 * @process: the address space; not forgotten meanwhile, the caller holds it
 * @gfp: how to get memory
 *
 * Forks may share it again at any time.
 *
 * Context: ue_enabler_mutex held, which may be dropped meanwhile; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_process_own_set(struct ue_process *process, gfp_t gfp);

/**
 * ue_process_lock_own_set() - take @process->lock, if nobody shares the set
 * @process: the address space, as above
 *
 * Context: ue_enabler_mutex held.
 * Return: whether the lock is held now, and the set can be changed in place.
 */
bool ue_process_lock_own_set(struct ue_process *process);

/**
 * ue_process_share() - take a share of the current address space's set
 * @share: set to it, for ue_process_know() or ue_share_drop()
 *
 * It is the set as it was when the current fork copied the memory; where that is
 * not known, as it is now, with @share->stale and @share->told_by.
 *
 * Context: any; sleeps not.
 * Return: false when there is nothing to share.
 */
bool ue_process_share(struct ue_share *share);

/**
 * ue_share_drop() - give up a share that no address space has
 * @set: the set
 *
 * Context: may sleep; ue_enabler_mutex not held.
 */
void ue_share_drop(struct ue_enabler_set *set);

/* ue_process_put() - one reference less. Any context. */
void ue_process_put(struct ue_process *process);

int ue_processes_init(void);

/* ue_processes_exit() - forget all address spaces; at unload. */
void ue_processes_exit(void);

#endif /* UE_PROCESS_H */
