// SPDX-License-Identifier: GPL-2.0-only
/*
 * The recorders of an event: adds, removes and finds them.
 */
#include <linux/rculist.h>
#include <linux/slab.h>

#include "events/limit.h"
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

/* Return: the kind without the limit. */
static enum ue_recorder_kind ue_recorder_counts_as(const struct ue_recorder *recorder)
{
	if (!recorder->file)
		return UE_RECORDER_PERF;
	return recorder->scopes ? UE_RECORDER_SCOPED : UE_RECORDER_FTRACE;
}

static struct ue_limit *ue_limit_of(const struct ue_recorder *recorder)
{
	return rcu_dereference_protected(recorder->limit,
					 lockdep_is_held(ue_event_mutex));
}

static enum ue_recorder_kind ue_recorder_kind(const struct ue_recorder *recorder)
{
	return ue_limit_of(recorder) ? UE_RECORDER_LIMITED :
				       ue_recorder_counts_as(recorder);
}

/*
 * What ue_recorder_prepare() announced. One variable serves all events, since only one recorder is
 * prepared at a time. A trigger of the event may enable another event meanwhile, which gets none of
 * this. Protected by event_mutex.
 */
static struct {
	const struct ue_recorders *recorders;
	u64 scopes;
	struct ue_limit *limit;
} ue_next;

void ue_recorder_prepare(const struct ue_recorders *recorders, u64 scopes,
			 struct ue_limit *limit)
{
	lockdep_assert_held(ue_event_mutex);
	ue_next.recorders = recorders;
	ue_next.scopes = scopes;
	ue_next.limit = limit;
}

void ue_recorder_prepare_end(void)
{
	lockdep_assert_held(ue_event_mutex);
	ue_limit_free(ue_next.limit);
	ue_next.recorders = NULL;
	ue_next.limit = NULL;
}

int ue_recorder_add(struct ue_recorders *recorders,
		    struct trace_event_file *file, enum ue_recorder_kind *kind)
{
	struct ue_recorder *recorder = kzalloc(sizeof(*recorder), GFP_KERNEL);

	lockdep_assert_held(ue_event_mutex);
	if (!recorder)
		return -ENOMEM;
	recorder->file = file;
	recorder->number = ++ue_last_number;
	if (file && recorders == ue_next.recorders) {
		recorder->scopes = ue_next.scopes;
		RCU_INIT_POINTER(recorder->limit, ue_next.limit);
		ue_next.limit = NULL;
	}
	recorder->kind = ue_recorder_kind(recorder);
	*kind = ue_recorder_counts_as(recorder);
	list_add_tail_rcu(&recorder->node, &recorders->list);
	ue_recorders_count(recorders, *kind, 1);
	ue_debug_count(UE_COUNT_RECORDERS, 1);
	return 0;
}

/* @file: NULL for perf. Return: its recorder, or NULL. */
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

/*
 * A reader of the status may miss the count for a moment, but does not see it twice. What writes in
 * progress still add to the limit is not counted.
 */
static void ue_recorder_end_limit(struct ue_recorders *recorders,
				  struct ue_limit *limit)
{
	/* Pairs with ue_recorders_suppressed(). */
	smp_store_release(&recorders->suppressed,
			  recorders->suppressed + ue_limit_suppressed(limit));
	ue_limit_free(limit);
}

enum ue_recorder_kind ue_recorder_remove(struct ue_recorders *recorders,
					 struct trace_event_file *file)
{
	struct ue_recorder *recorder = ue_recorder_find(recorders, file);
	enum ue_recorder_kind kind;

	if (WARN_ONCE(!recorder, "user_events: tracing removes a recorder that it has not added\n"))
		return UE_RECORDER_KINDS;
	kind = ue_recorder_counts_as(recorder);
	list_del_rcu(&recorder->node);
	ue_recorder_end_limit(recorders, ue_limit_of(recorder));
	ue_recorders_count(recorders, kind, -1);
	ue_debug_count(UE_COUNT_RECORDERS, -1);
	kfree_rcu(recorder, rcu);
	return kind;
}

/* A write in progress may find the new scopes with the old kind. */
bool ue_recorder_set_scopes(struct ue_recorders *recorders,
			    struct trace_event_file *file, u64 scopes)
{
	struct ue_recorder *recorder = ue_recorder_find(recorders, file);
	enum ue_recorder_kind before;

	if (!recorder)
		return false;
	before = ue_recorder_counts_as(recorder);
	WRITE_ONCE(recorder->scopes, scopes);
	WRITE_ONCE(recorder->kind, ue_recorder_kind(recorder));
	if (before == ue_recorder_counts_as(recorder))
		return false;
	ue_recorders_count(recorders, before, -1);
	ue_recorders_count(recorders, ue_recorder_counts_as(recorder), 1);
	return true;
}

/* A write in progress may find the old limit with the new kind, or no limit with the old kind. */
void ue_recorder_set_limit(struct ue_recorders *recorders,
			   struct trace_event_file *file, struct ue_limit *limit)
{
	struct ue_recorder *recorder = ue_recorder_find(recorders, file);
	struct ue_limit *old = limit;

	if (recorder) {
		old = ue_limit_of(recorder);
		rcu_assign_pointer(recorder->limit, limit);
		WRITE_ONCE(recorder->kind, ue_recorder_kind(recorder));
	}
	ue_recorder_end_limit(recorders, old);
}

const struct ue_limit *ue_recorder_limit(const struct ue_recorders *recorders,
					 const struct trace_event_file *file)
{
	const struct ue_recorder *recorder = ue_recorder_find(recorders, file);

	return recorder ? ue_limit_of(recorder) : NULL;
}

bool ue_recorders_exhausted(const struct ue_recorders *recorders, u64 scopes,
			    pid_t process)
{
	struct ue_recorder *recorder;
	bool limited = false, more = false;
	u64 of;

	rcu_read_lock();
	list_for_each_entry_rcu(recorder, &recorders->list, node) {
		of = READ_ONCE(recorder->scopes);
		if (!recorder->file || (of && !(of & scopes)))
			continue;
		limited = true;
		more |= ue_limit_allows(rcu_dereference(recorder->limit), process);
	}
	rcu_read_unlock();
	return limited && !more;
}

unsigned long ue_recorders_suppressed(const struct ue_recorders *recorders)
{
	/* Pairs with ue_recorder_end_limit(): a count in the sum is in no limit of the list. */
	unsigned long nr = smp_load_acquire(&recorders->suppressed);
	const struct ue_recorder *recorder;

	list_for_each_entry_rcu(recorder, &recorders->list, node)
		nr += ue_limit_suppressed(rcu_dereference(recorder->limit));
	return nr;
}

u64 ue_recorder_scopes(const struct ue_recorders *recorders,
		       const struct trace_event_file *file)
{
	const struct ue_recorder *recorder = ue_recorder_find(recorders, file);

	return recorder ? recorder->scopes : 0;
}

u64 ue_recorders_scopes(const struct ue_recorders *recorders)
{
	const struct ue_recorder *recorder;
	u64 scopes = 0;

	lockdep_assert_held(ue_event_mutex);
	list_for_each_entry(recorder, &recorders->list, node)
		scopes |= recorder->scopes;
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
