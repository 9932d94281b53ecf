// SPDX-License-Identifier: GPL-2.0-only
/*
 * The users that have events or registrations, by user ID.
 */
#include <linux/bug.h>
#include <linux/cred.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "debug_counter.h"
#include "user.h"

/* Its lock protects the references. */
static DEFINE_XARRAY(ue_users);

/* Return: the user that is now in the table, with a reference; NULL without memory. */
static struct ue_user *ue_user_insert(struct ue_user *user, gfp_t gfp)
{
	struct ue_user *other;

	xa_lock(&ue_users);
	/* May release the lock to allocate, but not after it has looked. */
	other = __xa_cmpxchg(&ue_users, __kuid_val(user->uid), NULL, user, gfp);
	if (!other)
		other = user;
	if (!xa_is_err(other))
		other->references++;
	xa_unlock(&ue_users);
	return xa_is_err(other) ? NULL : other;
}

struct ue_user *ue_user_get_current(gfp_t gfp)
{
	struct ue_user *user, *new;
	kuid_t uid = current_uid();

	xa_lock(&ue_users);
	user = xa_load(&ue_users, __kuid_val(uid));
	if (user)
		user->references++;
	xa_unlock(&ue_users);
	if (user)
		return user;

	new = kzalloc(sizeof(*new), gfp);
	if (!new)
		return NULL;
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
	bool last;

	xa_lock(&ue_users);
	last = !--user->references;
	if (last)
		__xa_erase(&ue_users, __kuid_val(user->uid));
	xa_unlock(&ue_users);
	if (!last)
		return;
	WARN_ON_ONCE(user->nr_events || user->nr_registrations);
	ue_debug_count(UE_COUNT_USERS, -1);
	kfree(user);
}
