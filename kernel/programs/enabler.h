/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Enablers (registrations of enable bits), and sets of them.
 *
 * An address space has one set, which it may share with others after a fork.
 * ue_enabler_mutex protects everything here; its holders wait for no program.
 */
#ifndef UE_ENABLER_H
#define UE_ENABLER_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>

#include "programs/user_bit.h"

struct ue_event;
struct ue_account;
struct ue_users;

/*
 * Taken inside the mmap_lock and event_mutex. Inside it are taken
 *
 * - the lock of an address space, and those of the tables of address spaces and of users
 * - the kernel's task_lock, and the lock of a task's perf events
 * - an mmap_lock and the lock of a file's page, by trylock
 *
 * and no other lock, except those that functions of the kernel take inside and release again.
 */
extern struct mutex ue_enabler_mutex;

/*
 * After creating, copying or freeing this many enablers, or writing as many bits, the holder of the
 * mutex lets other tasks run and take the mutex. With lazy preemption,
 * only real-time tasks preempt the holder before that (unless preemption is disabled). If such a
 * task needs the mutex, it waits all the same.
 */
#define UE_ENABLERS_AT_ONCE	128

/* The number of the last registration, from 1. Protected by ue_enabler_mutex. */
extern u64 ue_enabler_last_id;

/**
 * ue_enabler_lock() - take ue_enabler_mutex in a task of a program
 *
 * Of each share (see user.h), one task at a time waits for the mutex. The other tasks wait for
 * their turn, and look for the mutex only now and then, in case the one that has the turn does
 * not run. A task gets the mutex only while it runs, and then preemption is disabled (except on
 * PREEMPT_RT). So no scheduling parameter or limit of a program that calls this keeps others
 * waiting for the mutex.
 *
 * Context: may sleep. The mmap_lock may be held, event_mutex must not be.
 */
void ue_enabler_lock(void);

/**
 * ue_enabler_trylock() - take ue_enabler_mutex as ue_enabler_lock() does, without waiting
 *
 * Context: any task of a program.
 * Return: true with the mutex held; false if another task has it.
 */
bool ue_enabler_trylock(void);

/**
 * ue_enabler_unlock() - undo ue_enabler_lock()
 *
 * Context: in the task that has called ue_enabler_lock().
 */
void ue_enabler_unlock(void);

/**
 * ue_cache_create() - create a cache for objects of one size
 * @what: the end of its name, which begins with that of the module
 * @size: of an object, bytes
 *
 * Context: may sleep.
 * Return: the cache, for kmem_cache_destroy(); NULL if memory is short.
 */
struct kmem_cache *ue_cache_create(const char *what, size_t size);

/**
 * ue_enabler_yield() - let other tasks have ue_enabler_mutex now and then
 * @nr: how many objects the caller has handled
 *
 * Context: ue_enabler_lock() held, which may be released and retaken.
 */
void ue_enabler_yield(unsigned int nr);

/**
 * ue_enabler_pause() - let other tasks run and have ue_enabler_mutex
 *
 * Context: ue_enabler_mutex held, but not by ue_enabler_lock(), as in a kernel thread or with
 * event_mutex; may sleep.
 */
static inline void ue_enabler_pause(void)
{
	mutex_unlock(&ue_enabler_mutex);
	cond_resched();
	mutex_lock(&ue_enabler_mutex);
}

/**
 * ue_enablers_init() - get ready to lock and to allocate
 *
 * Context: before anything else of this file; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_enablers_init(void);

/**
 * ue_enablers_exit() - undo ue_enablers_init()
 *
 * Context: may sleep; there are no enablers and no sets.
 */
void ue_enablers_exit(void);

/**
 * struct ue_enabler - one registration
 * @bit: the enable bit
 * @event: the event that the bit follows; the enabler is a user of it
 * @set: the set that owns the enabler
 * @id: of the registration and its copies in other sets; no other registration
 *	ever has the same
 * @update: number of the last update of @event that has reached the enabler
 * @in_set: node in @set, by address and number of the bit
 * @of_event: node in @event->enablers
 */
struct ue_enabler {
	struct ue_user_bit bit;
	struct ue_event *event;
	struct ue_enabler_set *set;
	u64 id;
	u32 update;
	struct rb_node in_set;
	struct list_head of_event;
};

/**
 * struct ue_enabler_set - the enablers of an address space
 * @enablers: by address and number of the bit
 * @accounts: where its enablers count, one for each group of their events
 * @nr: how many
 * @references: of address spaces, and copying in progress; fork.c changes it
 *	without ue_enabler_mutex
 * @changes: counts updates of any of its events; read without the mutex
 * @mms: the address spaces (struct ue_mm) that have the set
 * @walks: those through @mms that are in progress (struct ue_set_walk)
 */
struct ue_enabler_set {
	struct rb_root enablers;
	struct ue_account *accounts;
	unsigned int nr;
	atomic_t references;
	unsigned int changes;
	struct hlist_head mms;
	struct hlist_head walks;
};

/**
 * ue_enabler_create() - create an enabler that is in no set
 * @gfp: how to allocate
 *
 * Context: depends on @gfp.
 * Return: the enabler, or NULL if memory is short.
 */
struct ue_enabler *ue_enabler_create(gfp_t gfp);

