/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One event: users, references and recorders.
 *
 * A *user* of an event is an open file that registered it, an enabler, a
 * recorder, or a caller that has looked it up. When the last user puts the
 * event, its owner (the registry) removes the event unless it is persistent. An
 * event is removed with event_mutex held and only while it has no users. Its
 * memory is freed an RCU grace period after the last reference is put.
 */
#ifndef UE_EVENT_H
#define UE_EVENT_H

#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/trace_events.h>
#include <linux/uidgid.h>

#include "events/recorder.h"
#include "port/kernel_symbols.h"

struct perf_event;
struct ue_event;
struct ue_format;
struct ue_retired;
struct ue_user;
struct ue_users;

/**
 * struct ue_event_owner - the owner of events: callbacks, and its table of user IDs
 * @users: the table of user IDs in which registrations of these events count; NULL if they have
 *	no registrations
 * @retired: the retired events of the owner; NULL if the owner removes no event before unloading
 * @unused: the event may have lost its last user
 * @state_changed: the event has got its first recorder or lost its last one
 * @all_changed: the event has got or lost a recorder of all programs
 * @over_limit: the current program has written beyond a limit; called after the write,
 *	without locks
 * @scopes_changed: recorders of some programs now record the event for these scopes, or the limit
 *	of one has changed
 * @current_has_scopes: whether one of these scopes matches the current program; called by each
 *	write to an event that has a recorder of some programs, with preemption disabled
 * @perf_opened: perf has opened a perf event that records the event
 * @perf_closed: perf closes the perf event
 * @freed: the memory of an event is freed or abandoned, and with it the event's
 *	reference to its owner; called in any context. NULL if the owner does not care
 *
 * @unused, @perf_opened, @perf_closed and the changes are called with event_mutex held, and
 * must not wait for user space.
 */
struct ue_event_owner {
	struct ue_users *users;
	struct ue_retired *retired;
	void (*unused)(struct ue_event *event);
	void (*state_changed)(struct ue_event *event);
	void (*all_changed)(struct ue_event *event);
	void (*scopes_changed)(struct ue_event *event, u64 scopes);
	bool (*current_has_scopes)(u64 scopes);
	void (*over_limit)(struct ue_event *event);
	void (*perf_opened)(struct ue_event *event,
			    struct perf_event *perf_event);
	void (*perf_closed)(struct ue_event *event,
			    struct perf_event *perf_event);
	void (*freed)(const struct ue_event_owner *owner);
};

/* In what lists an event is, with a reference for each: bits of @queued. */
#define UE_QUEUED_CHECK		1
#define UE_QUEUED_SUPPRESSION	2

/**
 * struct ue_event - an event
 * @call: the event as the kernel's tracing sees it
 * @class: class of @call, one for each event
 * @tracepoint: gives @call its name and BPF something to attach to; no probe
 *	is ever registered with it
 * @format: the parsed command; owned by the event
 * @owner: the owner. It is part of a struct ue_group, unless the event is the module's own.
 * @creator: the user that has created the event; NULL if it counts for none
 * @inline_used: bytes of @inline_data in use
 * @multi: registered with USER_EVENT_REG_MULTI_FORMAT
 * @persistent: stays when it has no users
 * @has_records: buffers of ftrace may have records with its type number; changed
 *	with event_mutex held
 * @users: number of users; negative while the event is unavailable, see
 *	UE_EVENT_UNAVAILABLE
 * @recorders: the recorders; changed with event_mutex held
 * @enablers: list of enablers that follow the event. Those that the last
 *	update has not reached come first. Protected by ue_enabler_mutex
 * @update: number of the last update of the enable bits; protected by
 *	ue_enabler_mutex
 * @scopes: bits of the scopes of programs for which the event is recorded, with UE_SCOPE_TRACED if
 *	there are @nr_roots; changed with event_mutex and ue_enabler_mutex held
 * @update_scopes: for which scopes the last update makes a difference; U64_MAX stands for
 *	all programs. Protected by ue_enabler_mutex
 * @nr_perf_all: number of perf events that record all tasks, on one CPU or all of
 *	them; changed with event_mutex held
 * @nr_roots: number of perf events of single tasks, see traced.h; changed
 *	with event_mutex and ue_enabler_mutex held
 * @mutes: of struct ue_mute, by @of_event; protected by ue_enabler_mutex
 * @muted: how long bits were 0 because of limits, in all address spaces, in jiffies; changed
 *	with ue_enabler_mutex held
 * @set_elsewhere: because the event has scopes, bits in shared memory may be 1 also in address
 *	spaces of other scopes; protected by ue_enabler_mutex
 * @serial: for an event of the registry its number in order of creation, which is the key
 *	in the registry's xarray; for one of the module's own events, of enum ue_own
 * @in_group: entry in the list of the group's events; changed with event_mutex held, read
 *	under RCU
 * @by_key: entry in the registry's hash table
 * @same_name: entry in the registry's hash table of multi-format events by name;
 *	protected by event_mutex
 * @dynamic: entry in the kernel's list of dynamic events, or in the list of
 *	retired events; protected by event_mutex
 * @references: number of references to the memory. The registry has one, and so have
 *	each bit of @queued and each work item that finishes an update. There is one
 *	while the event is retired, and one for each of its open files in tracefs
 *	that event_files.c keeps
 * @queued: UE_QUEUED_CHECK and UE_QUEUED_SUPPRESSION
 * @check_node: entry in the list of events to be checked for being unused
 * @suppression_node: entry in the list of events of which payloads were suppressed
 * @rcu: frees the memory
 * @inline_data: rest of the memory that kmalloc() returned, used for a small
 *	format and print format
 */
