/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of events, and the registry of their events: lookup by name, creation,
 * deletion, counts.
 *
 * A group is a name space of events with limits of its own. Which groups there are is
 * the business of groups.h. Events are added and removed with event_mutex held, and
 * looked up under RCU.
 *
 * These hold references to the memory of a group: the table of groups until the group is
 * removed, the device of the group until the device is removed from sysfs, and each event until
 * the memory of the event is freed. Events point into their group: with these references, the
 * records of a group that was removed can still be printed.
 */
#ifndef UE_REGISTRY_H
#define UE_REGISTRY_H

#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "events/event.h"
#include "events/publish.h"
#include "format/group_parse.h"

/* How many events a group may have, unless this is changed. */
#define UE_MAX_EVENTS		32768
/* The permissions of its device, unless these are changed. */
#define UE_GROUP_MODE_AT_FIRST	0600

struct device;

/*
 * Serials below this are those of marks, which rules find by serial. The registry numbers its
 * events from here on. (Nothing looks up the serial of user_limit:suppressed, the third of the
 * events that the registry does not have.)
 */
#define UE_NR_MARKS		2

/**
 * struct ue_group - a group of events
 * @owner: the owner of these events, which is how an event finds its group. @owner.users is
 *	a reference to the group's table of user IDs.
 * @retired: the retired events of the group
 * @name: name of the group
 * @system: the tracing system of the single-format events
 * @multi_system: the tracing system of the multi-format events
 * @max: how many events all users may have; read without a lock
 * @events: the events in order of creation, by @in_group; changed with event_mutex
 *	held, read under RCU
 * @next_multi_id: the number in the next multi-format event's name; protected by
 *	event_mutex
 * @nr_active: the number of events; changed with event_mutex held
 * @nr_busy: the number of enabled events; changed with event_mutex held
 * @references: see above
 * @users: number of users, see groups.h; negative while nothing can become a user
 * @number: number of the group, and minor number of its device
 * @device: the device; NULL if there is none. Protected by ue_groups_mutex, as are the
 *	members that follow, which are also read without it.
 * @uid: owner of the device
 * @gid: the device's group of users
 * @mode: permissions of the device
 * @node: entry in the list of groups; protected by ue_groups_mutex
 * @by_system: entry in the hash table of groups; as @node, and read under RCU
 * @rcu: frees the memory
 */
struct ue_group {
	struct ue_event_owner owner;
	struct ue_retired retired;
	char name[UE_GROUP_NAME_MAX + 1];
	char system[sizeof("user_events_") + UE_GROUP_NAME_MAX];
	char multi_system[sizeof("user_events__multi") + UE_GROUP_NAME_MAX];
	unsigned int max;
	struct list_head events;
	unsigned long next_multi_id;
	unsigned int nr_active;
	unsigned int nr_busy;
	refcount_t references;
	atomic_t users;
	u32 number;
	struct device *device;
	kuid_t uid;
	kgid_t gid;
	umode_t mode;
	struct list_head node;
	struct hlist_node by_system;
	struct rcu_head rcu;
};

/* Of the systems "user_events" and "user_events_multi"; is always there. */
extern struct ue_group ue_default_group;

/**
 * ue_group_of() - find the group of an event
 * @event: the event, which is none of the module's own (own_event.c)
 *
 * Context: any.
 * Return: the group, to which the event has a reference.
 */
static inline struct ue_group *ue_group_of(const struct ue_event *event)
{
	return container_of(event->owner, struct ue_group, owner);
}

/**
 * ue_group_ref() - take a reference to the memory
 * @group: the group, to which the caller has a reference
 *
 * Context: any.
 */
static inline void ue_group_ref(struct ue_group *group)
{
	refcount_inc(&group->references);
}

/**
 * ue_group_unref() - drop a reference to the memory
 * @group: the group
 *
 * Context: any. The memory is freed after an RCU grace period.
 */
void ue_group_unref(struct ue_group *group);

