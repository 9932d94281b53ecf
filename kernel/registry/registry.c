// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry: the events of all groups by name, and by order of creation.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/perf_event.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <uapi/linux/user_events.h>

#include "events/event.h"
#include "events/publish.h"
#include "format/format.h"
#include "port/compat.h"
#include "port/debug_counter.h"
#include "port/kernel_symbols.h"
#include "programs/flood.h"
#include "programs/perf_target.h"
#include "programs/scope.h"
#include "programs/update.h"
#include "programs/user.h"
#include "registry/registry.h"
#include "registry/suppression.h"

/*
 * The key of an event: its group, and the name of a single-format event, or the name
 * and the fields of a multi-format event. No two events have the same key.
 */
struct ue_key {
	const struct ue_group *group;
	const char *name;
	size_t length;			/* of the name */
	const struct ue_format *format;	/* NULL for a single-format event */
};

static struct ue_key ue_key(const struct ue_group *group,
			    const struct ue_format *format, bool multi)
{
	return (struct ue_key){
		.group = group,
		.name = ue_format_name(format),
		.length = ue_format_name_length(format),
		.format = multi ? format : NULL,
	};
}

static u32 ue_hash_key(const void *data, u32 length, u32 seed)
{
	const struct ue_key *key = data;

	seed ^= hash_ptr(key->group, 32);
	return key->format ? jhash(key->format, key->format->bytes, seed) :
			     jhash(key->name, key->length, seed);
}

static u32 ue_hash_event(const void *data, u32 length, u32 seed)
{
	const struct ue_event *event = data;
	const struct ue_key key = ue_key(ue_group_of(event), event->format,
					 event->multi);

	return ue_hash_key(&key, 0, seed);
}

static int ue_compare(struct rhashtable_compare_arg *arg, const void *data)
{
	const struct ue_event *event = data;
	const struct ue_key *key = arg->key;

	if (ue_group_of(event) != key->group || event->multi != !!key->format)
		return 1;
	return key->format ? !ue_format_equal(event->format, key->format) :
			     strcmp(ue_format_name(event->format), key->name);
}

static const struct rhashtable_params ue_params = {
	.head_offset = offsetof(struct ue_event, by_key),
	.hashfn = ue_hash_key,
	.obj_hashfn = ue_hash_event,
	.obj_cmpfn = ue_compare,
	.automatic_shrinking = true,
};

/*
 * The events of all groups. Tables for each group would take more memory than the events
 * of a small one. No group can choose names that make lookups in other groups slow: where
 * an event is in the tables also depends on its group.
 */
/* By key; changed with event_mutex held, read under RCU. */
static struct rhashtable ue_by_key;
/* By order of creation; as @ue_by_key. */
static DEFINE_XARRAY(ue_by_serial);
/* The multi-format events by group and name, to delete them; protected by event_mutex. */
static DEFINE_HASHTABLE(ue_multi_by_name, 10);

/* Is larger than the serials of all events; protected by event_mutex. */
static unsigned long ue_next_serial = UE_NR_MARKS;

/* Of struct ue_registry_observer; protected by event_mutex. */
static LIST_HEAD(ue_observers);

/* Marks unused events in @ue_by_serial to which tracing still refers. */
#define UE_RECHECK		XA_MARK_1
#define UE_RECHECK_DELAY	HZ

static void ue_registry_recheck(struct work_struct *work);
static DECLARE_DELAYED_WORK(ue_recheck_work, ue_registry_recheck);

void ue_registry_observe(struct ue_registry_observer *observer)
{
	mutex_lock(ue_event_mutex);
	list_add_tail(&observer->node, &ue_observers);
	mutex_unlock(ue_event_mutex);
}

void ue_registry_unobserve(struct ue_registry_observer *observer)
{
	mutex_lock(ue_event_mutex);
	list_del(&observer->node);
	mutex_unlock(ue_event_mutex);
}

static u32 ue_hash_name(const struct ue_group *group, const char *name)
{
	return jhash(name, strlen(name), hash_ptr(group, 32));
}

