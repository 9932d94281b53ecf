// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which groups of events there are.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xarray.h>
#include <uapi/linux/user_events.h>

#include "port/debug_counter.h"
#include "programs/user.h"
#include "registry/groups.h"
#include "registry/registry.h"

DEFINE_MUTEX(ue_groups_mutex);

LIST_HEAD(ue_groups);

/* By number, and by @system. Changed with ue_groups_mutex held; read under RCU, too. */
static DEFINE_XARRAY_FLAGS(ue_by_number, XA_FLAGS_ALLOC);
static DEFINE_HASHTABLE(ue_by_system, 8);

/* Numbers are given out in turns. This is the next one, unless that is in use. */
static u32 ue_next_number;

/* The names of the systems of a group that was added. */
#define UE_SYSTEM_FORMAT	USER_EVENTS_SYSTEM "_%s"
#define UE_MULTI_SUFFIX		"_multi"
#define UE_SYSTEM_SIZE		sizeof_field(struct ue_group, system)

/* The value of @users while nothing can become a user. */
#define UE_GROUP_UNAVAILABLE	(INT_MIN / 2)

/* Called under RCU, or with ue_groups_mutex held. */
static struct ue_group *ue_find_system(const char *system, size_t length)
{
	struct ue_group *group;

	hash_for_each_possible_rcu(ue_by_system, group, by_system,
				   jhash(system, length, 0),
				   lockdep_is_held(&ue_groups_mutex)) {
		if (strlen(group->system) == length &&
		    !memcmp(group->system, system, length))
			return group;
	}
	return NULL;
}

struct ue_group *ue_group_find(const char *name)
{
	char system[UE_SYSTEM_SIZE];

	lockdep_assert_held(&ue_groups_mutex);
	if (!strcmp(name, ue_default_group.name))
		return &ue_default_group;
	return ue_find_system(system, snprintf(system, sizeof(system),
					       UE_SYSTEM_FORMAT, name));
}

/*
 * The single-format events of a group could be in the system of the multi-format events of
 * another one.
 */
static bool ue_group_collides(const struct ue_group *group)
{
	const size_t length = strlen(group->system);
	const size_t multi = strlen(UE_MULTI_SUFFIX);

	return ue_find_system(group->system, length) ||
	       ue_find_system(group->multi_system, length + multi) ||
	       (!strcmp(group->system + length - multi, UE_MULTI_SUFFIX) &&
		ue_find_system(group->system, length - multi));
}

static void ue_group_set_names(struct ue_group *group, const char *name)
{
	strscpy(group->name, name, sizeof(group->name));
	snprintf(group->system, sizeof(group->system), UE_SYSTEM_FORMAT, name);
	snprintf(group->multi_system, sizeof(group->multi_system),
		 "%s" UE_MULTI_SUFFIX, group->system);
}

/* The default group is the model: callbacks are the same for all. */
static struct ue_group *ue_group_allocate(const char *name)
{
	struct ue_group *group = kzalloc(sizeof(*group), GFP_KERNEL);
	struct ue_users *users = ue_users_create();

	if (!group || !users) {
		kfree(group);
		kfree(users);
		return NULL;
	}
	ue_debug_count(UE_COUNT_GROUPS, 1);
	group->owner = ue_default_group.owner;
	group->owner.users = users;
	group->owner.retired = &group->retired;
	INIT_LIST_HEAD(&group->retired.events);
	INIT_LIST_HEAD(&group->node);
	ue_group_set_names(group, name);
	group->retired.system = group->system;
	group->max = UE_MAX_EVENTS;
	group->mode = UE_GROUP_MODE_AT_FIRST;
	INIT_LIST_HEAD(&group->events);
	refcount_set(&group->references, 1);
	return group;
}

int ue_group_create(const char *name, struct ue_group **result)
{
	struct ue_group *group;
	int err;

	lockdep_assert_held(&ue_groups_mutex);
	group = ue_group_allocate(name);
	if (!group)
		return -ENOMEM;
	err = -EINVAL;
	if (!ue_group_collides(group))
		err = xa_alloc_cyclic(&ue_by_number, &group->number, group,
				      XA_LIMIT(0, UE_GROUP_NUMBERS - 1),
				      &ue_next_number, GFP_KERNEL);
	if (err < 0) {
		ue_group_unref(group);
		return err == -EBUSY ? -ENOSPC : err;
	}
	*result = group;
	return 0;
}

void ue_group_link(struct ue_group *group)
{
	lockdep_assert_held(&ue_groups_mutex);
	list_add_tail(&group->node, &ue_groups);
	hash_add_rcu(ue_by_system, &group->by_system,
		     jhash(group->system, strlen(group->system), 0));
}

/*
 * While event_mutex is held, no event gets a user: a group without users creates no event,
 * and a recorder takes event_mutex.
 */
int ue_group_close(struct ue_group *group)
{
	int err;

	lockdep_assert_held(&ue_groups_mutex);
	if (group == &ue_default_group ||
	    atomic_cmpxchg(&group->users, 0, UE_GROUP_UNAVAILABLE))
		return -EBUSY;
	err = ue_registry_remove_group(group);
	if (err)
		/* Pairs with ue_group_tryget(). */
		atomic_set_release(&group->users, 0);
	return err;
}

void ue_group_remove(struct ue_group *group)
{
	lockdep_assert_held(&ue_groups_mutex);
	xa_erase(&ue_by_number, group->number);
	if (!list_empty(&group->node)) {
		list_del(&group->node);
		hash_del_rcu(&group->by_system);
	}
	ue_group_unref(group);
}

/* Called under RCU, which keeps the memory. */
static bool ue_group_tryget(struct ue_group *group)
{
	return atomic_inc_unless_negative(&group->users);
}

struct ue_group *ue_group_get(u32 number)
{
	struct ue_group *group;

	rcu_read_lock();
	group = xa_load(&ue_by_number, number);
	if (group && !ue_group_tryget(group))
		group = NULL;
	rcu_read_unlock();
	return group;
}

struct ue_group *ue_group_get_by_system(const char *system, size_t length)
{
	struct ue_group *group;

	rcu_read_lock();
	group = ue_find_system(system, length);
	if (group && !ue_group_tryget(group))
		group = NULL;
	rcu_read_unlock();
	return group;
}

void ue_group_put(struct ue_group *group)
{
	/* What the user did is done before ue_group_close() succeeds. */
	atomic_dec_return_release(&group->users);
}

/*
 * The number of the default group is always 0. The others begin anywhere: a container may
 * have a node from before the module was loaded again.
 */
int ue_groups_init(void)
{
	int err = xa_err(xa_store(&ue_by_number, ue_default_group.number,
				  &ue_default_group, GFP_KERNEL));

	if (err)
		return err;
	ue_next_number = 1 + get_random_u32() % (UE_GROUP_NUMBERS - 1);
	mutex_lock(&ue_groups_mutex);
	ue_group_link(&ue_default_group);
	mutex_unlock(&ue_groups_mutex);
	return 0;
}

void ue_groups_exit(void)
{
	struct ue_group *group, *next;

	mutex_lock(&ue_groups_mutex);
	list_for_each_entry_safe(group, next, &ue_groups, node)
		ue_group_remove(group);
	mutex_unlock(&ue_groups_mutex);
	xa_destroy(&ue_by_number);
}
