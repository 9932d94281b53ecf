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

static void ue_recorders_count(struct ue_recorders *recorders,
			       enum ue_recorder_kind kind, int change)
{
	WRITE_ONCE(recorders->nr[kind], recorders->nr[kind] + change);
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
	if (kind == UE_RECORDER_SCOPED)
		recorder->scopes = recorders->next_scopes;
	list_add_tail_rcu(&recorder->node, &recorders->list);
	ue_recorders_count(recorders, kind, 1);
	ue_debug_count(UE_COUNT_RECORDERS, 1);
	return 0;
}

/* Return: the recorder of @file, NULL for perf; NULL if there is none. */
static struct ue_recorder *ue_recorder_find(const struct ue_recorders *recorders,
					    const struct trace_event_file *file)
{
	struct ue_recorder *recorder;

	lockdep_assert_held(ue_event_mutex);
	list_for_each_entry(recorder, &recorders->list, node) {
		if (recorder->file == file)
			return recorder;
	}
	return NULL;
}

enum ue_recorder_kind ue_recorder_remove(struct ue_recorders *recorders,
					 struct trace_event_file *file)
{
	struct ue_recorder *recorder = ue_recorder_find(recorders, file);
	enum ue_recorder_kind kind;

	if (WARN_ONCE(!recorder, "user_events: tracing removes a recorder that it has not added\n"))
		return UE_RECORDER_KINDS;
	kind = recorder->kind;
	list_del_rcu(&recorder->node);
	ue_recorders_count(recorders, kind, -1);
	ue_debug_count(UE_COUNT_RECORDERS, -1);
	kfree_rcu(recorder, rcu);
	return kind;
}

/*
 * A recorder that is for all programs from now on keeps its old scopes, for writes in
 * progress. A write may also find the new scopes with the old kind.
 */
bool ue_recorder_set_scopes(struct ue_recorders *recorders,
			    struct trace_event_file *file, u64 scopes)
{
	struct ue_recorder *recorder = ue_recorder_find(recorders, file);
	const enum ue_recorder_kind kind = scopes ? UE_RECORDER_SCOPED :
						    UE_RECORDER_FTRACE;

	if (!recorder)
		return false;
	if (scopes)
		WRITE_ONCE(recorder->scopes, scopes);
	if (recorder->kind == kind)
		return false;
	ue_recorders_count(recorders, recorder->kind, -1);
	ue_recorders_count(recorders, kind, 1);
	WRITE_ONCE(recorder->kind, kind);
	return true;
}

static u64 ue_scopes_of(const struct ue_recorder *recorder)
{
	return recorder->kind == UE_RECORDER_SCOPED ? recorder->scopes : 0;
}

u64 ue_recorder_scopes(const struct ue_recorders *recorders,
		       const struct trace_event_file *file)
{
	const struct ue_recorder *recorder = ue_recorder_find(recorders, file);

	return recorder ? ue_scopes_of(recorder) : 0;
}

u64 ue_recorders_scopes(const struct ue_recorders *recorders)
{
	const struct ue_recorder *recorder;
	u64 scopes = 0;

	lockdep_assert_held(ue_event_mutex);
	list_for_each_entry(recorder, &recorders->list, node)
		scopes |= ue_scopes_of(recorder);
	return scopes;
}

unsigned long ue_recorder_number(const struct ue_recorders *recorders,
				 const struct trace_event_file *file)
{
	const struct ue_recorder *recorder = ue_recorder_find(recorders, file);

	return recorder ? recorder->number : 0;
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
