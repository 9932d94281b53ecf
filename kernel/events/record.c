// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records one payload with every recorder of an event.
 *
 * The list is walked as a tracepoint calls its probes. Tracing waits for running
 * probes before it frees an instance, and so waits for this walk as well.
 */
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/sched/task_stack.h>
#include <linux/trace_events.h>

#include "events/event.h"
#include "events/limit.h"
#include "events/record.h"
#include "events/recorder.h"
#include "format/payload.h"
#include "port/compat.h"
#include "port/kernel_symbols.h"

/* Payloads of at least this many bytes are copied by a string instruction. */
#define UE_COPY_BY_STRING	48

/* What a recorder did with a payload; the outcomes of all recorders are ORed. */
enum ue_outcome {
	UE_RECORDED	= BIT(0),	/* or filtered out, or recording is off */
	UE_DROPPED	= BIT(1),
	UE_TOO_LARGE	= BIT(2),
	UE_LIMITED	= BIT(3),	/* a limit has suppressed it; with UE_RECORDED */
	UE_IGNORED	= BIT(4),	/* only of ue_record_ftrace() */
};

/*
 * With a filter, reserving an entry for a record that does not fit may succeed.
 * The kernel then discards the record when it is committed.
 */
static bool ue_fits(const struct trace_event_buffer *buffer, size_t size)
{
	return size <= UE_RECORD_MAX_IN_PAGE ||
	       size <= ue_ring_buffer_max_record(buffer->buffer);
}

/*
 * Most payloads are a few words, and copying them takes less time than calling
 * a function. For long payloads, memcpy() moves register by register unless
 * the processor has a fast "rep movsb" for all sizes. The choices were made by
 * cycles: see Documentation/performance.rst.
 *
 * The sanitizers check the accesses of C code, but not those of an instruction in
 * assembly. With one of them, words are copied one by one.
 */
static __always_inline void ue_copy_payload(void *to, const void *from,
					    size_t size)
{
	/* Keep the compiler from hoisting calculations out of the caller's loop. */
	asm volatile("" : "+r" (from), "+r" (size));
#if defined(CONFIG_X86_64) && !defined(CONFIG_KASAN) && \
	!defined(CONFIG_KCSAN) && !defined(CONFIG_KMSAN)
	if (size >= UE_COPY_BY_STRING) {
		size_t words = size / sizeof(u64);

		asm volatile("rep movsq"
			     : "+D" (to), "+S" (from), "+c" (words)
			     : : "memory");
		size %= sizeof(u64);
	}
#endif
	for (; size >= sizeof(u64); size -= sizeof(u64)) {
		put_unaligned(get_unaligned((u64 *)from), (u64 *)to);
		to += sizeof(u64);
		from += sizeof(u64);
	}
	if (size & sizeof(u32)) {
		put_unaligned(get_unaligned((u32 *)from), (u32 *)to);
		to += sizeof(u32);
		from += sizeof(u32);
	}
	for (size %= sizeof(u32); size; size--)
		*(u8 *)to++ = *(u8 *)from++;
}

/* Return: UE_IGNORED if the instance does not want a record of the payload. */
static __always_inline enum ue_outcome
ue_record_ftrace(struct trace_event_file *file, const void *record, size_t size)
{
	const size_t whole = UE_RECORD_HEADER + size;
	struct trace_event_buffer buffer __uninitialized;
	void *entry;

	/* Tracing changes the flags at any time, and the module one of them (event.c). */
	if (data_race(trace_trigger_soft_disabled(file)))
		return UE_IGNORED;

	buffer.buffer = NULL;
	entry = trace_event_buffer_reserve(&buffer, file, whole);
	if (likely(entry)) {
		ue_copy_payload(entry + UE_RECORD_HEADER,
				record + UE_RECORD_HEADER, size);
		trace_event_buffer_commit(&buffer);
		return ue_fits(&buffer, whole) ? UE_RECORDED : UE_TOO_LARGE;
	}

	/* No buffer: the instance does not trace this task. */
	if (!buffer.buffer)
		return UE_IGNORED;
	if (!ue_fits(&buffer, whole))
		return UE_TOO_LARGE;
	return static_call(ue_ring_buffer_record_is_set_on)(buffer.buffer) ?
	       UE_DROPPED : UE_IGNORED;
}

/*
 * Whether an ftrace instance records the current program, which may write without looking
 * at its bit.
 */
static bool ue_is_in_scope(const struct ue_event *event,
			   const struct ue_recorder *recorder)
{
	const u64 scopes = READ_ONCE(recorder->scopes);

	return !scopes || event->owner->current_has_scopes(scopes);
}

/*
 * perf puts four bytes before the record, and requires that the size of both is
 * a multiple of eight. Return: the size of the record with its padding, bytes.
 */
static size_t ue_perf_size(size_t size)
{
	return ALIGN(UE_RECORD_HEADER + size + sizeof(u32), sizeof(u64)) -
	       sizeof(u32);
}

