// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds events to the kernel's tracing, and removes them from it.
 *
 * The kernel finds the function that prints a record by the event's type
 * number. The kernel would give the number of a removed event to another event,
 * whose print function would trust the bytes that a program has written. So an
 * event that ftrace has ever enabled keeps its number: it is retired, and its
 * records can still be printed. Only another event of the same group can get the
 * number: print.c does not trust a record, and a program of another group could have
 * written old records that look like those of the new event. After the module is
 * unloaded, no event has the number.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "events/event.h"
#include "events/event_files.h"
#include "events/limit.h"
#include "events/publish.h"
#include "format/format.h"
#include "port/compat.h"
#include "port/kernel_symbols.h"
#include "port/module_state.h"

/*
 * With so many retired events of the same owner, or of all owners together, a new event takes over
 * the number of a retired event of the same owner, if there is one. A retired event takes about
 * 1 KiB, and one of the kernel's 65,000 type numbers.
 */
#define UE_RETIRED_MAX		1024U
#define UE_RETIRED_MAX_ALL	4096

/* No event has this type number. */
#define UE_NO_TYPE	(-1)

/* The owners that have retired events (struct ue_retired). Protected by event_mutex. */
static LIST_HEAD(ue_retired);
static unsigned int ue_nr_retired;

/*
 * Tracing looks up the number and calls the functions with trace_event_sem
 * held for reading.
 */
static void ue_set_type(struct ue_event *event, int type,
			struct trace_event_functions *functions)
{
	down_write(ue_trace_event_sem);
	event->call.event.type = type;
	event->call.event.funcs = functions;
	up_write(ue_trace_event_sem);
}

/* Puts a retired event that does not have its number any more. */
static void ue_retired_put(struct ue_event *event)
{
	struct ue_retired *retired = event->owner->retired;

	list_del(&event->dynamic.list);
	if (!--retired->nr)
		list_del(&retired->node);
	ue_nr_retired--;
	ue_event_unref(event);
}

/* When the new event is removed, it also keeps the number: old records may have it. */
static void ue_event_take_over(struct ue_event *event, struct ue_event *retired)
{
	down_write(ue_trace_event_sem);
	ue_trace_event_replace(&retired->call.event, &event->call.event);
	up_write(ue_trace_event_sem);
	event->has_records = true;
	ue_retired_put(retired);
}

static struct ue_event *ue_retired_oldest(const struct ue_retired *retired)
{
	return list_first_entry(&retired->events, struct ue_event, dynamic.list);
}

/*
 * A group may have been removed, and added again with the same name.
 * Return: the oldest retired event of the owner of @event; NULL if there is none.
 */
static struct ue_event *ue_retired_of_owner(const struct ue_event *event)
{
	const struct ue_retired *own = event->owner->retired, *retired;

	if (!own)
		return NULL;
	if (own->nr)
		return ue_retired_oldest(own);
	list_for_each_entry(retired, &ue_retired, node) {
		if (!strcmp(retired->system, own->system))
			return ue_retired_oldest(retired);
	}
	return NULL;
}

/* Return: the retired event whose number a new event takes over; NULL for none. */
static struct ue_event *ue_retired_to_replace(const struct ue_event *event)
{
	const struct ue_retired *own = event->owner->retired;

	if (ue_nr_retired < UE_RETIRED_MAX_ALL &&
	    (!own || own->nr < min(own->max, UE_RETIRED_MAX)))
		return NULL;
	return ue_retired_of_owner(event);
}

/*
 * The raw_init() of an event's class, called while the event is published. If there are
 * enough retired events, or no number is left, the event takes over the number of one of these.
 */
static int ue_event_take_type(struct trace_event_call *call)
{
	struct ue_event *event = container_of(call, struct ue_event, call);
	struct ue_event *retired;

	lockdep_assert_held(ue_event_mutex);
	retired = ue_retired_to_replace(event);
	if (!retired && register_trace_event(&call->event))
		return 0;
	retired = retired ?: ue_retired_of_owner(event);
	if (!retired) {
		pr_warn_ratelimited("event %s/%s is not created: the kernel has no type number left for it; remove events that are not needed\n",
				    event->class.system, ue_event_name(event));
		return -ENODEV;
	}
	ue_event_take_over(event, retired);
	return 0;
}

/*
 * trace_remove_event_call() frees the type number of an event that has
 * functions. So hide the number and the functions from that function.
 */
static void ue_remove_call(struct ue_event *event)
{
	struct trace_event_functions *functions = event->call.event.funcs;
	const int type = event->call.event.type;

	lockdep_assert_held(ue_event_mutex);
	ue_set_type(event, UE_NO_TYPE, NULL);
	WARN_ON_ONCE(trace_remove_event_call(&event->call));
	ue_set_type(event, type, functions);
}

/* Unpublishes an event and keeps its type number. */
static void ue_event_retire(struct ue_event *event)
{
	struct ue_retired *retired = event->owner->retired;

	ue_remove_call(event);
	ue_event_ref(event);
	list_add_tail(&event->dynamic.list, &retired->events);
	if (!retired->nr++)
		list_add(&retired->node, &ue_retired);
	ue_nr_retired++;
}

