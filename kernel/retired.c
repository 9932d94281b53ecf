// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the numbers of events that have gone.
 */
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/trace_events.h>

#include "event.h"
#include "kernel_symbols.h"
#include "print.h"
#include "retired.h"

/* Some 1 KiB each, and of the 65,000 numbers that the kernel has. */
#define UE_RETIRED_MAX	1024

/* No event has it. */
#define UE_NO_NUMBER	(-1)

/* The oldest first, by @dynamic. Protected by event_mutex. */
static LIST_HEAD(ue_retired);
static unsigned int ue_nr_retired;

/* Who prints looks the number up, and calls the functions, with the lock held. */
static void ue_set_number(struct ue_event *event, int number,
			  struct trace_event_functions *functions)
{
	down_write(ue_trace_event_sem);
	event->call.event.type = number;
	event->call.event.funcs = functions;
	up_write(ue_trace_event_sem);
}

static void ue_retired_free(struct ue_event *event)
{
	list_del(&event->dynamic.list);
	ue_nr_retired--;
	unregister_trace_event(&event->call.event);
	ue_event_free(event);
}

/* Tracing gives up the number of an event that has functions to print it. */
void ue_event_retire(struct ue_event *event)
{
	const int number = event->call.event.type;

	lockdep_assert_held(ue_event_mutex);
	ue_set_number(event, UE_NO_NUMBER, NULL);
	WARN_ON_ONCE(trace_remove_event_call(&event->call));
	ue_set_number(event, number, &ue_print_functions);

	refcount_inc(&event->references);
	list_add_tail(&event->dynamic.list, &ue_retired);
	if (++ue_nr_retired > UE_RETIRED_MAX)
		ue_retired_free(list_first_entry(&ue_retired, struct ue_event,
						 dynamic.list));
}

void ue_retired_exit(void)
{
	struct ue_event *event, *next;

	mutex_lock(ue_event_mutex);
	list_for_each_entry_safe(event, next, &ue_retired, dynamic.list)
		ue_retired_free(event);
	mutex_unlock(ue_event_mutex);
}
