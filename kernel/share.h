/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Users are hashed to shares. What the programs of one user do together, such as
 * waiting for a lock, keeps those of other shares waiting no longer than one of them
 * would.
 */
#ifndef UE_SHARE_H
#define UE_SHARE_H

#include <linux/bits.h>
#include <linux/types.h>

struct cred;

#define UE_SHARE_BITS		6
#define UE_NR_SHARES		BIT(UE_SHARE_BITS)

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

#endif /* UE_SHARE_H */
