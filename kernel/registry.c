// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry: the events by name, and by order of creation.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/jhash.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <uapi/linux/user_events.h>

#include "event.h"
#include "format.h"
#include "kernel_symbols.h"
#include "publish.h"
#include "registry.h"
#include "update.h"

/* The key of all single-format, or all multi-format, events of a name. */
struct ue_key {
	const char *name;
	bool multi;
};

static u32 ue_hash_key(const void *data, u32 length, u32 seed)
{
	const struct ue_key *key = data;

	return jhash(key->name, strlen(key->name), seed + key->multi);
}

static u32 ue_hash_event(const void *data, u32 length, u32 seed)
{
	const struct ue_event *event = data;
	struct ue_key key = { ue_format_name(event->format), event->multi };

	return ue_hash_key(&key, 0, seed);
}

static int ue_compare(struct rhashtable_compare_arg *arg, const void *data)
{
	const struct ue_event *event = data;
	const struct ue_key *key = arg->key;

	return key->multi != event->multi ||
	       strcmp(key->name, ue_format_name(event->format));
}

static const struct rhashtable_params ue_params = {
	.head_offset = offsetof(struct ue_event, by_name),
	.hashfn = ue_hash_key,
	.obj_hashfn = ue_hash_event,
	.obj_cmpfn = ue_compare,
	.automatic_shrinking = true,
};

/* Changed with event_mutex held, read under RCU. */
static struct rhltable ue_by_name;
static DEFINE_XARRAY(ue_by_serial);

/* Marks events in @ue_by_serial that are unused, but tracing refers to them. */
#define UE_RECHECK		XA_MARK_1
#define UE_RECHECK_DELAY	HZ

/* Protected by event_mutex. */
static unsigned long ue_next_serial;
static unsigned long ue_next_multi_id;

/* Changed with event_mutex held, read without a lock. */
static unsigned int ue_nr_active;
static unsigned int ue_nr_busy;

unsigned int ue_registry_max = 32768;

/* Changed with event_mutex held. */
static const struct ue_registry_observer *ue_observer;

void ue_registry_observe(const struct ue_registry_observer *observer)
{
	mutex_lock(ue_event_mutex);
	ue_observer = observer;
	mutex_unlock(ue_event_mutex);
}

static void ue_registry_unlink(struct ue_event *event)
{
	xa_erase(&ue_by_serial, event->serial);
	rhltable_remove(&ue_by_name, &event->by_name, ue_params);
	WRITE_ONCE(ue_nr_active, ue_nr_active - 1);
}

