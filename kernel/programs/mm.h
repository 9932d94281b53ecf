/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The address spaces that are attached to the module, and those that wait to be
 * attached.
 */
#ifndef UE_MM_H
#define UE_MM_H

#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/llist.h>
#include <linux/mm_types.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct ue_enabler_set;

/**
 * struct ue_mm - an attached address space
 * @mm: the address space; a reference to the mm_struct, so that no other address
 *	space gets the same one, but no reference to its memory
 * @set: its enablers; NULL while the address space is not attached.
 *	Changed with both @lock and ue_enabler_mutex held, read with either.
 * @of_set: node in the list of address spaces that have @set. A forked child is
 *	not in the list before it runs.
 * @scopes: the scopes that match, see scope.h. Of a forked child that has not run,
 *	those that the parent had at the fork; a later change sets @inherited_stale.
 *	Read without the mutex, too.
 * @mutes: of struct ue_mute, by @of_mm; a forking task reads whether there are any
 *	without the mutex
 * @of_table: node in the hash table
 * @references: one of the table, one of a forked child before it runs, one of each walk that looks
 *	at it (ue_mms_get())
 * @lock: held to change an unshared set in place, and to take a reference to
 *	the set without ue_enabler_mutex. Inside it, only the locks of the hash
 *	table are taken.
 * @first_run: makes a forked child join its set before it runs in user space
 * @end_task_work: detaches the address space after its end
 * @ended: node in the list of address spaces that a work item detaches after
 *	their end
 * @rcu: frees this structure
 * @inherited_changes: of a forked child: @set->changes when its memory was
 *	copied
 * @inherited_stale: of a forked child: the copied enable bits may differ from
 *	the state of their events, as the parent's bits did, or because of a change
 *	since the fork
 * @stale_changes: counts the changes that were left to the tasks of the address space
 * @stale: the tasks of the address space have to write the bits, see stale.h
 * @traced_period: equals @ue_traced_period if perf traces the address space, see traced.h;
 *	also read without the mutex
 *
 * Protected by ue_enabler_mutex unless stated otherwise. The members of the
 * union are used one after the other.
 */
struct ue_mm {
	struct mm_struct *mm;
	struct ue_enabler_set *set;
	struct hlist_node of_set;
	u64 scopes;
	struct hlist_head mutes;
	struct rhash_head of_table;
	refcount_t references;
	spinlock_t lock;
	struct callback_head first_run;
	union {
		struct callback_head end_task_work;
		struct llist_node ended;
		struct rcu_head rcu;
	};
	unsigned int inherited_changes;
	unsigned int stale_changes;
	unsigned int traced_period;
	bool inherited_stale;
	bool stale;
};

/**
 * ue_mm_create() - allocate a struct ue_mm with one reference, not in the table
 * @mm: the address space; the caller has a reference
 * @gfp: how to allocate; if it does not allow sleeping, there is a reserve
 *
 * Context: depends on @gfp.
 * Return: the ue_mm, or NULL if memory is short.
 */
struct ue_mm *ue_mm_create(struct mm_struct *mm, gfp_t gfp);

/**
 * ue_mm_put() - drop a reference
 * @ue_mm: the address space; freed with the last reference
 *
 * Context: a task; does not sleep.
 */
void ue_mm_put(struct ue_mm *ue_mm);

/**
 * ue_mm_find() - find an address space in the table
 * @mm: the address space
 *
 * Context: any. The result stays valid until the address space has ended, and
 * under RCU.
 * Return: the ue_mm, or NULL if it is not attached.
 */
struct ue_mm *ue_mm_find(struct mm_struct *mm);

/**
 * ue_mm_find_current() - find the current address space
 *
 * The address space stays attached as long as the current task uses it.
 *
 * Context: any.
 * Return: the ue_mm, or NULL if it is not attached.
 */
static inline struct ue_mm *ue_mm_find_current(void)
{
	return ue_mm_find(current->mm);
}

/**
 * struct ue_known_scopes - the scopes of the program that has written last on a CPU
 * @mm: its memory; may have been freed
 * @changes: @ue_scope_changes at that time
 * @scopes: the scopes
 */
