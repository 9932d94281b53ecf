// SPDX-License-Identifier: GPL-2.0-only
/*
 * The events of the module itself. No program has an enable bit of them, and the module stays
 * their user.
 */
#include <linux/slab.h>
#include <uapi/linux/user_events_ext.h>
#include <uapi/linux/user_mark.h>

#include "events/event.h"
#include "events/publish.h"
#include "format/format.h"
#include "port/kernel_symbols.h"
#include "registry/own_event.h"
#include "registry/registry.h"
#include "registry/rules.h"
#include "registry/suppression.h"

/*
 * Tools print the size of the data of a mark, which is the high half of its location.
 * libtraceevent, up to 1.7 at least, prints other bytes for __print_hex() of a
 * __rel_loc field. Version 1.8 crashes on __get_rel_dynamic_array_len().
 *
 * CAP_ANY: a process without privilege may record its own marks.
 */
static const struct ue_own_definition {
	const char *system;
	const char *command;
	const char *print_fmt;	/* NULL: that of the command */
	u32 flags;
} ue_own_definitions[UE_NR_OWN] = {
	[UE_OWN_MARK_TEXT] = { USER_MARK_SYSTEM, "text __rel_loc char[] text", NULL,
			       TRACE_EVENT_FL_CAP_ANY },
	[UE_OWN_MARK_DATA] = { USER_MARK_SYSTEM, "data u32 type; __rel_loc u8[] data",
			       "\"type=%u size=%u\", REC->type, REC->data >> 16",
			       TRACE_EVENT_FL_CAP_ANY },
	[UE_OWN_SUPPRESSED] = { USER_LIMIT_SYSTEM, UE_SUPPRESSED_COMMAND, NULL, 0 },
};

/* Serials of marks come first: the registry and the rules compare with UE_NR_MARKS. */
static_assert(UE_NR_MARKS == UE_OWN_SUPPRESSED);

static struct ue_event *ue_own_events[UE_NR_OWN];

struct ue_event *ue_own_event(enum ue_own which)
{
	return ue_own_events[which];
}

static void ue_own_changed(struct ue_event *event)
{
}

static void ue_own_scopes_changed(struct ue_event *event, u64 scopes)
{
}

static bool ue_own_has_scopes(u64 scopes)
{
	return false;
}

static void ue_own_perf_changed(struct ue_event *event,
				struct perf_event *perf_event)
{
}

static const struct ue_event_owner ue_own_owner = {
	.unused = ue_own_changed,
	.state_changed = ue_own_changed,
	.all_changed = ue_own_changed,
	.scopes_changed = ue_own_scopes_changed,
	.current_has_scopes = ue_own_has_scopes,
	.over_limit = ue_suppression_begin,
	.perf_opened = ue_own_perf_changed,
	.perf_closed = ue_own_perf_changed,
};

/*
 * Without TRACE_EVENT_FL_DYNAMIC, a reference of tracing to the event, such as
 * that of an event probe, is a reference to the module.
 */
static struct ue_event *ue_own_new(const struct ue_own_definition *definition)
{
	struct ue_format *format;
	struct ue_event *event;
	int err = ue_format_parse(definition->command, &format);

	if (err)
		return ERR_PTR(err);
	event = ue_event_create(format, NULL, definition->print_fmt,
				definition->system, &ue_own_owner);
	if (!event) {
		kfree(format);
		return ERR_PTR(-ENOMEM);
	}
	event->call.flags = TRACE_EVENT_FL_TRACEPOINT | definition->flags;
	return event;
}

static int ue_own_create(enum ue_own which)
{
	struct ue_event *event = ue_own_new(&ue_own_definitions[which]);
	int err;

	if (IS_ERR(event))
		return PTR_ERR(event);
	err = ue_event_publish(event);
	if (err) {
		ue_event_unref(event);
		return err;
	}
	event->serial = which;
	ue_event_make_available(event);
	event->call.module = THIS_MODULE;
	ue_own_events[which] = event;
	return 0;
}

static void ue_own_remove(enum ue_own which)
{
	struct ue_event *event = ue_own_events[which];

	if (which < UE_NR_MARKS)
		ue_rules_remove_event(event);
	/* Nothing refers to the module any more. */
	event->call.module = NULL;
	ue_event_unpublish_at_unload(event);
}

/* Nothing can use one of the events before event_mutex is released. */
int ue_own_events_init(void)
{
	int err, i = 0;

	mutex_lock(ue_event_mutex);
	do {
		err = ue_own_create(i);
	} while (!err && ++i < UE_NR_OWN);
	while (err && i--)
		ue_own_remove(i);
	for (i = 0; !err && i < UE_NR_MARKS; i++)
		ue_rules_add_event(ue_own_events[i]);
	if (!err)
		ue_suppressions_init(ue_own_events[UE_OWN_SUPPRESSED]);
	mutex_unlock(ue_event_mutex);
	return err;
}

void ue_own_events_exit(void)
{
	ue_suppressions_exit();
	mutex_lock(ue_event_mutex);
	for (int i = 0; i < UE_NR_OWN; i++)
		ue_own_remove(i);
	mutex_unlock(ue_event_mutex);
}