static void ue_registry_unlink(struct ue_event *event)
{
	struct ue_group *group = ue_group_of(event);

	xa_erase(&ue_by_serial, event->serial);
	list_del_rcu(&event->in_group);
	rhashtable_remove_fast(&ue_by_key, &event->by_key, ue_params);
	hash_del(&event->same_name);
	event->creator->nr_events--;
	ue_user_put(event->creator);
	WRITE_ONCE(group->nr_active, group->nr_active - 1);
}

static void ue_registry_remove(struct ue_event *event)
{
	struct ue_registry_observer *observer;

	list_for_each_entry(observer, &ue_observers, node)
		observer->removed(event);
	ue_registry_unlink(event);
	ue_event_unpublish(event);
	ue_event_unref(event);
}

int ue_registry_remove_event(struct ue_event *event)
{
	if (!ue_event_claim(event))
		return -EBUSY;
	ue_registry_remove(event);
	return 0;
}

/*
 * A disabled event probe refers to an event that may have no users. Tracing
 * does not notify the module when the probe is deleted. So the event is checked
 * again and again until it can be removed.
 */
static void ue_registry_remove_unused(struct ue_event *event)
{
	if (event->persistent || !ue_registry_remove_event(event) ||
	    ue_event_has_users(event))
		return;
	xa_set_mark(&ue_by_serial, event->serial, UE_RECHECK);
	schedule_delayed_work(&ue_recheck_work, UE_RECHECK_DELAY);
}

static void ue_registry_recheck(struct work_struct *work)
{
	struct ue_event *event;
	unsigned long serial;

	mutex_lock(ue_event_mutex);
	xa_for_each_marked(&ue_by_serial, serial, event, UE_RECHECK) {
		xa_clear_mark(&ue_by_serial, serial, UE_RECHECK);
		ue_registry_remove_unused(event);
		cond_resched();
	}
	mutex_unlock(ue_event_mutex);
}

static void ue_registry_state_changed(struct ue_event *event)
{
	struct ue_group *group = ue_group_of(event);
	int change = ue_event_enabled(event) ? 1 : -1;

	WRITE_ONCE(group->nr_busy, group->nr_busy + change);
}

/*
 * Finds the event of this name with equal fields. The caller becomes a user of
 * the event. An event that is being removed is skipped. With event_mutex held, no
 * event is being removed, so none is skipped.
 * Return: the event; NULL; -EADDRINUSE if a single-format event of this name
 * has other fields.
 */
static struct ue_event *ue_registry_find(struct ue_group *group,
					 const struct ue_format *format,
					 bool multi)
{
	const struct ue_key key = ue_key(group, format, multi);
	struct ue_event *event;

	rcu_read_lock();
	event = rhashtable_lookup(&ue_by_key, &key, ue_params);
	if (event && !ue_format_equal(event->format, format))
		event = ue_event_unavailable(event) ? NULL :
						      ERR_PTR(-EADDRINUSE);
	else if (event && !ue_event_tryget(event))
		event = NULL;
	rcu_read_unlock();
	return event;
}

/*
 * Checks whether the current task may create an event of this tracepoint name.
 * Compares the count before it checks a capability, which is audited.
 */
static int ue_registry_may_create(const struct ue_group *group,
				  const struct ue_format *format,
				  const char *name, const struct ue_user *user)
{
	if (!ue_can_be_directory(name) || !ue_format_may_be_created(format))
		return -EINVAL;
	if (group->nr_active >= READ_ONCE(group->max))
		return -EMFILE;
	if (user->nr_events >= READ_ONCE(user->users->max_events) &&
	    !perfmon_capable())
		return -EMFILE;
	return 0;
}

/*
 * The kernel checks access to the task only after the perf event was opened, which sets enable bits
 * of the task.
 */
static bool ue_may_trace(struct task_struct *task)
{
	if (!task || same_thread_group(task, current))
		return true;
	return static_call_query(ue_ptrace_may_access) &&
	       static_call(ue_ptrace_may_access)(task, PTRACE_MODE_READ_REALCREDS);
}

/*
 * The kernel lets any user count an event where perf_event_paranoid is 2 or
 * less. Counting would set the enable bits of all programs, and keep the event
 * from being deleted. So counting needs what sampling needs. An inherited perf
 * event has the permission of its parent.
 */