static void ue_registry_remove(struct ue_event *event)
{
	if (ue_observer)
		ue_observer->removed(event);
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

static void ue_registry_recheck(struct work_struct *unused);

static DECLARE_DELAYED_WORK(ue_recheck_work, ue_registry_recheck);

/*
 * Tracing may refer to an event that has no users: a disabled event probe does.
 * Tracing does not notify the module when the probe is deleted, so the event is
 * checked again until then.
 */
static void ue_registry_remove_unused(struct ue_event *event)
{
	if (event->persistent || !ue_registry_remove_event(event) ||
	    ue_event_has_users(event))
		return;
	xa_set_mark(&ue_by_serial, event->serial, UE_RECHECK);
	schedule_delayed_work(&ue_recheck_work, UE_RECHECK_DELAY);
}

static void ue_registry_recheck(struct work_struct *unused)
{
	struct ue_event *event;
	unsigned long serial;

	mutex_lock(ue_event_mutex);
	xa_for_each_marked(&ue_by_serial, serial, event, UE_RECHECK) {
		xa_clear_mark(&ue_by_serial, serial, UE_RECHECK);
		ue_registry_remove_unused(event);
	}
	mutex_unlock(ue_event_mutex);
}

/* The bits are written even if the state is the same: some may be wrong. */
static void ue_registry_recorders_changed(struct ue_event *event,
					  bool state_changed)
{
	int change = ue_event_enabled(event) ? 1 : -1;

	if (state_changed)
		WRITE_ONCE(ue_nr_busy, ue_nr_busy + change);
	ue_update_event(event);
}

static const struct ue_event_owner ue_registry_owner = {
	.unused = ue_registry_remove_unused,
	.recorders_changed = ue_registry_recorders_changed,
};

/*
 * Finds the event of this name with equal fields, and becomes a user of it.
 * Events that are being removed are skipped; with event_mutex held there are
 * none.
 * Return: the event; NULL; -EADDRINUSE if a single-format event of this name
 * has other fields.
 */
static struct ue_event *ue_registry_find(const struct ue_format *format,
					 bool multi)
{
	struct ue_key key = { ue_format_name(format), multi };
	struct rhlist_head *list, *at;
	struct ue_event *event, *found = NULL;

	rcu_read_lock();
	list = rhltable_lookup(&ue_by_name, &key, ue_params);
	rhl_for_each_entry_rcu(event, at, list, by_name) {
		bool equal = ue_format_equal(event->format, format);

		if (equal ? ue_event_tryget(event) :
			    !multi && !ue_event_unavailable(event)) {
			found = equal ? event : ERR_PTR(-EADDRINUSE);
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

static struct ue_event *ue_registry_new_event(struct ue_format *format, bool multi)
{
	struct ue_event *event;
	char *name;

	if (!multi)
		return ue_event_create(format, NULL, USER_EVENTS_SYSTEM,
				       &ue_registry_owner);

	name = kasprintf(GFP_KERNEL, "%s.%lx", ue_format_name(format),
			 ue_next_multi_id);
	if (!name)
		return NULL;
	event = ue_event_create(format, name, USER_EVENTS_MULTI_SYSTEM,
				&ue_registry_owner);
	if (!event)
		kfree(name);
	return event;
}

static int ue_registry_link(struct ue_event *event)
{
	const struct ue_key key = { ue_format_name(event->format), event->multi };
	int err;

	err = xa_insert(&ue_by_serial, event->serial, event,
			GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	err = rhltable_insert_key(&ue_by_name, &key, &event->by_name,
				  ue_params);
	if (err) {
		xa_erase(&ue_by_serial, event->serial);
		return -ENOMEM;
	}
	WRITE_ONCE(ue_nr_active, ue_nr_active + 1);

	err = ue_event_publish(event);
	if (err)
		ue_registry_unlink(event);
	return err;
}

/* Takes ownership of @format, also on failure. Called with event_mutex held. */
static struct ue_event *ue_registry_create(struct ue_format *format,
					   unsigned int flags)
{
	bool multi = flags & USER_EVENT_REG_MULTI_FORMAT;
	struct ue_event *event = NULL;
	bool allowed = ue_nr_active < READ_ONCE(ue_registry_max);
	int err;

	if (allowed)
		event = ue_registry_new_event(format, multi);
	if (!event) {
		kfree(format);
		return ERR_PTR(allowed ? -ENOMEM : -EMFILE);
	}
	event->multi = multi;
	event->persistent = flags & USER_EVENT_REG_PERSIST;
	event->serial = ue_next_serial;
	err = ue_registry_link(event);
	if (err) {
		/* RCU readers may still use the event and its @format. */
		ue_event_unref(event);
		return ERR_PTR(err);
	}
	ue_next_serial++;
	ue_next_multi_id += multi;
	if (ue_observer)
		ue_observer->added(event);
	return event;
}

/* Return: an event of @key, or NULL. Without event_mutex, only test it for NULL. */
static struct ue_event *ue_registry_first(const struct ue_key *key)
{
	struct rhlist_head *list;

	rcu_read_lock();
	list = rhltable_lookup(&ue_by_name, key, ue_params);
	rcu_read_unlock();
	return list ? container_of(list, struct ue_event, by_name) : NULL;
}

/*
 * The single-format event of a name may have lost its last user already, while
 * the work item that removes it still waits for event_mutex. Removes it now.
 */
static void ue_registry_reap(const struct ue_format *format)
{
	const struct ue_key key = { ue_format_name(format), false };
	struct ue_event *event = ue_registry_first(&key);

	if (event)
		ue_registry_remove_unused(event);
}

static struct ue_event *ue_registry_get(struct ue_format *format,
					unsigned int flags)
{
	bool multi = flags & USER_EVENT_REG_MULTI_FORMAT;
	struct ue_event *event = ue_registry_find(format, multi);

	/* The usual case, without event_mutex. */
	if (event && !IS_ERR(event)) {
		kfree(format);
		return event;
	}
	mutex_lock(ue_event_mutex);
	event = ue_registry_find(format, multi);
	if (IS_ERR(event)) {
		ue_registry_reap(format);
		event = ue_registry_find(format, multi);
	}
	if (event)
		kfree(format);
	else
		event = ue_registry_create(format, flags);
	mutex_unlock(ue_event_mutex);
	return event;
}

/* A malformed command counts as other fields of an existing event. */
static bool ue_registry_has_name(const char *command)
{
	char *name = ue_command_name(command);
	const struct ue_key key = { name, false };
	bool has;

	if (!name)
		return false;
	has = ue_registry_first(&key);
	kfree(name);
	return has;
}

int ue_registry_register(const char *command, unsigned int flags,
			 struct ue_event **result)
{
	struct ue_format *format;
	struct ue_event *event;
	int err;

	err = ue_format_parse(command, &format);
	if (err == -EINVAL && !(flags & USER_EVENT_REG_MULTI_FORMAT) &&
	    ue_registry_has_name(command))
		return -EADDRINUSE;
	if (err)
		return err;
	event = ue_registry_get(format, flags);
	if (IS_ERR(event))
		return PTR_ERR(event);
	*result = event;
	return 0;
}

static bool ue_may_delete(const struct ue_event *event)
{
	/* Check the creator first: checks of capabilities are audited. */
	return (!event->persistent && uid_eq(event->creator, current_uid())) ||
	       perfmon_capable();
}

static int ue_registry_claim(struct ue_event *event)
{
	if (!ue_may_delete(event))
		return -EPERM;
	return ue_event_claim(event) ? 1 : -EBUSY;
}

/* Unclaims the first @nr events of @key. */
static void ue_registry_unclaim(const struct ue_key *key, int nr)
{
	struct rhlist_head *list, *at;
	struct ue_event *event;

	rcu_read_lock();
	list = rhltable_lookup(&ue_by_name, key, ue_params);
	rhl_for_each_entry_rcu(event, at, list, by_name) {
		if (!nr--)
			break;
		ue_event_unclaim(event);
	}
	rcu_read_unlock();
}

/*
 * Claims all events of @key, or none. Called with event_mutex held, so that no
 * event is added or removed in between.
 * Return: the number of events; the error of the first that can't be claimed.
 */
static int ue_registry_claim_all(const struct ue_key *key)
{
	struct rhlist_head *list, *at;
	struct ue_event *event;
	int nr = 0, result = 0;

	rcu_read_lock();
	list = rhltable_lookup(&ue_by_name, key, ue_params);
	rhl_for_each_entry_rcu(event, at, list, by_name) {
		result = ue_registry_claim(event);
		if (result < 0)
			break;
		nr += result;
	}
	rcu_read_unlock();
	if (result >= 0)
		return nr;
	ue_registry_unclaim(key, nr);
	return result;
}

static void ue_registry_remove_all(const struct ue_key *key)
{
	struct ue_event *event;

	while ((event = ue_registry_first(key))) {
		ue_registry_remove(event);
		/* There may be very many events. */
		cond_resched();
	}
}

int ue_registry_delete(const char *name)
{
	const struct ue_key single = { name, false }, multi = { name, true };
	int nr_single, nr_multi;

	mutex_lock(ue_event_mutex);
	nr_single = ue_registry_claim_all(&single);
	nr_multi = nr_single < 0 ? nr_single : ue_registry_claim_all(&multi);
	if (nr_multi >= 0) {
		ue_registry_remove_all(&single);
		ue_registry_remove_all(&multi);
	} else if (nr_single > 0) {
		ue_registry_unclaim(&single, nr_single);
	}
	mutex_unlock(ue_event_mutex);

	if (nr_multi < 0)
		return nr_multi;
	return nr_single + nr_multi ? 0 : -ENOENT;
}

struct ue_event *ue_registry_next(unsigned long *serial)
{
	struct ue_event *event;

	event = xa_find(&ue_by_serial, serial, ULONG_MAX, XA_PRESENT);
	while (event && ue_event_unavailable(event))
		event = xa_find_after(&ue_by_serial, serial, ULONG_MAX,
				      XA_PRESENT);
	return event;
}

unsigned int ue_registry_active(void)
{
	return READ_ONCE(ue_nr_active);
}

unsigned int ue_registry_busy(void)
{
	return READ_ONCE(ue_nr_busy);
}

int ue_registry_init(void)
{
	int err = ue_publish_init();

	if (err)
		return err;
	err = rhltable_init(&ue_by_name, &ue_params);
	if (err)
		ue_publish_exit();
	return err;
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
	ue_publish_exit();
	rhltable_destroy(&ue_by_name);
}