/**
 * ue_registry_register() - find or create the event of a command
 * @group: the group
 * @command: the command, NUL-terminated
 * @flags: of enum user_reg_flag; USER_EVENT_REG_PERSIST applies only to an
 *	event that is created
 * @event: set to the event, of which the caller becomes a user
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0; -EINVAL for a malformed command, or a name that is too long for a
 * directory; -EADDRINUSE if a single-format event of that name exists, and its
 * fields differ or the command is malformed; -EMFILE if a new event would exceed
 * one of the limits; -ENOMEM; -ENODEV if tracing has no type number left.
 */
int ue_registry_register(struct ue_group *group, const char *command,
			 unsigned int flags, struct ue_event **event);

/**
 * ue_registry_delete() - delete all events of a name in a group
 * @group: the group
 * @name: the registered name, without fields
 *
 * Deletes either all of the events or none.
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0; -ENOENT if there is no such event; -EPERM if the caller
 * has neither CAP_PERFMON nor CAP_SYS_ADMIN, and one of the events is persistent
 * or was created by another user ID; -EBUSY if one of them is in use.
 */
int ue_registry_delete(struct ue_group *group, const char *name);

/**
 * ue_registry_remove_event() - remove one event
 * @event: the event; on success the caller must not use it afterwards
 *
 * Context: event_mutex held; may sleep.
 * Return: 0, or -EBUSY if the event is in use.
 */
int ue_registry_remove_event(struct ue_event *event);

/**
 * ue_registry_remove_group() - remove all events of a group
 * @group: the group, in which no event is created meanwhile
 *
 * Removes either all of the events or none.
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0; -EBUSY if one of them is in use.
 */
int ue_registry_remove_group(struct ue_group *group);

/**
 * struct ue_registry_observer - callbacks for every event of every group
 * @node: entry in the list of observers
 * @added: the event was added to its group, and no program can use it yet;
 *	called with event_mutex held
 * @removed: the event is about to be removed from its group; called with event_mutex
 *	held, but not when the module is unloaded
 */
struct ue_registry_observer {
	struct list_head node;
	void (*added)(struct ue_event *event);
	void (*removed)(struct ue_event *event);
};

/**
 * ue_registry_observe() - add an observer
 * @observer: the observer
 *
 * Context: may sleep; event_mutex not held.
 */
void ue_registry_observe(struct ue_registry_observer *observer);

/**
 * ue_registry_unobserve() - remove an observer
 * @observer: the observer
 *
 * Context: may sleep; event_mutex not held.
 */
void ue_registry_unobserve(struct ue_registry_observer *observer);

/**
 * ue_registry_next() - find an event of any group by order of creation
 * @serial: the first serial to consider; set to the serial of the event
 *
 * Serials are those of all groups together.
 *
 * Context: in an RCU read-side critical section, which keeps the event's
 * memory.
 * Return: the event, or NULL if there is none from @serial on.
 */
struct ue_event *ue_registry_next(unsigned long *serial);

/**
 * ue_group_first_event() - find an event of a group by order of creation
 * @group: the group
 * @serial: the first serial to consider
 *
 * Looks at the group's events one by one.
 *
 * Context: as ue_registry_next().
 * Return: the event, or NULL if there is none from @serial on.
 */
struct ue_event *ue_group_first_event(struct ue_group *group, unsigned long serial);

/**
 * ue_group_next_event() - find the next event of a group by order of creation
 * @group: the group
 * @event: an event that was found in the same RCU read-side critical section
 *
 * Context: as ue_registry_next().
 * Return: the event, or NULL if there is none after @event.
 */
struct ue_event *ue_group_next_event(struct ue_group *group, struct ue_event *event);

/**
 * ue_registry_next_serial() - get the serial of the next event that is created
 *
 * Context: event_mutex held.
 * Return: a serial larger than those of all events.
 */
unsigned long ue_registry_next_serial(void);

/**
 * ue_registry_init() - initialize the registry, without an event
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_registry_init(void);

/**
 * ue_registry_exit() - remove all events of all groups
 *
 * Context: module exit, with no user of any event; may sleep.
 */
void ue_registry_exit(void);

#endif /* UE_REGISTRY_H */
