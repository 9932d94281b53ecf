// SPDX-License-Identifier: GPL-2.0-only
/*
 * There are no per-user objects, whose allocation could fail. Users with the same
 * hash value have the same share. The hash has a random key, so that no user can
 * choose an ID that has the share of another one.
 */
#include <linux/cred.h>
#include <linux/random.h>
#include <linux/user_namespace.h>

#include "share.h"

/* An odd number: the key of the hash. */
static u32 ue_share_key = 1;

/*
 * In a user namespace, an unprivileged user may have many user IDs. So the
 * creator of the outermost namespace below the initial one counts, unless this
 * is root, which creates namespaces for others.
 */
static u32 ue_namespace_user(const struct user_namespace *namespace)
{
	while (namespace->parent != &init_user_ns)
		namespace = namespace->parent;
	if (uid_eq(namespace->owner, GLOBAL_ROOT_UID))
		return namespace->ns.inum;
	return __kuid_val(namespace->owner);
}

unsigned int ue_share_of_cred(const struct cred *cred)
{
	u32 user = 0;

	if (cred)
		user = cred->user_ns == &init_user_ns ?
			__kuid_val(cred->uid) :
			ue_namespace_user(cred->user_ns);
	return user * ue_share_key >> (32 - UE_SHARE_BITS);
}

void ue_shares_init(void)
{
	ue_share_key = get_random_u32() | 1;
}
