/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which groups of events there are: by name, by number, and by tracing system.
 *
 * A *user* of a group is an open device, or a caller that has just looked the group up. An open
 * user_events_data is none: the default group is never removed.
 * A group is removed only while it has no users and none of its events is in use. Its
 * number, which its device has too, is then not given out again before a million others
 * were: a container may keep a node of the device.
 */
#ifndef UE_GROUPS_H
#define UE_GROUPS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "registry/registry.h"

/* Numbers of groups are below this; that of the default group is 0. */
#define UE_GROUP_NUMBERS	BIT(20)

/*
 * Held to add, change and remove groups, with their devices. event_mutex is taken inside
 * it, and so are the locks of the kernel's devices.
 */
extern struct mutex ue_groups_mutex;

/* All groups (struct ue_group, by @node), in order of addition. Context: as for ue_group_find(). */
extern struct list_head ue_groups;

/**
 * ue_group_find() - find a group by name
 * @name: the name
 *
 * Context: ue_groups_mutex held, which keeps the group.
 * Return: the group; NULL if there is none.
 */
struct ue_group *ue_group_find(const char *name);

/**
 * ue_group_create() - create a group that only ue_group_get() can find
 * @name: the name, for which ue_group_name_valid() is true
 * @group: set to the group, which has the usual limits
 *
 * Context: ue_groups_mutex held; may sleep.
 * Return: 0; -EINVAL if a tracing system of another group has the name of one of the
 * new group's; -ENOSPC if all numbers are in use; -ENOMEM.
 */
int ue_group_create(const char *name, struct ue_group **group);

/**
 * ue_group_link() - let others find a group that was created
 * @group: the group
 *
 * Context: ue_groups_mutex held.
 */
void ue_group_link(struct ue_group *group);

/**
 * ue_group_close() - remove all events of a group, so that nothing can use it any more
 * @group: the group
 *
 * Context: ue_groups_mutex held; may sleep; event_mutex not held.
 * Return: 0; -EBUSY, with nothing changed, if the group has users, if one of its events
 * is in use, or if it is the default group.
 */
int ue_group_close(struct ue_group *group);

/**
 * ue_group_remove() - remove a closed group
 * @group: the group, linked or not; the caller must not use it afterwards
 *
 * Context: ue_groups_mutex held; may sleep.
 */
void ue_group_remove(struct ue_group *group);

/**
 * ue_group_get() - become a user of a group
 * @number: its number
 *
 * Context: any.
 * Return: the group; NULL if there is none, or it is being removed.
 */
struct ue_group *ue_group_get(u32 number);

/**
 * ue_group_get_by_system() - become a user of a group
 * @system: the tracing system of its single-format events; need not end with a NUL
 * @length: of @system
 *
 * Context: may sleep, with dyn_event_ops_mutex held or not.
 * Return: as ue_group_get().
 */
struct ue_group *ue_group_get_by_system(const char *system, size_t length);

/**
 * ue_group_put() - remove a user
 * @group: the group; the caller must not use it afterwards
 *
 * Context: any.
 */
void ue_group_put(struct ue_group *group);

/**
 * ue_groups_init() - add the default group
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_groups_init(void);

/**
 * ue_groups_exit() - free all groups, as far as no memory of an event refers to them
 *
 * Context: module init or exit, with no user of any group and no event; may sleep.
 */
void ue_groups_exit(void);

#endif /* UE_GROUPS_H */
