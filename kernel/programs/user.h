/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The users (real user IDs) that have events or registrations, and how many.
 *
 * Users are hashed to shares. All programs of a user together, such as those
 * that wait for a lock, delay programs of other shares no longer than one
 * program would.
 */
#ifndef UE_USER_H
#define UE_USER_H

#include <linux/bits.h>
#include <linux/gfp.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct cred;

#define UE_SHARE_BITS		6
#define UE_NR_SHARES		BIT(UE_SHARE_BITS)

/**
 * struct ue_user - a user
 * @uid: the real user ID
 * @references: of events and sets of enablers
 * @nr_events: how many events the user has created; protected by event_mutex
 * @nr_registrations: how many registrations the user's sets have, including
 *	copies that are being made; protected by ue_enabler_mutex
 */
struct ue_user {
	kuid_t uid;
	unsigned int references;
	unsigned int nr_events;
	unsigned long nr_registrations;
};

/**
 * ue_user_get_current() - get a reference to the user of the current task
 * @gfp: how to allocate
 *
 * Context: may sleep if @gfp allows it.
 * Return: the user, or NULL if memory is short.
 */
struct ue_user *ue_user_get_current(gfp_t gfp);

/**
 * ue_user_put() - drop a reference
 * @user: freed with the last reference
 *
 * Context: a task; does not sleep, except in a spinlock on PREEMPT_RT.
 */
void ue_user_put(struct ue_user *user);

/**
 * ue_share_of_cred() - find the share of a user
 * @cred: credentials of one of the user's tasks, or NULL for root's
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
