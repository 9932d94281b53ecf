// SPDX-License-Identifier: GPL-2.0-only
/*
 * The recorders of an event: adds, removes and finds them.
 */
#include <linux/rculist.h>
#include <linux/slab.h>

#include "events/recorder.h"
#include "port/debug_counter.h"
#include "port/kernel_symbols.h"

/* The number of the last recorder. Protected by event_mutex. */
static unsigned long ue_last_number;

void ue_recorders_init(struct ue_recorders *recorders)
{
	INIT_LIST_HEAD(&recorders->list);
}

int ue_recorder_add(struct ue_recorders *recorders,
		    enum ue_recorder_kind kind, struct trace_event_file *file)
{
	struct ue_recorder *recorder = kzalloc(sizeof(*recorder), GFP_KERNEL);

	lockdep_assert_held(ue_event_mutex);
	if (!recorder)
		return -ENOMEM;
	recorder->kind = kind;
	recorder->file = file;
	recorder->number = ++ue_last_number;
	list_add_tail_rcu(&recorder->node, &recorders->list);
	WRITE_ONCE(recorders->nr[kind], recorders->nr[kind] + 1);
	ue_debug_count(UE_COUNT_RECORDERS, 1);
	return 0;
}

void ue_recorder_remove(struct ue_recorders *recorders,
			enum ue_recorder_kind kind,
			struct trace_event_file *file)
{
	struct ue_recorder *recorder;

	lockdep_assert_held(ue_event_mutex);
	list_for_each_entry(recorder, &recorders->list, node) {
		if (recorder->kind != kind || recorder->file != file)
			continue;
		list_del_rcu(&recorder->node);
		WRITE_ONCE(recorders->nr[kind], recorders->nr[kind] - 1);
		ue_debug_count(UE_COUNT_RECORDERS, -1);
		kfree_rcu(recorder, rcu);
		return;
	}
	WARN_ONCE(1, "user_events: tracing removes a recorder that it has not added\n");
}

unsigned long ue_recorder_number(const struct ue_recorders *recorders,
				 const struct trace_event_file *file)
{
	struct ue_recorder *recorder;

	lockdep_assert_held(ue_event_mutex);
	list_for_each_entry(recorder, &recorders->list, node) {
		if (recorder->file == file)
			return recorder->number;
	}
	return 0;
}

struct trace_event_file *ue_recorder_file(const struct ue_recorders *recorders,
					  unsigned long number)
{
	struct ue_recorder *recorder;

	lockdep_assert_held(ue_event_mutex);
	list_for_each_entry(recorder, &recorders->list, node) {
		if (recorder->number == number)
			return recorder->file;
	}
	return NULL;
}
