/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who records an event, and handing one payload to each of them.
 */
#ifndef UE_RECORDER_H
#define UE_RECORDER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rculist.h>
#include <linux/types.h>

struct trace_event_call;
struct trace_event_file;

enum ue_recorder_kind {
	UE_RECORDER_FTRACE,	/* one for each instance that has it enabled */
	UE_RECORDER_PERF,	/* one for all of perf, BPF programs included */
	UE_RECORDER_KINDS
};

/**
 * struct ue_recorders - the recorders of an event
 * @list: of struct ue_recorder; changed with event_mutex held, read under
 *	RCU-sched
 * @nr: how many of each kind; changed with event_mutex held
 * @lost: payloads that some recorder dropped, though the writer was told of a
 *	success
 */
struct ue_recorders {
	struct list_head list;
	unsigned int nr[UE_RECORDER_KINDS];
	atomic_long_t lost;
};

void ue_recorders_init(struct ue_recorders *recorders);

/* ue_recorders_any() - is there one? Any context. */
static inline bool ue_recorders_any(const struct ue_recorders *recorders)
{
	return !list_empty(&recorders->list);
}

/**
 * ue_recorder_add() - begin to hand payloads to a recorder
 * @recorders: of the event
 * @kind: of the recorder
 * @file: of an ftrace instance, NULL for perf; the kernel keeps it until a
 *	grace period after the recorder is removed
 *
 * Context: event_mutex held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_recorder_add(struct ue_recorders *recorders,
		    enum ue_recorder_kind kind, struct trace_event_file *file);

/**
 * ue_recorder_remove() - hand it no more
 * @recorders: of the event
 * @kind: as it was added
 * @file: as it was added
 *
 * Context: event_mutex held. Writers that have begun may still be recording.
 */
void ue_recorder_remove(struct ue_recorders *recorders,
			enum ue_recorder_kind kind,
			struct trace_event_file *file);

/*
 * What a payload needs of memory to be recorded, bytes: the common fields stand
 * before it, and padding behind it.
 */
#define UE_RECORD_ROOM(size)	(UE_RECORD_HEADER + (size) + sizeof(u64))

/**
 * ue_record() - hand a payload to all recorders
 * @recorders: of the event
 * @call: of the event
 * @record: UE_RECORD_ROOM(@size) bytes, aligned to eight, with the checked
 *	payload at UE_RECORD_HEADER; the rest of it is overwritten
 * @size: of the payload, bytes
 *
 * A recorder whose buffer is full, or that can't hold what others can, makes
 * the payload count as lost.
 *
 * Context: in a system call of the program that wrote the payload,
 * preemptible.
 * Return: 0; -EBADF when there is no recorder; -E2BIG when none can hold a
 * payload of this size.
 */
int ue_record(struct ue_recorders *recorders, struct trace_event_call *call,
	      void *record, size_t size);

#endif /* UE_RECORDER_H */
