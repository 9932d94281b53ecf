// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hands one payload to every recorder of an event.
 *
 * The list is walked with preemption off, as a tracepoint's probes are, so
 * that what the kernel's tracing does to wait for probes waits for us as well
 * before it frees an instance.
 */
#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "compat.h"
#include "kernel_symbols.h"
#include "payload.h"
#include "recorder.h"
#include "tally.h"

struct ue_recorder {
	struct list_head node;
	enum ue_recorder_kind kind;
	struct trace_event_file *file;
	struct rcu_head rcu;
};

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
	list_add_tail_rcu(&recorder->node, &recorders->list);
	recorders->nr[kind]++;
	ue_tally(UE_TALLY_RECORDERS, 1);
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
		recorders->nr[kind]--;
		ue_tally(UE_TALLY_RECORDERS, -1);
		kfree_rcu(recorder, rcu);
		return;
	}
	WARN_ONCE(1, "removing a recorder that was never added\n");
}

/* What became of a payload at one recorder. */
enum ue_outcome {
	UE_TAKEN,		/* or not wanted: filtered, switched off */
	UE_DROPPED,
	UE_TOO_LARGE,
};

/*
 * Up to this size a record fits into any sub-buffer; with a filter, one that
 * does not fit may get an entry all the same, and vanish afterwards.
 */
static bool ue_fits(const struct trace_event_buffer *buffer, size_t record)
{
	return record <= UE_RING_BUFFER_MIN_RECORD ||
	       record <= ue_ring_buffer_max_record(buffer->buffer);
}

static enum ue_outcome ue_record_ftrace(struct trace_event_file *file,
					const void *payload, size_t size)
{
	const size_t record = UE_RECORD_HEADER + size;
	struct trace_event_buffer buffer = { };
	void *entry;

	if (trace_trigger_soft_disabled(file))
		return UE_TAKEN;

	entry = trace_event_buffer_reserve(&buffer, file, record);
	if (entry) {
		memcpy(entry + UE_RECORD_HEADER, payload, size);
		trace_event_buffer_commit(&buffer);
		return ue_fits(&buffer, record) ? UE_TAKEN : UE_TOO_LARGE;
	}

	/* No buffer: the instance does not trace this process. */
	if (!buffer.buffer)
		return UE_TAKEN;
	if (!ue_fits(&buffer, record))
		return UE_TOO_LARGE;
	return static_call(ue_ring_buffer_record_is_set_on)(buffer.buffer) ?
	       UE_DROPPED : UE_TAKEN;
}

/*
 * perf copies a record out of a buffer of its own, one for each CPU, where the
 * size of the whole must be a multiple of eight with four bytes that perf puts
 * before it. Call graphs begin where the program made its system call.
 */
static enum ue_outcome ue_record_perf(struct trace_event_call *call,
				      const void *payload, size_t size)
{
	struct hlist_head *events = this_cpu_ptr(call->perf_events);
	const size_t used = UE_RECORD_HEADER + size;
	const size_t record = ALIGN(used + sizeof(u32), sizeof(u64)) -
			      sizeof(u32);
	int context;
	void *entry;

	if (!bpf_prog_array_valid(call) && hlist_empty(events))
		return UE_TAKEN;
	if (record > PERF_MAX_TRACE_SIZE)
		return UE_TOO_LARGE;

	entry = perf_trace_buf_alloc(record, NULL, &context);
	if (!entry)
		return UE_DROPPED;
	memcpy(entry + UE_RECORD_HEADER, payload, size);
	memset(entry + used, 0, record - used);
	perf_trace_run_bpf_submit(entry, record, context, call, 1,
				  task_pt_regs(current), events, NULL);
	return UE_TAKEN;
}

/*
 * Refused when all find it too large, else lost where it was dropped or found
 * too large.
 */
static int ue_conclude(struct ue_recorders *recorders, const unsigned int *nr)
{
	unsigned int lost = nr[UE_DROPPED] + nr[UE_TOO_LARGE];

	if (likely(nr[UE_TAKEN] && !lost))
		return 0;
	if (!nr[UE_TAKEN] && !lost)
		return -EBADF;
	if (nr[UE_TOO_LARGE] == nr[UE_TAKEN] + lost)
		return -E2BIG;
	atomic_long_inc(&recorders->lost);
	return 0;
}

int ue_record(struct ue_recorders *recorders, struct trace_event_call *call,
	      const void *payload, size_t size)
{
	unsigned int nr[] = {
		[UE_TAKEN] = 0, [UE_DROPPED] = 0, [UE_TOO_LARGE] = 0
	};
	struct ue_recorder *recorder;

	static_assert(sizeof(struct trace_entry) == UE_RECORD_HEADER);

	rcu_read_lock_sched_notrace();
	list_for_each_entry_rcu(recorder, &recorders->list, node,
				rcu_read_lock_sched_held()) {
		if (recorder->kind == UE_RECORDER_FTRACE)
			nr[ue_record_ftrace(recorder->file, payload, size)]++;
		else
			nr[ue_record_perf(call, payload, size)]++;
	}
	rcu_read_unlock_sched_notrace();
	return ue_conclude(recorders, nr);
}
