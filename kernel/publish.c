// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds events to the kernel's tracing, and removes them from it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "compat.h"
#include "event.h"
#include "event_files.h"
#include "format.h"
#include "kernel_symbols.h"
#include "publish.h"
#include "retired.h"

static struct cred *ue_cred;

const struct cred *ue_kernel_cred(void)
{
	return ue_cred;
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
			.is_signed	= ue_field_is_signed(format, field),
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
	cred = override_creds(ue_cred);
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
	const struct cred *cred = override_creds(ue_cred);

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

int ue_publish_init(void)
{
	ue_cred = prepare_kernel_cred(&init_task);
	return ue_cred ? 0 : -ENOMEM;
}

void ue_publish_exit(void)
{
	ue_events_flush();
	ue_retired_exit();
	if (UE_KEEP_EVENT_FILES)
		ue_event_files_exit();
	put_cred(ue_cred);
	/* The RCU callbacks that free events are functions of this module. */
	rcu_barrier();
}
