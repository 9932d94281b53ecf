/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registry of events: lookup by name, creation, deletion, counts.
 *
 * Events are added and removed with event_mutex held, and looked up under RCU.
 */
#ifndef UE_REGISTRY_H
#define UE_REGISTRY_H

#include <linux/list.h>
#include <linux/types.h>

struct ue_event;

/*
 * The maximum number of events of all users, and of a user without CAP_PERFMON
 * and CAP_SYS_ADMIN; set by sysctls, read without a lock.
 */
extern unsigned int ue_registry_max;
extern unsigned int ue_registry_max_per_user;

/**
 * ue_registry_register() - find or create the event of a command
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
int ue_registry_register(const char *command, unsigned int flags,
			 struct ue_event **event);

/**
 * ue_registry_delete() - delete all events of a name
 * @name: the registered name, without fields
 *
 * Deletes either all of the events or none.
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0; -ENOENT if there is no such event; -EPERM if the caller
 * has neither CAP_PERFMON nor CAP_SYS_ADMIN, and one of the events is persistent
 * or was created by another user ID; -EBUSY if one of them is in use.
 */
int ue_registry_delete(const char *name);

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
 * ue_registry_next() - find an event by order of creation
 * @serial: the first serial to consider; set to the serial of the event
 *
 * Context: in an RCU read-side critical section, which keeps the event's
 * memory.
 * Return: the event, or NULL if there is none from @serial on.
 */
struct ue_event *ue_registry_next(unsigned long *serial);

/**
 * ue_registry_end() - get the serial of the next event
 *
 * Context: event_mutex held.
 * Return: a number that is larger than the serials of all events.
 */
unsigned long ue_registry_end(void);

/**
 * ue_registry_active() - count the events
 *
 * Context: any.
 * Return: the number of events.
 */
unsigned int ue_registry_active(void);

/**
 * ue_registry_busy() - count the enabled events
 *
 * Context: any.
 * Return: the number of enabled events.
 */
unsigned int ue_registry_busy(void);

/**
 * ue_registry_init() - initialize an empty registry
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_registry_init(void);

/**
 * ue_registry_exit() - remove all events
 *
 * Context: module exit, with no user of any event; may sleep.
 */
void ue_registry_exit(void);

#endif /* UE_REGISTRY_H */