/**
 * ue_enabler_free() - free an enabler that is in no set
 * @enabler: the enabler
 *
 * Context: any.
 */
void ue_enabler_free(struct ue_enabler *enabler);

/**
 * ue_enabler_set_create() - create an empty set without accounts
 * @gfp: how to allocate
 *
 * Context: depends on @gfp.
 * Return: the set, with one reference, or NULL if memory is short.
 */
struct ue_enabler_set *ue_enabler_set_create(gfp_t gfp);

/**
 * ue_enabler_set_put_locked() - drop a reference to a set
 * @set: freed with its enablers if this was the last reference
 *
 * A set with enablers holds a reference to the module, which is dropped as
 * well.
 *
 * Context: ue_enabler_lock() held, which may be released and retaken.
 */
void ue_enabler_set_put_locked(struct ue_enabler_set *set);

/**
 * ue_enabler_set_put() - drop a reference to a set
 * @set: as for ue_enabler_set_put_locked()
 *
 * Context: may sleep; ue_enabler_mutex not held.
 */
void ue_enabler_set_put(struct ue_enabler_set *set);

/**
 * ue_enabler_set_free() - free a set that no other task can find
 * @set: the set; its enablers are freed too, and stop using their events
 *
 * Context: ue_enabler_lock() held, which may be released and retaken.
 */
void ue_enabler_set_free(struct ue_enabler_set *set);

/**
 * ue_enablers_create() - create enablers that are in no set
 * @list: they are added here, by @of_event
 * @nr: how many
 * @gfp: how to allocate
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM with none added, also if the current task was killed.
 */
int ue_enablers_create(struct list_head *list, unsigned int nr, gfp_t gfp);

/**
 * ue_enablers_free() - free enablers that are in no set
 * @list: the enablers, by @of_event
 *
 * Context: may sleep.
 */
void ue_enablers_free(struct list_head *list);

/**
 * ue_enabler_set_account() - find the account of a set in a group
 * @set: the set
 * @users: the users of the group
 *
 * Context: ue_enabler_mutex, or the lock of an address space that has the set, held.
 * Return: the account, or NULL.
 */
struct ue_account *ue_enabler_set_account(const struct ue_enabler_set *set,
					  const struct ue_users *users);

/**
 * ue_enabler_set_add_account() - let a set count in another group
 * @set: the set; owns the account
 * @account: of a group in which the set has none
 *
 * Context: as ue_enabler_insert().
 */
void ue_enabler_set_add_account(struct ue_enabler_set *set,
				struct ue_account *account);

/**
 * ue_enabler_set_copy() - create another set with the same registrations
 * @set: the set; does not change, as it has the caller's and another reference
 * @times: how many times the current task's user may reach the limit of registrations in each
 *	group, copies included, see ue_account_may_grow()
 * @gfp: how to allocate
 *
 * If @changes of the copy is not 0, some bits may be outdated, and no update in
 * progress writes them. The caller then calls ue_mm_set_stale().
 *
 * Context: may sleep; takes and releases ue_enabler_mutex.
 * Return: a set with one reference; -EMFILE if there would be more registrations
 * than @times allows; -ENOMEM. Without __GFP_NOFAIL also -ENOMEM if the current task
 * was killed.
 */
struct ue_enabler_set *ue_enabler_set_copy(const struct ue_enabler_set *set,
					   unsigned int times, gfp_t gfp);

/**
 * ue_enabler_insert() - insert an enabler into a set
 * @set: the set, with an account in the group of @event; owns the enabler after a success
 * @enabler: the enabler
 * @bit: the enable bit
 * @event: the event to follow; the enabler becomes a user of it
 * @id: of the registration
 *
 * Context: ue_enabler_mutex held. The set has one reference, and the lock of
 * its address space, if any, is held.
 * Return: 0, or -EADDRINUSE if the set has the address and number of the bit.
 */
int ue_enabler_insert(struct ue_enabler_set *set, struct ue_enabler *enabler,
		      const struct ue_user_bit *bit, struct ue_event *event,
		      u64 id);

/**
 * ue_enabler_erase() - remove an enabler from its set and free it
 * @enabler: the enabler
 *
 * Context: as ue_enabler_insert().
 * Return: its event; the caller is now the user in place of the enabler.
 */
struct ue_event *ue_enabler_erase(struct ue_enabler *enabler);

/**
 * ue_enabler_find() - find the enabler of a bit
 * @set: the set
 * @address: of the word that holds the bit
 * @nr: number of the bit
 *
 * Context: ue_enabler_mutex, or the lock of an address space that has the set, held.
 * Return: the enabler, or NULL.
 */
struct ue_enabler *ue_enabler_find(const struct ue_enabler_set *set,
				   unsigned long address, u8 nr);

/**
 * ue_enabler_after() - find the next enabler after a bit
 * @set: the set
 * @address: of the word; 0 for the first enabler. The bit need not be
 *	registered.
 * @nr: number of the bit; -1 for the first enabler
 *
 * Context: ue_enabler_mutex held.
 * Return: the enabler with the next higher number or address, or NULL.
 */
struct ue_enabler *ue_enabler_after(const struct ue_enabler_set *set,
				    unsigned long address, int nr);

#endif /* UE_ENABLER_H */