struct ue_event {
	struct trace_event_call call;
	struct trace_event_class class;
	struct tracepoint tracepoint;
	struct ue_format *format;
	const struct ue_event_owner *owner;
	struct ue_user *creator;
	atomic_long_t users;
	struct ue_recorders recorders;
	struct list_head enablers;
	u64 scopes;
	u64 update_scopes;
	struct hlist_head mutes;
	unsigned long muted;
	unsigned int nr_perf_all;
	unsigned int nr_roots;
	u32 update;
	refcount_t references;
	unsigned long serial;
	struct list_head in_group;
	struct rhash_head by_key;
	struct hlist_node same_name;
	struct dyn_event dynamic;
	atomic_t queued;
	u16 inline_used;
	bool multi : 1;
	bool persistent : 1;
	bool has_records : 1;
	bool set_elsewhere;
	union {	/* rcu is used once no reference is left, the other members while there is one */
		struct {
			struct llist_node check_node;
			struct llist_node suppression_node;
		};
		struct rcu_head rcu;
	};
	u32 inline_data[];
};

/*
 * The value of @users while nothing can become a user: the event is claimed,
 * unpublished, or not yet published.
 */
#define UE_EVENT_UNAVAILABLE	(LONG_MIN / 2)

/**
 * ue_event_create() - create an event that is not published yet
 * @format: the format. On success the event owns the format and may move it.
 *	The caller must not use @format afterwards.
 * @name: name of the tracepoint, from kmalloc(); on success the event owns
 *	it. NULL: use the name of @format.
 * @print_fmt: the print format that tools read. NULL: that of @format.
 * @system: tracing system of the event; must outlive the event
 * @owner: the owner; must exist until it is told that the event is freed
 *
 * Context: may sleep.
 * Return: the event, with one reference; NULL if out of memory.
 */
struct ue_event *ue_event_create(struct ue_format *format, char *name,
				 const char *print_fmt, const char *system,
				 const struct ue_event_owner *owner);

/**
 * ue_event_ref() - take a reference to the memory
 * @event: the event, to which the caller has a reference
 *
 * Context: any.
 */
static inline void ue_event_ref(struct ue_event *event)
{
	refcount_inc(&event->references);
}

/**
 * ue_event_unref() - put a reference to the memory
 * @event: the event; not published when this is the last reference
 *
 * Context: any. The memory is freed after an RCU grace period.
 */
void ue_event_unref(struct ue_event *event);

/**
 * ue_event_abandon() - at unload, leave the memory of an event allocated
 * @event: an unpublished event that the kernel may still refer to
 *
 * Removes the pointers into the module that tracing may still follow. May be
 * called more than once for an event.
 *
 * Context: event_mutex held; module exit.
 */
void ue_event_abandon(struct ue_event *event);

/**
 * ue_event_has_users() - check for users
 * @event: the event
 *
 * Context: any.
 * Return: true if the event has users or is unavailable.
 */
static inline bool ue_event_has_users(const struct ue_event *event)
{
	return atomic_long_read(&event->users);
}

/**
 * ue_event_busy() - check for users and for references by tracing
 * @event: the event
 *
 * Context: any; without event_mutex the result may be outdated.
 * Return: true if the event can't be removed.
 */