static int ue_registry_perf_perm(struct trace_event_call *call,
				 struct perf_event *event)
{
	if (event->parent || perfmon_capable())
		return 0;
	if (!ue_perf_event_paranoid || READ_ONCE(*ue_perf_event_paranoid) >= 0)
		return -EPERM;
	return ue_may_trace(event->hw.target) ? 0 : -EACCES;
}

/* On success, the event owns @format. */
static struct ue_event *ue_registry_new_event(struct ue_group *group,
					      struct ue_format *format,
					      bool multi)
{
	struct ue_user *user = ue_user_get_current(group->owner.users,
						   GFP_KERNEL_ACCOUNT);
	struct ue_event *event = NULL;
	char *name = NULL;
	int err = 0;

	if (multi)
		name = kasprintf(GFP_KERNEL, "%s.%lx", ue_format_name(format),
				 group->next_multi_id);
	if (!user || (multi && !name))
		err = -ENOMEM;
	if (!err)
		err = ue_registry_may_create(group, format,
					     name ?: ue_format_name(format), user);
	if (!err)
		event = ue_event_create(format, name, NULL, multi ?
					group->multi_system :
					group->system, &group->owner);
	if (!event) {
		kfree(name);
		if (user)
			ue_user_put(user);
		return ERR_PTR(err ?: -ENOMEM);
	}
	ue_group_ref(group);
	event->creator = user;
	event->multi = multi;
	event->call.perf_perm = ue_registry_perf_perm;
	return event;
}

/* On failure, the event has no reference to its creator any more. */
static int ue_registry_link(struct ue_event *event)
{
	struct ue_group *group = ue_group_of(event);
	int err;

	err = xa_insert(&ue_by_serial, event->serial, event, GFP_KERNEL_ACCOUNT);
	if (err)
		goto put;
	if (rhashtable_insert_fast(&ue_by_key, &event->by_key, ue_params)) {
		err = -ENOMEM;
		goto erase;
	}
	list_add_tail_rcu(&event->in_group, &group->events);
	if (event->multi)
		hash_add(ue_multi_by_name, &event->same_name,
			 ue_hash_name(group, ue_format_name(event->format)));
	event->creator->nr_events++;
	WRITE_ONCE(group->nr_active, group->nr_active + 1);

	/* All events of the group, the retired ones too, have at most as many type numbers. */
	group->retired.max = max(READ_ONCE(group->max), group->nr_active) - group->nr_active + 1;
	err = ue_event_publish(event);
	if (err)
		ue_registry_unlink(event);
	return err;
erase:
	xa_erase(&ue_by_serial, event->serial);
put:
	ue_user_put(event->creator);
	return err;
}

/* Takes ownership of @format, also on failure. Called with event_mutex held. */
static struct ue_event *ue_registry_create(struct ue_group *group,
					   struct ue_format *format,
					   unsigned int flags)
{
	bool multi = flags & USER_EVENT_REG_MULTI_FORMAT;
	struct ue_event *event = ue_registry_new_event(group, format, multi);
	struct ue_registry_observer *observer;
	int err;

	if (IS_ERR(event)) {
		kfree(format);
		return event;
	}
	event->persistent = flags & USER_EVENT_REG_PERSIST;
	event->serial = ue_next_serial;
	err = ue_registry_link(event);
	if (err) {
		/* RCU readers may still use the event and its @format. */
		ue_event_unref(event);
		return ERR_PTR(err);
	}
	ue_next_serial++;
	group->next_multi_id += multi;
	list_for_each_entry(observer, &ue_observers, node)
		observer->added(event);
	ue_event_make_available(event);
	return event;
}

/*
 * Return: the single-format event of a name, or NULL. Without event_mutex, only
 * test it for NULL.
 */
static struct ue_event *ue_registry_single(struct ue_group *group,
					   const char *name)
{
	const struct ue_key key = {
		.group = group, .name = name, .length = strlen(name),
	};

	return rhashtable_lookup_fast(&ue_by_key, &key, ue_params);
}

/*
 * The single-format event of a name may have lost its last user already, while
 * a work item that will remove the event still waits for event_mutex. Removes
 * the event now.
 */
static void ue_registry_reap(struct ue_group *group, const char *name)
{
	struct ue_event *event = ue_registry_single(group, name);

	if (event)
		ue_registry_remove_unused(event);
}

