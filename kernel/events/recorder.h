/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorders of an event, and recording a payload with each of them.
 */
#ifndef UE_RECORDER_H
#define UE_RECORDER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/rculist.h>
#include <linux/sizes.h>
#include <linux/trace_events.h>
#include <linux/types.h>

#include "format/payload.h"
#include "port/compat.h"

struct trace_event_call;
struct trace_event_file;

/**
 * enum ue_recorder_kind - kinds of recorders
 * @UE_RECORDER_FTRACE: one for each ftrace instance that has the event enabled
 * @UE_RECORDER_PERF: one for all of perf, including BPF programs
 * @UE_RECORDER_KINDS: number of kinds
 */
enum ue_recorder_kind {
	UE_RECORDER_FTRACE,
	UE_RECORDER_PERF,
	UE_RECORDER_KINDS
};

/**
 * struct ue_recorders - the recorders of an event
 * @list: of struct ue_recorder; changed with event_mutex held, read under
 *	RCU-sched
 * @nr: number of recorders of each kind; changed with event_mutex held
 * @lost: number of payloads that a recorder dropped although the write
 *	succeeded
 */
struct ue_recorders {
	struct list_head list;
	unsigned int nr[UE_RECORDER_KINDS];
	atomic_long_t lost;
};

/**
 * ue_recorders_init() - initialize an empty list
 * @recorders: recorders of the event
 *
 * Context: any.
 */
void ue_recorders_init(struct ue_recorders *recorders);

/**
 * ue_recorders_any() - check for recorders
 * @recorders: recorders of the event
 *
 * Context: any.
 * Return: true if there is a recorder.
 */
static inline bool ue_recorders_any(const struct ue_recorders *recorders)
{
	return !list_empty(&recorders->list);
}

/**
 * ue_recorder_add() - add a recorder
 * @recorders: recorders of the event
 * @kind: kind of the recorder
 * @file: event file of an ftrace instance, NULL for perf; the kernel keeps it
 *	until a grace period after the recorder is removed
 *
 * Context: event_mutex held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_recorder_add(struct ue_recorders *recorders,
		    enum ue_recorder_kind kind, struct trace_event_file *file);

/**
 * ue_recorder_remove() - remove a recorder
 * @recorders: recorders of the event
 * @kind: as passed to ue_recorder_add()
 * @file: as passed to ue_recorder_add()
 *
 * Context: event_mutex held. Writes in progress may still record with it.
 */
void ue_recorder_remove(struct ue_recorders *recorders,
			enum ue_recorder_kind kind,
			struct trace_event_file *file);

/**
 * ue_recorder_file() - find the event file of a recorder
 * @recorders: recorders of the event
 * @number: from ue_recorder_number()
 *
 * Context: event_mutex held.
 * Return: the file; NULL if the recorder was removed.
 */
struct trace_event_file *ue_recorder_file(const struct ue_recorders *recorders,
					  unsigned long number);

/**
 * ue_recorder_number() - identify the recorder of an ftrace instance
 * @recorders: recorders of the event
 * @file: as passed to ue_recorder_add(), not NULL
 *
 * A recorder that is removed and added again gets another number.
 *
 * Context: event_mutex held.
 * Return: the number; 0 if there is no such recorder.
 */
unsigned long ue_recorder_number(const struct ue_recorders *recorders,
				 const struct trace_event_file *file);

/**
 * ue_recorders_have_perf_only() - check for recorders other than perf
 * @recorders: recorders of the event
 *
 * Context: any; without event_mutex the result may be outdated.
 * Return: true if no ftrace instance records the event.
 */
static inline bool ue_recorders_have_perf_only(const struct ue_recorders *recorders)
{
	return !READ_ONCE(recorders->nr[UE_RECORDER_FTRACE]);
}

/**
 * ue_recorders_ignore() - check whether all recorders ignore the event on this CPU
 * @recorders: recorders of the event
 * @call: trace_event_call of the event
 *
 * Context: as ue_record().
 * Return: true if ue_record() would record nothing on this CPU now.
 */
bool ue_recorders_ignore(struct ue_recorders *recorders,
			 struct trace_event_call *call);

/* No recorder holds a larger record: an ftrace sub-buffer has at most 1 MiB. */
#define UE_RECORD_LIMIT		SZ_1M

/*
 * Each recorder holds a record of this size, in bytes: nearly a page with a time stamp of eight
 * bytes, and what perf takes with its padding. With pages of 16 KiB or more, ftrace holds larger
 * records than perf.
 */
#define UE_RECORD_ALWAYS_FITS \
	min_t(size_t, UE_RECORD_MAX_IN_PAGE - sizeof(u64), PERF_MAX_TRACE_SIZE - sizeof(u64))

/**
 * ue_recorders_check_large() - ue_recorders_check_size() for a large payload
 * @recorders: recorders of the event
 * @call: trace_event_call of the event
 * @size: size of the payload, bytes
 *
 * Context: as ue_record().
 * Return: as ue_recorders_check_size().
 */
int ue_recorders_check_large(struct ue_recorders *recorders,
			     struct trace_event_call *call, size_t size);

/**
 * ue_recorders_check_size() - check if a recorder may hold a payload
 * @recorders: recorders of an event that the caller has just seen enabled
 * @call: trace_event_call of the event
 * @size: size of the payload, bytes
 *
 * For a caller that has not yet copied the payload.
 *
 * Context: as ue_record().
 * Return: 0 if a recorder may hold it, but ue_record() can still find that it
 * is too large; -E2BIG if it is too large for all recorders; -EBADF if there is
 * no recorder.
 */
static inline int ue_recorders_check_size(struct ue_recorders *recorders,
					  struct trace_event_call *call,
					  size_t size)
{
	if (likely(UE_RECORD_HEADER + size <= UE_RECORD_ALWAYS_FITS))
		return 0;
	return ue_recorders_check_large(recorders, call, size);
}

/*
 * The memory, in bytes, that ue_record() needs for a payload of @size bytes:
 * the common fields are before the payload, padding is after it.
 */
#define UE_RECORD_BUFFER_SIZE(size)	(UE_RECORD_HEADER + (size) + sizeof(u64))

/**
 * ue_record() - record a payload with all recorders
 * @recorders: recorders of the event
 * @call: trace_event_call of the event
 * @record: UE_RECORD_BUFFER_SIZE(@size) bytes, aligned to eight, with the
 *	checked payload at offset UE_RECORD_HEADER; the rest is overwritten
 * @size: size of the payload, bytes
 *
 * The payload counts as lost if ftrace cannot reserve space for it, if perf
 * drops it because of recursion, or if it is too large for some recorders only.
 *
 * Context: in the system call that writes the payload; preemptible.
 * Return: 0; -EBADF if there is no recorder; -E2BIG if the payload is too
 * large for all recorders.
 */
int ue_record(struct ue_recorders *recorders, struct trace_event_call *call,
	      void *record, size_t size);

#endif /* UE_RECORDER_H */
