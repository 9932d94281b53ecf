/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events by name: find, create, delete, count.
 *
 * Events are added and taken away with event_mutex held, and looked up under
 * RCU.
 */
#ifndef UE_REGISTRY_H
#define UE_REGISTRY_H

#include <linux/types.h>

struct ue_event;

/* The most events at a time; an event beyond it is refused. */
extern unsigned int ue_registry_max;

/**
 * ue_registry_register() - find or create the event of a command
 * @command: as a program gives it
 * @flags: of enum user_reg_flag; whether it persists is for who creates it
 * @event: set to the event; the caller is a user of it
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0; -EINVAL for a bad command; -EADDRINUSE when the name is taken by
 * other fields; -EMFILE for too many events; -ENOMEM.
 */
int ue_registry_register(const char *command, unsigned int flags,
			 struct ue_event **event);

/**
 * ue_registry_delete() - delete all events of a name
 * @name: as registered, without fields
 *
 * All of them or none.
 *
 * Context: may sleep; event_mutex not held.
 * Return: 0; -ENOENT for no such event; -EPERM when one of them is another
 * user's or persists and the caller lacks CAP_PERFMON; -EBUSY when one is in
 * use.
 */
int ue_registry_delete(const char *name);

/**
 * ue_registry_remove_event() - delete one event
 * @event: the event, not to be touched after a success
 *
 * Context: event_mutex held.
 * Return: 0, or -EBUSY when it is in use.
 */
int ue_registry_remove_event(struct ue_event *event);

/**
 * struct ue_registry_observer - who wants to know of every event
 * @added: the event can be found from now on
 * @removed: it can't any more
 *
 * Both are called with event_mutex held.
 */
struct ue_registry_observer {
	void (*added)(struct ue_event *event);
	void (*removed)(struct ue_event *event);
};

/**
 * ue_registry_observe() - have an observer told from now on
 * @observer: the one there is, or NULL for none
 *
 * Context: no events yet, or none any more that it was told of.
 */
void ue_registry_observe(const struct ue_registry_observer *observer);

/**
 * ue_registry_next() - iterate over the events in order of creation
 * @serial: where to begin; set to where the event found stands
 *
 * Context: under RCU, which keeps the event's memory.
 * Return: the event, or NULL after the last.
 */
struct ue_event *ue_registry_next(unsigned long *serial);

/* ue_registry_active() - how many events there are. */
unsigned int ue_registry_active(void);

/* ue_registry_busy() - how many of them are recorded. */
unsigned int ue_registry_busy(void);

int ue_registry_init(void);

/* ue_registry_exit() - take all events away; at unload, nobody uses one. */
void ue_registry_exit(void);

#endif /* UE_REGISTRY_H */