/*
 * Whether perf and BPF record nothing of this event on this CPU. The recorder of perf
 * alone does not tell: an event has it as soon as any process observes itself.
 */
static bool ue_perf_ignores(struct trace_event_call *call)
{
	return hlist_empty(this_cpu_ptr(call->perf_events)) &&
	       !bpf_prog_array_valid(call);
}

/*
 * perf fills in the common fields. Passing the record
 * directly saves a copy into a buffer of perf. The registers passed are those
 * of the program at its system call, where call graphs start.
 */
static noinline enum ue_outcome ue_record_perf(struct trace_event_call *call,
					       void *record, size_t size)
{
	const size_t whole = ue_perf_size(size);
	int context;

	if (ue_perf_ignores(call))
		return UE_RECORDED;
	if (whole > PERF_MAX_TRACE_SIZE)
		return UE_TOO_LARGE;

	context = perf_swevent_get_recursion_context();
	if (context < 0)
		return UE_DROPPED;
	/* Up to seven bytes are padding; the buffer has space for eight. */
	put_unaligned(0, (u64 *)(record + UE_RECORD_HEADER + size));
	perf_trace_run_bpf_submit(record, whole, context, call, 1,
				  task_pt_regs(current),
				  this_cpu_ptr(call->perf_events), NULL);
	return UE_RECORDED;
}

/*
 * Return: true if the event has no trigger here. (A trigger acts even where no record is made.)
 */
static bool ue_has_no_trigger(const struct trace_event_file *file)
{
	return !(READ_ONCE(file->flags) & EVENT_FILE_FL_TRIGGER_MODE);
}

/*
 * Reserving a record that no sub-buffer can hold fails without effect, and reveals which buffer
 * the instance has.
 * Return: NULL if the instance does not trace the task.
 */
static struct trace_buffer *ue_ftrace_buffer(struct trace_event_file *file,
					     struct trace_event_buffer *buffer)
{
	buffer->buffer = NULL;
	trace_event_buffer_reserve(buffer, file, 2 * UE_RECORD_LIMIT);
	return buffer->buffer;
}

/* Return: false also if the kernel lacks the function that tells. */
static bool ue_is_off(struct trace_event_file *file)
{
	struct trace_event_buffer buffer __uninitialized;

	return static_call_query(ue_ring_buffer_record_is_set_on) !=
	       (void *)__static_call_return0 && ue_ftrace_buffer(file, &buffer) &&
	       !static_call(ue_ring_buffer_record_is_set_on)(buffer.buffer);
}

/*
 * With a filter, tracing first makes the record in other memory, then filters the record, and only
 * then looks for a buffer. Tracing does not tell whether the filter rejected the record. So before
 * tracing is called, this function tests the filter, and whether recording is off. The common
 * fields are set as tracing sets them for a system call: no flags.
 */
static noinline bool ue_is_filtered_out(struct ue_event *event,
					struct trace_event_file *file,
					void *record)
{
	tracing_generic_entry_update(record, event->call.event.type, 0);
	return ue_has_no_trigger(file) &&
	       (!filter_match_preds(rcu_dereference_sched(file->filter), record) ||
		ue_is_off(file));
}

/* Return: true if a recorder with a limit does not want the payload, which then takes no token. */
static noinline bool ue_is_unwanted(struct ue_event *event,
				    const struct ue_recorder *recorder, void *record)
{
	return !ue_is_in_scope(event, recorder) ||
	       (READ_ONCE(recorder->file->flags) & EVENT_FILE_FL_FILTERED &&
		ue_is_filtered_out(event, recorder->file, record));
}

/* For a recorder with a limit. Return: as ue_leave_out(). */
static __always_inline unsigned int
ue_limit_record(struct ue_event *event, const struct ue_recorder *recorder,
		void *record)
{
	struct ue_limit *limit = rcu_dereference_sched(recorder->limit);

	if ((READ_ONCE(recorder->scopes) ||
	     READ_ONCE(recorder->file->flags) & EVENT_FILE_FL_FILTERED) &&
	    ue_is_unwanted(event, recorder, record))
		return UE_RECORDED;
	if (!limit)
		return 0;
	switch (ue_limit_take(limit)) {
	case UE_ADMITTED:
		return 0;
	case UE_SUPPRESSED:
		return UE_RECORDED | UE_LIMITED;
	default:
		return UE_RECORDED;
	}
}

/*
 * For a recorder other than UE_RECORDER_FTRACE; perf records here.
 * Return: 0 if the instance is to record the payload; else the outcome.
 */
static __always_inline unsigned int
ue_leave_out(struct ue_event *event, const struct ue_recorder *recorder,
	     void *record, size_t size)
{
	switch (READ_ONCE(recorder->kind)) {
	case UE_RECORDER_PERF:
		return ue_record_perf(&event->call, record, size);
	case UE_RECORDER_SCOPED:
		return ue_is_in_scope(event, recorder) ? 0 : UE_RECORDED;
	default:
		return ue_limit_record(event, recorder, record);
	}
}

