/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One event: its references, its place in the kernel's tracing, and how it
 * comes and goes.
 *
 * A *user* of an event is an open file that registered it, an enabler, a
 * recorder, or a caller that has just looked it up. When the last one goes,
 * the event's owner (the registry) is told, and takes the event away unless
 * it persists. An event is only taken away with event_mutex held, while
 * nobody uses it; its memory stays for an RCU grace period longer.
 */
#ifndef UE_EVENT_H
#define UE_EVENT_H

#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/trace_events.h>
#include <linux/uidgid.h>

#include "kernel_symbols.h"
#include "recorder.h"

struct ue_event;
struct ue_format;

/**
 * struct ue_event_owner - what an event tells of its life
 * @idle: the last user has gone; called with event_mutex held
 * @recorded: somebody has begun or ceased to record the event; called with
 *	event_mutex held, must not wait for a program
 */
struct ue_event_owner {
	void (*idle)(struct ue_event *event);
	void (*recorded)(struct ue_event *event);
};

/**
 * struct ue_event - an event
 * @call: the event as the kernel's tracing knows it
 * @class: of @call, one for each event
 * @tracepoint: gives @call its name and BPF something to attach to; no probe
 *	is ever registered with it
 * @format: the command, parsed; owned
 * @owner: told of the event's life
 * @creator: the user who created it
 * @room_used: bytes of @room that hold what the event owns
 * @multi: one of several formats of its name
 * @persistent: stays without users
 * @recorded: some ftrace instance has recorded it, perhaps long ago; changed with
 *	event_mutex held
 * @users: how many use the event; negative once it has been taken away
 * @recorders: who records it; changed with event_mutex held
 * @enablers: the words that follow its state; protected by
 *	ue_enabler_mutex
 * @serial: when it was created, counted up; its key in the registry
 * @by_name: its place among the registry's events of one name
 * @dynamic: its place in the kernel's list of dynamic events, or then among those
 *	that have retired; protected by event_mutex
 * @references: keep the memory: one of who created it, one while @later
 *	is on its list, one while it is retired
 * @later: on the list of events whose last user went where event_mutex
 *	could not be taken, while @later_queued
 * @rcu: frees it
 * @room: the rest of the memory that kmalloc() gives
 */
struct ue_event {
	struct trace_event_call call;
	struct trace_event_class class;
	struct tracepoint tracepoint;
	struct ue_format *format;
	const struct ue_event_owner *owner;
	kuid_t creator;
	u16 room_used;
	bool multi : 1;
	bool persistent : 1;
	bool recorded : 1;
	atomic_long_t users;
	struct ue_recorders recorders;
	struct list_head enablers;
	unsigned long serial;
	struct rhlist_head by_name;
	struct dyn_event dynamic;
	refcount_t references;
	atomic_t later_queued;
	union {	/* one after the other */
		struct llist_node later;
		struct rcu_head rcu;
	};
	u32 room[];
};

/**
 * ue_event_create() - make an event that nobody knows of yet
 * @format: what it records; on success it is the event's, and @event->format may
 *	be a copy of it
 * @name: of the tracepoint, from kmalloc(), owned as @format is; NULL to have
 *	that of @format
 * @system: of the tracepoint, must stay
 * @owner: told of its life, must stay
 *
 * Context: may sleep.
 * Return: the event, or NULL without memory.
 */
struct ue_event *ue_event_create(struct ue_format *format, char *name,
				 const char *system,
				 const struct ue_event_owner *owner);

/**
 * ue_event_free() - free an event that is not published (any more)
 * @event: the event
 *
 * Context: any; the memory goes after an RCU grace period.
 */
void ue_event_free(struct ue_event *event);

/**
 * ue_event_publish() - show the event to the kernel's tracing
 * @event: the event
 *
 * On success the caller is its one user; before, no one can be.
 *
 * Context: event_mutex held.
 * Return: 0; -ENOMEM; -ENODEV when the kernel has no number for it.
 */
int ue_event_publish(struct ue_event *event);

/* ue_event_has_users() - does anybody use it? Not once it has been claimed. */
static inline bool ue_event_has_users(const struct ue_event *event)
{
	return atomic_long_read(&event->users);
}

/* ue_event_busy() - does somebody use it, or tracing refer to it? */
static inline bool ue_event_busy(const struct ue_event *event)
{
	return ue_event_has_users(event) || atomic_read(&event->call.refcnt);
}

/**
 * ue_event_claim() - make sure that nobody uses the event, nor will
 * @event: a published event
 *
 * Context: event_mutex held; does not sleep.
 * Return: false when somebody uses it, or tracing refers to it.
 */
bool ue_event_claim(struct ue_event *event);

/* ue_event_unclaim() - undo ue_event_claim(), with event_mutex still held. */
void ue_event_unclaim(struct ue_event *event);

/**
 * ue_event_withdraw() - take a claimed event away from the kernel's tracing
 * @event: the event
 *
 * Context: event_mutex held.
 */
void ue_event_withdraw(struct ue_event *event);

/**
 * ue_event_abandon() - take the event away at unload, whoever refers to it
 * @event: a published event without users
 *
 * What tracing still refers to is left without a way into this module, and
 * its memory is given up.
 *
 * Context: event_mutex held, no program or recorder left.
 */
void ue_event_abandon(struct ue_event *event);

/* ue_event_give_up() - at unload: leave its memory, without a way to here. */
void ue_event_give_up(struct ue_event *event);

/**
 * ue_event_tryget() - become a user of an event just looked up
 * @event: the event
 *
 * Context: any; in the RCU section of the look-up, or with event_mutex held.
 * Return: false when the event has been taken away.
 */
bool ue_event_tryget(struct ue_event *event);

/* ue_event_get() - one more user, for who is a user already. Any context. */
static inline void ue_event_get(struct ue_event *event)
{
	atomic_long_inc(&event->users);
}

/**
 * ue_event_put() - one user less; the last one's call takes the event away
 * @event: the event, not to be touched afterwards
 *
 * Context: may sleep; event_mutex not held, nor a lock that is taken inside
 * it.
 */
void ue_event_put(struct ue_event *event);

/**
 * ue_event_put_later() - as ue_event_put(), where event_mutex can't be taken
 * @event: the event, not to be touched afterwards
 *
 * The user has gone on return; the event, if it was the last, soon.
 *
 * Context: any.
 */
void ue_event_put_later(struct ue_event *event);

/* ue_event_enabled() - does anybody record the event? Any context. */
static inline bool ue_event_enabled(const struct ue_event *event)
{
	return ue_recorders_any(&event->recorders);
}

/* ue_event_gone() - is it claimed, withdrawn or not yet published? */
static inline bool ue_event_gone(const struct ue_event *event)
{
	return atomic_long_read(&event->users) < 0;
}

/* ue_event_name() - the name of its tracepoint. */
static inline const char *ue_event_name(const struct ue_event *event)
{
	return event->tracepoint.name;
}

/* ue_events_init() - begin. Return: 0 or -ENOMEM. */
int ue_events_init(void);

/* ue_events_exit() - end what is still to be done; at unload. */
void ue_events_exit(void);

#endif /* UE_EVENT_H */
