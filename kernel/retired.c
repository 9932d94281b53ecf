// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the type numbers of unpublished events.
 */
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/trace_events.h>

#include "compat.h"
#include "event.h"
#include "kernel_symbols.h"
#include "retired.h"

/*
 * Each takes about 1 KiB, and one of the kernel's 65,000 type numbers. There are
 * more of them only if more events than this are removed before the next one is
 * created.
 */
#define UE_RETIRED_MAX	1024

/* No event has this type number. */
#define UE_NO_TYPE	(-1)

/* By @dynamic, the oldest first. Protected by event_mutex. */
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

/* Puts a retired event whose number it does not have any more. */
static void ue_retired_put(struct ue_event *event)
{
	list_del(&event->dynamic.list);
	ue_nr_retired--;
	ue_event_unref(event);
}

/* The next event to be removed also keeps the number: old records may have it. */
static void ue_event_take_over(struct ue_event *event, struct ue_event *retired)
{
	down_write(ue_trace_event_sem);
	ue_trace_event_replace(&retired->call.event, &event->call.event);
	up_write(ue_trace_event_sem);
	event->has_records = true;
	ue_retired_put(retired);
}

int ue_event_take_type(struct trace_event_call *call)
{
	struct ue_event *event = container_of(call, struct ue_event, call);

	lockdep_assert_held(ue_event_mutex);
	if (ue_nr_retired < UE_RETIRED_MAX)
		return register_trace_event(&call->event) ? 0 : -ENODEV;
	ue_event_take_over(event, list_first_entry(&ue_retired, struct ue_event,
						   dynamic.list));
	return 0;
}

/*
 * trace_remove_event_call() frees the type number of an event that has
 * functions. So hide the number and the functions from it.
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

void ue_event_retire(struct ue_event *event)
{
	ue_remove_call(event);
	ue_event_ref(event);
	list_add_tail(&event->dynamic.list, &ue_retired);
	ue_nr_retired++;
}

static void ue_forget(struct ue_event *event)
{
	down_write(ue_trace_event_sem);
	ue_trace_event_forget(&event->call.event);
	up_write(ue_trace_event_sem);
}

void ue_event_forget(struct ue_event *event)
{
	ue_remove_call(event);
	ue_forget(event);
}

void ue_retired_exit(void)
{
	struct ue_event *event, *next;

	mutex_lock(ue_event_mutex);
	list_for_each_entry_safe(event, next, &ue_retired, dynamic.list) {
		ue_forget(event);
		ue_retired_put(event);
	}
	mutex_unlock(ue_event_mutex);
}
