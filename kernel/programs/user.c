// SPDX-License-Identifier: GPL-2.0-only
/*
 * The users that have events or registrations, by user ID; and the shares of all users.
 */
#include <linux/bug.h>
#include <linux/cred.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>

#include "port/debug_counter.h"
#include "programs/user.h"

struct ue_users ue_default_users = {
	.max_events = UE_MAX_EVENTS_PER_USER,
	.max_registrations = UE_MAX_REGISTRATIONS_PER_USER,
	.by_id = XARRAY_INIT(ue_default_users.by_id, 0),
	.references = REFCOUNT_INIT(1),
};

struct ue_users *ue_users_create(void)
{
	struct ue_users *users = kzalloc(sizeof(*users), GFP_KERNEL);

	if (!users)
		return NULL;
	users->max_events = UE_MAX_EVENTS_PER_USER;
	users->max_registrations = UE_MAX_REGISTRATIONS_PER_USER;
	xa_init(&users->by_id);
	refcount_set(&users->references, 1);
	return users;
}

/* Without users, the array has no memory of its own. */
void ue_users_put(struct ue_users *users)
{
	if (refcount_dec_and_test(&users->references))
		kfree(users);
}

/* Return: the user that is now in the table, with a reference; NULL without memory. */
static struct ue_user *ue_user_insert(struct ue_user *user, gfp_t gfp)
{
	struct ue_users *users = user->users;
	struct ue_user *other;

	xa_lock(&users->by_id);
	/* May release the lock to allocate, but not after it has looked. */
	other = __xa_cmpxchg(&users->by_id, __kuid_val(user->uid), NULL, user, gfp);
	if (!other) {
		other = user;
		refcount_inc(&users->references);
	}
	if (!xa_is_err(other))
		other->references++;
	xa_unlock(&users->by_id);
	return xa_is_err(other) ? NULL : other;
}

struct ue_user *ue_user_get_current(struct ue_users *users, gfp_t gfp)
{
	struct ue_user *user, *new;
	kuid_t uid = current_uid();

	xa_lock(&users->by_id);
	user = xa_load(&users->by_id, __kuid_val(uid));
	if (user)
		user->references++;
	xa_unlock(&users->by_id);
	if (user)
		return user;

	new = kzalloc(sizeof(*new), gfp);
	if (!new)
		return NULL;
	new->users = users;
	new->uid = uid;
	user = ue_user_insert(new, gfp);
	if (user == new)
		ue_debug_count(UE_COUNT_USERS, 1);
	else
		kfree(new);
	return user;
}

void ue_user_put(struct ue_user *user)
{
	struct ue_users *users = user->users;
	bool last;

	xa_lock(&users->by_id);
	last = !--user->references;
	if (last)
		__xa_erase(&users->by_id, __kuid_val(user->uid));
	xa_unlock(&users->by_id);
	if (!last)
		return;
	WARN_ON_ONCE(user->nr_events || user->nr_registrations);
	ue_debug_count(UE_COUNT_USERS, -1);
	kfree(user);
	ue_users_put(users);
}

struct ue_account *ue_account_create(struct ue_users *users, gfp_t gfp)
{
	struct ue_account *account = kzalloc(sizeof(*account), gfp);

	if (!account)
		return NULL;
	account->user = ue_user_get_current(users, gfp);
	if (account->user)
		return account;
	kfree(account);
	return NULL;
}

void ue_account_free(struct ue_account *account)
{
	if (!account)
		return;
	/* Without registrations, the caller may not hold ue_enabler_mutex. */
	if (account->nr)
		account->user->nr_registrations -= account->nr;
	ue_user_put(account->user);
	kfree(account);
}

bool ue_account_may_grow(const struct ue_account *account, unsigned int nr,
			 unsigned int times)
{
	const struct ue_user *user = account->user;
	u64 max = (u64)READ_ONCE(user->users->max_registrations) * times;

	return times == UE_WITHOUT_LIMIT ||
	       (u64)user->nr_registrations + nr <= max;
}

/*
 * Shares are no objects, whose allocation could fail. Users with the same hash value
 * have the same share. The hash has a random key, so that no user can choose an ID that
 * has the share of another one. A multiplication would not do: with one key in 40, 400
 * users with consecutive IDs would be spread over less than half of the shares.
 */
static u32 ue_share_key;

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
	const u32 user = cred->user_ns == &init_user_ns ?
		__kuid_val(cred->uid) : ue_namespace_user(cred->user_ns);

	return jhash_1word(user, ue_share_key) >> (32 - UE_SHARE_BITS);
}

void ue_shares_init(void)
{
	ue_share_key = get_random_u32();
}
