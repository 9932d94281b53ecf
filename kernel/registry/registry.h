/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registry of events: lookup by name, creation, deletion, counts.
 *
 * Events are added and removed with event_mutex held, and looked up under RCU.
 */
#ifndef UE_REGISTRY_H
#define UE_REGISTRY_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "events/event.h"

/* Smaller serials are those of events that no registry has: marks. */
#define UE_OTHER_EVENTS		2

/**
 * struct ue_registry - a name space of events, with limits of its own
 * @owner: the owner of these events, which is how an event finds its registry
 * @system: the tracing system of the single-format events
 * @multi_system: the tracing system of the multi-format events
 * @max: how many events all users may have; set by a sysctl, read without a lock
 * @max_per_user: how many of them a user may have that has neither CAP_PERFMON nor
 *	CAP_SYS_ADMIN; set by a sysctl, read without a lock
 * @by_key: the events by name, of multi-format events also by fields; changed with
 *	event_mutex held, read under RCU
 * @by_serial: the events by order of creation; as @by_key
 * @multi_by_name: the multi-format events by name, to delete them; protected by
 *	event_mutex
 * @next_serial: is larger than the serials of all events; protected by event_mutex
 * @next_multi_id: the number in the next multi-format event's name; protected by
 *	event_mutex
 * @nr_active: the number of events; changed with event_mutex held
 * @nr_busy: the number of enabled events; changed with event_mutex held
 * @observers: of struct ue_registry_observer; protected by event_mutex
 * @recheck: removes unused events to which tracing no longer refers
 */
struct ue_registry {
	struct ue_event_owner owner;
	const char *system;
	const char *multi_system;
	unsigned int max;
	unsigned int max_per_user;
	struct rhashtable by_key;
	struct xarray by_serial;
	DECLARE_HASHTABLE(multi_by_name, 10);
	unsigned long next_serial;
	unsigned long next_multi_id;
	unsigned int nr_active;
	unsigned int nr_busy;
	struct list_head observers;
	struct delayed_work recheck;
};

/* The only one: of the systems "user_events" and "user_events_multi". */
extern struct ue_registry ue_default_registry;

/**
 * ue_registry_register() - find or create the event of a command
 * @registry: the registry
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
int ue_registry_register(struct ue_registry *registry, const char *command,
			 unsigned int flags, struct ue_event **event);

/**
 * ue_registry_delete() - delete all events of a name
 * @registry: the registry
 * @name: the registered name, without fields
 *
 * Deletes either all of the events or none.
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0; -ENOENT if there is no such event; -EPERM if the caller
 * has neither CAP_PERFMON nor CAP_SYS_ADMIN, and one of the events is persistent
 * or was created by another user ID; -EBUSY if one of them is in use.
 */
int ue_registry_delete(struct ue_registry *registry, const char *name);

/**
 * ue_registry_remove_event() - remove one event
 * @event: the event; on success the caller must not use it afterwards
 *
 * Context: event_mutex held; may sleep.
 * Return: 0, or -EBUSY if the event is in use.
 */
int ue_registry_remove_event(struct ue_event *event);

/**
 * struct ue_registry_observer - callbacks for every event
 * @node: entry in the list of observers
 * @added: the event was added to the registry, and no program can use it yet;
 *	called with event_mutex held
 * @removed: the event is about to be removed from it; called with event_mutex
 *	held, but not when the module is unloaded
 */
struct ue_registry_observer {
	struct list_head node;
	void (*added)(struct ue_event *event);
	void (*removed)(struct ue_event *event);
};

/**
 * ue_registry_observe() - add an observer
 * @registry: the registry
 * @observer: the observer
 *
 * Context: may sleep; event_mutex not held.
 */
void ue_registry_observe(struct ue_registry *registry,
			 struct ue_registry_observer *observer);

/**
 * ue_registry_unobserve() - remove an observer
 * @observer: the observer
 *
 * Context: may sleep; event_mutex not held.
 */
void ue_registry_unobserve(struct ue_registry_observer *observer);

/**
 * ue_registry_next() - find an event by order of creation
 * @registry: the registry
 * @serial: the first serial to consider; set to the serial of the event
 *
 * Context: in an RCU read-side critical section, which keeps the event's
 * memory.
 * Return: the event, or NULL if there is none from @serial on.
 */
struct ue_event *ue_registry_next(struct ue_registry *registry,
				  unsigned long *serial);

/**
 * ue_registry_init() - initialize ue_default_registry, without an event
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_registry_init(void);

/**
 * ue_registry_exit() - remove all events of ue_default_registry
 *
 * Context: module exit, with no user of any event; may sleep.
 */
void ue_registry_exit(void);

#endif /* UE_REGISTRY_H */