static struct ue_event *ue_registry_get(struct ue_group *group,
					struct ue_format *format,
					unsigned int flags)
{
	bool multi = flags & USER_EVENT_REG_MULTI_FORMAT;
	struct ue_event *event = ue_registry_find(group, format, multi);

	/* The usual case, without event_mutex. */
	if (event && !IS_ERR(event)) {
		kfree(format);
		return event;
	}
	mutex_lock(ue_event_mutex);
	event = ue_registry_find(group, format, multi);
	if (IS_ERR(event)) {
		ue_registry_reap(group, ue_format_name(format));
		event = ue_registry_find(group, format, multi);
	}
	if (event)
		kfree(format);
	else
		event = ue_registry_create(group, format, flags);
	mutex_unlock(ue_event_mutex);
	return event;
}

/* Decides between -EADDRINUSE and -EINVAL for a malformed command. */
static bool ue_registry_has_name(struct ue_group *group,
				 const char *command)
{
	char *name = ue_command_name(command);
	bool has;

	if (!name)
		return false;
	has = ue_registry_single(group, name);
	kfree(name);
	return has;
}

int ue_registry_register(struct ue_group *group, const char *command,
			 unsigned int flags, struct ue_event **result)
{
	struct ue_format *format;
	struct ue_event *event;
	int err;

	err = ue_format_parse(command, &format);
	if (err == -EINVAL && !(flags & USER_EVENT_REG_MULTI_FORMAT) &&
	    ue_registry_has_name(group, command))
		return -EADDRINUSE;
	if (err)
		return err;
	event = ue_registry_get(group, format, flags);
	if (IS_ERR(event))
		return PTR_ERR(event);
	*result = event;
	return 0;
}

static bool ue_may_delete(const struct ue_event *event)
{
	/* Check the creator first: checks of capabilities are audited. */
	return (!event->persistent && uid_eq(event->creator->uid, current_uid())) ||
	       perfmon_capable();
}

static int ue_registry_claim(struct ue_event *event)
{
	if (!ue_may_delete(event))
		return -EPERM;
	return ue_event_claim(event) ? 0 : -EBUSY;
}

/*
 * Claims the events of @name, up to the first that can't be claimed.
 * Return: 0, the error of that event, or -ENOENT.
 */
static int ue_registry_claim_all(struct ue_group *group, const char *name)
{
	struct ue_event *event = ue_registry_single(group, name);
	int err = event ? ue_registry_claim(event) : -ENOENT;

	if (event && err)
		return err;
	hash_for_each_possible(ue_multi_by_name, event, same_name,
			       ue_hash_name(group, name)) {
		if (ue_group_of(event) != group ||
		    strcmp(name, ue_format_name(event->format)))
			continue;
		err = ue_registry_claim(event);
		if (err)
			break;
	}
	return err;
}

/*
 * Calls @end for each event that ue_registry_claim_all() has claimed. While
 * event_mutex is held, no other event is unavailable.
 */
static void ue_registry_end_claims(struct ue_group *group,
				   const char *name,
				   void (*end)(struct ue_event *event))
{
	struct ue_event *event = ue_registry_single(group, name);
	struct hlist_node *next;

	if (event && ue_event_unavailable(event))
		end(event);
	hash_for_each_possible_safe(ue_multi_by_name, event, next,
				    same_name, ue_hash_name(group, name)) {
		if (ue_event_unavailable(event))
			end(event);
		/* There may be very many events. */
		cond_resched();
	}
}

int ue_registry_delete(struct ue_group *group, const char *name)
{
	int err;

	mutex_lock(ue_event_mutex);
	err = ue_registry_claim_all(group, name);
	ue_registry_end_claims(group, name,
			       err ? ue_event_unclaim : ue_registry_remove);
	mutex_unlock(ue_event_mutex);
	return err;
}

/* Claims all events of a group, or none. */
static int ue_registry_claim_group(struct ue_group *group)
{
	struct ue_event *event;

	list_for_each_entry(event, &group->events, in_group) {
		if (!ue_event_claim(event))
			goto unclaim;
	}
	return 0;
unclaim:
	list_for_each_entry_continue_reverse(event, &group->events, in_group)
		ue_event_unclaim(event);
	return -EBUSY;
}

/*
 * Holds event_mutex over all events, as emptying dynamic_events does: otherwise, tracing
 * could enable an event that is claimed.
 */
