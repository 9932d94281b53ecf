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
		kfree_rcu(recorder, rcu);
		return;
	}
	WARN_ONCE(1, "removing a recorder that was never added\n");
}

/* Return: false when the instance's buffer can't hold a record so large. */
static bool ue_record_ftrace(struct trace_event_file *file,
			     const void *payload, size_t size)
{
	const size_t record = UE_RECORD_HEADER + size;
	struct trace_event_buffer buffer = { };
	void *entry;
	bool fits;

	if (trace_trigger_soft_disabled(file))
		return true;

	entry = trace_event_buffer_reserve(&buffer, file, record);
	/*
	 * No entry: recording is off, or the process is not wanted, or the
	 * record is too large; with a filter a record too large for the
	 * buffer may get an entry and vanish afterwards.
	 */
	fits = record <= UE_RING_BUFFER_MIN_RECORD || !buffer.buffer ||
	       record <= ue_ring_buffer_max_record(buffer.buffer);
	if (!entry)
		return fits;

	memcpy(entry + UE_RECORD_HEADER, payload, size);
	trace_event_buffer_commit(&buffer);
	return fits;
}

/*
 * perf copies a record out of a buffer of its own, one for each CPU, where the
 * size of the whole must be a multiple of eight with four bytes that perf puts
 * before it. Call graphs begin where the program made its system call.
 *
 * Return: false when perf can't take a record so large.
 */
static bool ue_record_perf(struct trace_event_call *call, const void *payload,
			   size_t size)
{
	struct hlist_head *events = this_cpu_ptr(call->perf_events);
	const size_t used = UE_RECORD_HEADER + size;
	const size_t record = ALIGN(used + sizeof(u32), sizeof(u64)) -
			      sizeof(u32);
	int context;
	void *entry;

	if (!bpf_prog_array_valid(call) && hlist_empty(events))
		return true;
	if (record > PERF_MAX_TRACE_SIZE)
		return false;

	entry = perf_trace_buf_alloc(record, NULL, &context);
	if (!entry)
		return true;
	memcpy(entry + UE_RECORD_HEADER, payload, size);
	memset(entry + used, 0, record - used);
	perf_trace_run_bpf_submit(entry, record, context, call, 1,
				  task_pt_regs(current), events, NULL);
	return true;
}

int ue_record(const struct ue_recorders *recorders,
	      struct trace_event_call *call, const void *payload, size_t size)
{
	struct ue_recorder *recorder;
	int result = -EBADF;

	static_assert(sizeof(struct trace_entry) == UE_RECORD_HEADER);

	rcu_read_lock_sched_notrace();
	list_for_each_entry_rcu(recorder, &recorders->list, node,
				rcu_read_lock_sched_held()) {
		bool fits = recorder->kind == UE_RECORDER_FTRACE ?
			    ue_record_ftrace(recorder->file, payload, size) :
			    ue_record_perf(call, payload, size);

		if (fits)
			result = 0;
		else if (result)
			result = -E2BIG;
	}
	rcu_read_unlock_sched_notrace();
	return result;
}