static inline bool ue_event_busy(const struct ue_event *event)
{
	return ue_event_has_users(event) || atomic_read(&event->call.refcnt);
}

/**
 * ue_event_make_available() - let others become users of a published event
 * @event: the event, unavailable since it was created; may have recorders
 *
 * The caller becomes a user.
 *
 * Context: event_mutex held since the event was published.
 */
static inline void ue_event_make_available(struct ue_event *event)
{
	/* Pairs with ue_event_tryget(): a task that succeeds sees the event. */
	atomic_long_add_return_release(1 - UE_EVENT_UNAVAILABLE, &event->users);
}

/**
 * ue_event_claim() - make an unused event unavailable, to remove it
 * @event: a published event
 *
 * Context: event_mutex held; does not sleep.
 * Return: true; false if the event has users or tracing refers to it.
 */
bool ue_event_claim(struct ue_event *event);

/**
 * ue_event_unclaim() - undo ue_event_claim()
 * @event: the claimed event
 *
 * Context: event_mutex held since ue_event_claim(); does not sleep.
 */
void ue_event_unclaim(struct ue_event *event);

/**
 * ue_event_tryget() - become a user of an event that was looked up
 * @event: the event
 *
 * Context: any; in the RCU read-side critical section of the lookup, or with
 * event_mutex held.
 * Return: true; false if the event is unavailable.
 */
bool ue_event_tryget(struct ue_event *event);

/**
 * ue_event_get() - add a user
 * @event: the event, of which the caller is a user
 *
 * Context: any.
 */
static inline void ue_event_get(struct ue_event *event)
{
	atomic_long_inc(&event->users);
}

/**
 * ue_event_put() - remove a user
 * @event: the event; the caller must not use it afterwards
 *
 * The caller that removes the last user calls the owner, which may remove the
 * event.
 *
 * Context: may sleep; event_mutex not held, nor a lock that is taken inside
 * it.
 */
void ue_event_put(struct ue_event *event);

/**
 * ue_event_put_later() - remove a user where event_mutex can't be taken
 * @event: the event; the caller must not use it afterwards
 *
 * As ue_event_put(), but a work item calls the owner.
 *
 * Context: any.
 */
void ue_event_put_later(struct ue_event *event);

/**
 * ue_event_enabled() - check for recorders
 * @event: the event
 *
 * Context: any.
 * Return: true if the event has a recorder.
 */
static inline bool ue_event_enabled(const struct ue_event *event)
{
	return ue_recorders_any(&event->recorders);
}

/**
 * ue_event_wants_all() - check for recorders of all programs
 * @event: the event
 *
 * Context: any; stable with event_mutex held.
 * Return: true if there is one: a perf event of a single task is none, nor is a rule
 * for some programs.
 */
static inline bool ue_event_wants_all(const struct ue_event *event)
{
	return ue_recorders_have_all(&event->recorders) ||
	       READ_ONCE(event->nr_perf_all);
}

/**
 * ue_event_set_scopes() - change for which programs an ftrace instance records
 * @event: the event
 * @file: the event's file of the instance, which has a recorder
 * @scopes: bits of scopes; 0 for all programs
 *
 * Context: event_mutex held; may sleep.
 */
void ue_event_set_scopes(struct ue_event *event, struct trace_event_file *file,
			 u64 scopes);

/**
 * ue_event_set_limit() - change the limit of the recorder of an ftrace instance
 * @event: the event
 * @file: the event's file of the instance, which has a recorder
 * @limit: the new limit, or NULL; the recorder takes it over
 *
 * Context: event_mutex held; may sleep.
 */
void ue_event_set_limit(struct ue_event *event, struct trace_event_file *file,
			struct ue_limit *limit);

/**
 * ue_event_unavailable() - check whether nothing can become a user
 * @event: the event
 *
 * Context: any; stable with event_mutex held.
 * Return: true if the event is claimed, unpublished or not yet published.
 */
static inline bool ue_event_unavailable(const struct ue_event *event)
{
	return atomic_long_read(&event->users) < 0;
}

/**
 * ue_event_name() - get the name of the tracepoint
 * @event: the event
 *
 * Context: any.
 * Return: the name, which lives as long as the event.
 */
static inline const char *ue_event_name(const struct ue_event *event)
{
	return event->tracepoint.name;
}

/**
 * ue_events_flush() - wait until the owner was called for all unused events
 *
 * Context: module exit; may sleep; event_mutex not held.
 */
void ue_events_flush(void);

#endif /* UE_EVENT_H */