int ue_registry_remove_group(struct ue_group *group)
{
	struct ue_event *event, *next;
	int err;

	mutex_lock(ue_event_mutex);
	err = ue_registry_claim_group(group);
	if (err)
		goto unlock;
	list_for_each_entry_safe(event, next, &group->events, in_group) {
		ue_registry_remove(event);
		cond_resched();
	}
unlock:
	mutex_unlock(ue_event_mutex);
	return err;
}

struct ue_event *ue_registry_next(unsigned long *serial)
{
	struct ue_event *event;

	event = xa_find(&ue_by_serial, serial, ULONG_MAX, XA_PRESENT);
	while (event && ue_event_unavailable(event))
		event = xa_find_after(&ue_by_serial, serial, ULONG_MAX, XA_PRESENT);
	return event;
}

struct ue_event *ue_group_first_event(struct ue_group *group, unsigned long serial)
{
	struct ue_event *event;

	list_for_each_entry_rcu(event, &group->events, in_group) {
		if (event->serial >= serial && !ue_event_unavailable(event))
			return event;
	}
	return NULL;
}

struct ue_event *ue_group_next_event(struct ue_group *group, struct ue_event *event)
{
	list_for_each_entry_continue_rcu(event, &group->events, in_group) {
		if (!ue_event_unavailable(event))
			return event;
	}
	return NULL;
}

static void ue_registry_over_limit(struct ue_event *event)
{
	ue_suppression_begin(event);
	ue_flood_mute(event);
}

unsigned long ue_registry_next_serial(void)
{
	lockdep_assert_held(ue_event_mutex);
	return ue_next_serial;
}

/* The default group is not allocated, and keeps a reference. */
void ue_group_unref(struct ue_group *group)
{
	if (!refcount_dec_and_test(&group->references))
		return;
	ue_users_put(group->owner.users);
	ue_debug_count(UE_COUNT_GROUPS, -1);
	kfree_rcu(group, rcu);
}

static void ue_registry_freed(const struct ue_event_owner *owner)
{
	ue_group_unref(container_of(owner, struct ue_group, owner));
}

struct ue_group ue_default_group = {
	.owner = {
		.users = &ue_default_users,
		.retired = &ue_default_group.retired,
		.unused = ue_registry_remove_unused,
		.state_changed = ue_registry_state_changed,
		/* The bits are written even if the state is the same: some may be wrong. */
		.all_changed = ue_update_event,
		.scopes_changed = ue_update_scopes,
		.current_has_scopes = ue_current_has_scopes,
		.over_limit = ue_registry_over_limit,
		.perf_opened = ue_perf_open,
		.perf_closed = ue_perf_close,
		.freed = ue_registry_freed,
	},
	.retired.events = LIST_HEAD_INIT(ue_default_group.retired.events),
	.retired.system = USER_EVENTS_SYSTEM,
	.name = UE_DEFAULT_GROUP,
	.system = USER_EVENTS_SYSTEM,
	.multi_system = USER_EVENTS_MULTI_SYSTEM,
	.max = UE_MAX_EVENTS,
	.events = LIST_HEAD_INIT(ue_default_group.events),
	.references = REFCOUNT_INIT(2),
	.mode = UE_GROUP_MODE_AT_FIRST,
};

int ue_registry_init(void)
{
	return rhashtable_init(&ue_by_key, &ue_params);
}

void ue_registry_exit(void)
{
	struct ue_event *event, *next;
	LIST_HEAD(newest_first);
	unsigned long serial;

	/* Remove the newest first: tracing searches from the newest on. */
	mutex_lock(ue_event_mutex);
	xa_for_each(&ue_by_serial, serial, event)
		list_add(&event->dynamic.list, &newest_first);
	list_for_each_entry_safe(event, next, &newest_first, dynamic.list) {
		list_del_init(&event->dynamic.list);
		ue_registry_unlink(event);
		ue_event_unpublish_at_unload(event);
		cond_resched();
	}
	mutex_unlock(ue_event_mutex);

	/* The work item does nothing any more: no event is left. */
	cancel_delayed_work_sync(&ue_recheck_work);
	rhashtable_destroy(&ue_by_key);
	ue_publish_exit();
}