struct ue_known_scopes {
	const struct mm_struct *mm;
	long changes;
	u64 scopes;
};

DECLARE_PER_CPU(struct ue_known_scopes, ue_known_scopes);

/* How often an address space was added or removed, or has got other scopes. */
extern atomic_long_t ue_scope_changes;

/**
 * ue_mm_look_up_scopes() - do what ue_mm_scopes_in_write() does, with a lookup
 * @known: what is known on this CPU; set
 * @changes: @ue_scope_changes before the call
 *
 * Context: as ue_mm_scopes_in_write().
 * Return: as ue_mm_scopes_in_write().
 */
u64 ue_mm_look_up_scopes(struct ue_known_scopes *known, long changes);

/**
 * ue_mm_scopes_in_write() - get the scopes of the current program
 *
 * Context: preemption disabled, in a system call.
 * Return: its scopes; 0 if its memory is not attached.
 */
static __always_inline u64 ue_mm_scopes_in_write(void)
{
	struct ue_known_scopes *known = this_cpu_ptr(&ue_known_scopes);
	/* Before the scopes are read: pairs with ue_mm_scopes_changed(). */
	const long changes = atomic_long_read_acquire(&ue_scope_changes);

	if (likely(known->mm == current->mm && known->changes == changes))
		return known->scopes;
	return ue_mm_look_up_scopes(known, changes);
}

/**
 * ue_mm_scopes_changed() - make each writing program look up its scopes again
 *
 * Called after a change of the scopes of an address space that is in the table, and after
 * an address space was added to the table. Also called after an address space was removed
 * from the table and before its mm_struct is freed: so another address space that gets the
 * same mm_struct is not taken for the removed one.
 *
 * Context: any.
 */
static inline void ue_mm_scopes_changed(void)
{
	/* Pairs with ue_mm_scopes_in_write(): with the new count, the new scopes are read. */
	atomic_long_inc_return_release(&ue_scope_changes);
}

/**
 * ue_mm_insert() - add an address space to the table
 * @ue_mm: has a set, so that every ue_mm in the table has one; the table owns
 *	the caller's reference after a success
 *
 * Context: any; does not sleep.
 * Return: 0; -EEXIST if the table has its mm_struct; -ENOMEM.
 */
int ue_mm_insert(struct ue_mm *ue_mm);

/**
 * ue_mms_get() - take a reference to each address space in the table
 * @mms: set to an array, to be freed with kvfree()
 *
 * An address space that is added during the call may be left out.
 *
 * Context: may sleep.
 * Return: how many there are; -ENOMEM.
 */
int ue_mms_get(struct ue_mm ***mms);

/**
 * ue_mm_erase() - remove an address space from the table
 * @ue_mm: the address space; the table's reference becomes the caller's
 *
 * Context: any.
 */
void ue_mm_erase(struct ue_mm *ue_mm);

/**
 * ue_pending_fork_add() - note the copy of an address space that can't be attached yet
 * @mm: the copy, which is not noted
 *
 * See ue_fork_leave_copy(). The copy is noted until its fork ends, so that no other
 * child is taken for it. There is room for 64 copies, for the whole machine.
 *
 * Context: any; the task that forks.
 * Return: false if too many are noted.
 */
bool ue_pending_fork_add(struct mm_struct *mm);

/**
 * ue_pending_fork_take() - remove the note of a copy, if there is one
 * @mm: any address space; the child's when fork succeeds, or one that ends
 *
 * Context: any; no other task adds or takes @mm at the same time.
 * Return: whether it was noted.
 */
bool ue_pending_fork_take(const struct mm_struct *mm);

/**
 * ue_mm_table_init() - create the table
 *
 * Return: 0 or -ENOMEM.
 */
int ue_mm_table_init(void);

/**
 * ue_mm_table_exit() - destroy the table
 * @detach: called for each ue_mm that is still in the table; gets the table's
 *	reference
 *
 * Context: at unload; may sleep.
 */
void ue_mm_table_exit(void (*detach)(void *ue_mm, void *unused));

#endif /* UE_MM_H */
