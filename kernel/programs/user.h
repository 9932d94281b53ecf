/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The users (real user IDs) that have events or registrations, and how many. A user
 * of several groups of events is counted in each group separately.
 *
 * Users are hashed to shares. All programs of a user together, such as those
 * that wait for a lock, delay programs of other shares no longer than one
 * program would.
 */
#ifndef UE_USER_H
#define UE_USER_H

#include <linux/bits.h>
#include <linux/gfp.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>

struct cred;

#define UE_SHARE_BITS		6
#define UE_NR_SHARES		BIT(UE_SHARE_BITS)

/* How many events and registrations a user may have, unless this is changed. */
#define UE_MAX_EVENTS_PER_USER		8192
#define UE_MAX_REGISTRATIONS_PER_USER	524288

/**
 * struct ue_users - the users of a group of events, and what each of them may have
 * @max_events: how many events a user may have that has neither CAP_PERFMON nor
 *	CAP_SYS_ADMIN; read without a lock
 * @max_registrations: how many registrations; as @max_events
 * @by_id: the users by ID. The lock of the array protects the references to users.
 * @references: of the group, and one of each user. So these counts outlive the group
 *	while an address space has a set that counts here.
 */
struct ue_users {
	unsigned int max_events;
	unsigned int max_registrations;
	struct xarray by_id;
	refcount_t references;
};

/* Of the group "default"; never freed. */
extern struct ue_users ue_default_users;

/**
 * ue_users_create() - create a table without users
 *
 * Context: may sleep.
 * Return: the table, with one reference and the usual limits; NULL if memory is short.
 */
struct ue_users *ue_users_create(void);

/**
 * ue_users_put() - drop a reference
 * @users: freed with the last reference
 *
 * Context: any.
 */
void ue_users_put(struct ue_users *users);

/**
 * struct ue_user - a user of a group
 * @users: the users of the group; a reference
 * @uid: the real user ID
 * @references: of events and accounts
 * @nr_events: how many events the user has created; protected by event_mutex
 * @nr_registrations: how many registrations the user's accounts have, including those of copies
 *	that are being made; protected by ue_enabler_mutex
 */
struct ue_user {
	struct ue_users *users;
	kuid_t uid;
	unsigned int references;
	unsigned int nr_events;
	unsigned long nr_registrations;
};

/**
 * ue_user_get_current() - get a reference to the user of the current task
 * @users: the users of a group, to which the caller has a reference
 * @gfp: how to allocate
 *
 * Context: may sleep if @gfp allows it.
 * Return: the user, or NULL if memory is short.
 */
struct ue_user *ue_user_get_current(struct ue_users *users, gfp_t gfp);

/**
 * ue_user_put() - drop a reference
 * @user: freed with the last reference
 *
 * Context: a task; does not sleep, except in a spinlock on PREEMPT_RT.
 */
void ue_user_put(struct ue_user *user);

/**
 * struct ue_account - the registrations of a set of enablers whose events are of one group
 * @user: of the task that has made the first one, or the copy of the set; a reference
 * @nr: how many; part of @nr_registrations of @user
 * @next: the account of the set in another group, or NULL
 */
struct ue_account {
	struct ue_user *user;
	unsigned int nr;
	struct ue_account *next;
};

/* How many times the limit of registrations may be reached. */
#define UE_WITHIN_LIMIT		1
#define UE_WITHIN_TWICE		2
#define UE_WITHOUT_LIMIT	0

/**
 * ue_account_create() - create an account of the current task's user
 * @users: the users of the group
 * @gfp: how to allocate
 *
 * Context: as ue_user_get_current().
 * Return: the account, or NULL if memory is short.
 */
struct ue_account *ue_account_create(struct ue_users *users, gfp_t gfp);

/**
 * ue_account_free() - free an account; it no longer counts
 * @account: from ue_account_create(), or NULL
 *
 * Context: ue_enabler_mutex held, unless there are no registrations in it.
 */
void ue_account_free(struct ue_account *account);

/**
 * ue_account_may_grow() - compare the registrations of a user with the limit in the group
 * @account: the account that gets more registrations
 * @nr: how many more
 * @times: UE_WITHIN_LIMIT, UE_WITHIN_TWICE or UE_WITHOUT_LIMIT
 *
 * Context: ue_enabler_mutex held.
 * Return: false if there would be more.
 */
bool ue_account_may_grow(const struct ue_account *account, unsigned int nr,
			 unsigned int times);

/**
 * ue_account_add() - count registrations
 * @account: where
 * @nr: how many more; negative: how many fewer
 *
 * Context: ue_enabler_mutex held.
 */
static inline void ue_account_add(struct ue_account *account, long nr)
{
	account->nr += nr;
	account->user->nr_registrations += nr;
}

/**
 * ue_share_of_cred() - find the share of a user
 * @cred: credentials of one of the user's tasks
 *
 * Context: any.
 * Return: number of the share, below UE_NR_SHARES.
 */
unsigned int ue_share_of_cred(const struct cred *cred);

/**
 * ue_shares_init() - choose the hash function
 *
 * Context: before the first use of a share.
 */
void ue_shares_init(void);

#endif /* UE_USER_H */