/* Leaves the number in use. Records with it are printed as unknown. */
static void ue_forget(struct ue_event *event)
{
	down_write(ue_trace_event_sem);
	ue_trace_event_forget(&event->call.event);
	up_write(ue_trace_event_sem);
}

/* Unpublishes an event at unload. */
static void ue_event_forget(struct ue_event *event)
{
	ue_remove_call(event);
	ue_forget(event);
}

/* Sets the fields as tracing expects them, with an empty one at the end. */
static void ue_event_set_fields(const struct ue_format *format,
				struct trace_event_fields *fields)
{
	int nr = format->nr_fields;

	for (int i = 0; i < nr; i++) {
		const struct ue_field *field = &format->fields[i];
		struct trace_event_fields one = {
			.type		= ue_field_type(format, field),
			.name		= ue_field_name(format, field),
			.size		= field->size,
			.align		= 1,
			.is_signed	= ue_kinds[field->kind].is_signed,
			.filter_type	= FILTER_OTHER,
			.len		= field->length,
		};

		/* The members of the structure are const. */
		memcpy(&fields[i], &one, sizeof(one));
	}
	memset(&fields[nr], 0, sizeof(*fields));
}

/* Up to this many fields are on the stack. */
#define UE_FIELDS_ON_STACK	8

/*
 * Tracing copies the fields into a list. It reads the array again only if the
 * list is empty, so an empty array is enough afterwards.
 */
static int ue_event_add_call(struct ue_event *event)
{
	static struct trace_event_fields none;
	struct trace_event_fields few[UE_FIELDS_ON_STACK + 1], *fields = few;
	const int nr = event->format->nr_fields;
	const struct cred *cred;
	int err;

	if (nr > UE_FIELDS_ON_STACK)
		fields = kmalloc_array(nr + 1, sizeof(*fields), GFP_KERNEL);
	if (!fields)
		return -ENOMEM;
	ue_event_set_fields(event->format, fields);
	event->class.fields_array = fields;
	event->class.raw_init = ue_event_take_type;
	cred = override_creds(ue_kernel_cred());
	err = trace_add_event_call(&event->call);
	revert_creds(cred);
	event->class.fields_array = &none;
	if (fields != few)
		kfree(fields);
	return err;
}

/* trace_add_event_call() succeeds even without memory for the fields. */
static bool ue_event_has_fields(const struct ue_event *event)
{
	struct list_head *field;
	int nr = 0;

	list_for_each(field, &event->class.fields)
		nr++;
	return nr == event->format->nr_fields;
}

/* @keep_number: how to remove an event whose number records may have. */
static void ue_event_remove_call(struct ue_event *event,
				 void (*keep_number)(struct ue_event *event))
{
	const struct cred *cred = override_creds(ue_kernel_cred());

	if (UE_KEEP_EVENT_FILES)
		ue_event_files_disconnect(event);
	if (event->has_records && ue_trace_event_sem)
		keep_number(event);
	else
		WARN_ON_ONCE(trace_remove_event_call(&event->call));
	revert_creds(cred);
}

int ue_event_publish(struct ue_event *event)
{
	int err;

	lockdep_assert_held(ue_event_mutex);
	err = ue_event_add_call(event);
	if (err)
		return err;
	if (!ue_event_has_fields(event)) {
		ue_event_remove_call(event, ue_event_retire);
		return -ENOMEM;
	}
	return 0;
}

/*
 * A claimed event has no recorder, and tracing has no reference that could
 * become one. Tracing therefore has no reason to refuse the removal.
 */
void ue_event_unpublish(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	WARN_ON_ONCE(!ue_event_unavailable(event) || ue_event_enabled(event));
	ue_event_remove_call(event, ue_event_retire);
}

/*
 * A disabled event probe refers to its event. If ue_dynamic_events_exit() could
 * not delete the probe, the probe keeps a pointer to the event, so the memory
 * is abandoned. The probe looks the event up by name before it uses the event,
 * and finds none.
 */
void ue_event_unpublish_at_unload(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	atomic_long_set(&event->users, UE_EVENT_UNAVAILABLE);
	/* A probe has pointers to the fields: do not let tracing free them. */
	if (atomic_read(&event->call.refcnt))
		INIT_LIST_HEAD(&event->class.fields);
	ue_event_remove_call(event, ue_event_forget);
	if (!atomic_read(&event->call.refcnt)) {
		ue_event_unref(event);
		return;
	}
	pr_warn("tracing still refers to event %s, probably by an event probe; its memory is not freed. Delete such probes before unloading the module.\n",
		ue_event_name(event));
	ue_event_abandon(event);
}

/* Puts all retired events. */
static void ue_retired_exit(void)
{
	struct ue_event *event;

	mutex_lock(ue_event_mutex);
	while (!list_empty(&ue_retired)) {
		event = ue_retired_oldest(list_first_entry(&ue_retired,
							   struct ue_retired,
							   node));
		ue_forget(event);
		ue_retired_put(event);
	}
	mutex_unlock(ue_event_mutex);
}

void ue_publish_exit(void)
{
	ue_events_flush();
	ue_retired_exit();
	if (UE_KEEP_EVENT_FILES)
		ue_event_files_exit();
	/* Also waits for the RCU callbacks that free events: they are functions of this module. */
	ue_limits_flush();
}