/*
 * A token is for a record. So if no record was made, the token is given back, unless triggers have
 * acted. (If the recorder has got another limit since the token was taken, that limit may get one
 * token too many.)
 */
static noinline unsigned int ue_not_recorded(const struct ue_recorder *recorder,
					     enum ue_outcome outcome)
{
	struct ue_limit *limit = rcu_dereference_sched(recorder->limit);

	if (limit && ue_has_no_trigger(recorder->file))
		ue_limit_give_back(limit);
	return outcome == UE_IGNORED ? UE_RECORDED : outcome;
}

/*
 * The write fails if the payload is too large for all recorders. Otherwise the
 * payload counts as lost if any recorder dropped it or could not hold it.
 */
static int ue_conclude(struct ue_event *event, unsigned int outcomes)
{
	if (likely(outcomes == UE_RECORDED))
		return 0;
	if (outcomes & UE_LIMITED) {
		event->owner->over_limit(event);
		outcomes &= ~UE_LIMITED;
		if (outcomes == UE_RECORDED)
			return 0;
	}
	if (!outcomes)
		return -EBADF;
	if (outcomes == UE_TOO_LARGE)
		return -E2BIG;
	atomic_long_inc(&event->recorders.lost);
	return 0;
}

/*
 * The buffer cannot be found if the instance does not trace this task. With a trigger that has a
 * condition, tracing may use another buffer. In both cases, a record of any size may fit.
 */
static bool ue_ftrace_may_hold(struct trace_event_file *file, size_t whole)
{
	struct trace_event_buffer buffer __uninitialized;

	if (READ_ONCE(file->flags) & (EVENT_FILE_FL_TRIGGER_COND |
				      EVENT_FILE_FL_SOFT_DISABLED))
		return true;
	return !ue_ftrace_buffer(file, &buffer) || ue_fits(&buffer, whole);
}

/*
 * Perf limits the size whichever task it samples, so that a program always gets
 * the same error. But if any user may sample the event, a process that samples
 * itself must not make the writes of others fail.
 */
static bool ue_may_hold(const struct ue_recorder *recorder,
			struct ue_event *event, size_t size)
{
	if (recorder->kind == UE_RECORDER_PERF)
		return ue_perf_size(size) <= PERF_MAX_TRACE_SIZE ||
		       (event->call.flags & TRACE_EVENT_FL_CAP_ANY &&
			ue_perf_ignores(&event->call));
	return !ue_is_in_scope(event, recorder) ||
	       ue_ftrace_may_hold(recorder->file, UE_RECORD_HEADER + size);
}

bool ue_record_ignored(struct ue_event *event)
{
	struct ue_recorder *recorder;
	struct ue_probe probe;
	bool ignored = true;

	probe = ue_probe_begin();
	list_for_each_entry_rcu(recorder, &event->recorders.list, node,
				rcu_read_lock_sched_held())
		ignored &= recorder->kind == UE_RECORDER_PERF &&
			   ue_perf_ignores(&event->call);
	ue_probe_end(probe);
	return ignored;
}

int ue_record_check_large(struct ue_event *event, size_t size)
{
	struct ue_recorder *recorder;
	struct ue_probe probe;
	int err = -EBADF;

	if (UE_RECORD_HEADER + size > UE_RECORD_LIMIT)
		return -E2BIG;
	probe = ue_probe_begin();
	list_for_each_entry_rcu(recorder, &event->recorders.list, node,
				rcu_read_lock_sched_held()) {
		err = ue_may_hold(recorder, event, size) ? 0 : -E2BIG;
		if (!err)
			break;
	}
	ue_probe_end(probe);
	return err;
}

void ue_record_in(struct ue_event *event, struct trace_event_file *file,
		  const void *record, size_t size)
{
	struct ue_probe probe;

	lockdep_assert_held(ue_event_mutex);
	event->has_records = true;
	probe = ue_probe_begin();
	ue_record_ftrace(file, record, size);
	ue_probe_end(probe);
}

int ue_record(struct ue_event *event, void *record, size_t size)
{
	struct ue_recorder *recorder;
	unsigned int outcomes = 0;
	struct ue_probe probe;

	static_assert(sizeof(struct trace_entry) == UE_RECORD_HEADER);

	probe = ue_probe_begin();
	list_for_each_entry_rcu(recorder, &event->recorders.list, node,
				rcu_read_lock_sched_held()) {
		unsigned int outcome = 0;

		/* The kind may change at any time; the old one and the new one are both right. */
		if (data_race(recorder->kind != UE_RECORDER_FTRACE))
			outcome = ue_leave_out(event, recorder, record, size);
		if (!outcome) {
			outcome = ue_record_ftrace(recorder->file, record, size);
			if (unlikely(outcome != UE_RECORDED))
				outcome = ue_not_recorded(recorder, outcome);
		}
		outcomes |= outcome;
	}
	ue_probe_end(probe);
	return ue_conclude(event, outcomes);
}
