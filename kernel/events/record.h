/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording a payload with each recorder of an event.
 */
#ifndef UE_RECORD_H
#define UE_RECORD_H

#include <linux/minmax.h>
#include <linux/trace_events.h>
#include <linux/types.h>

#include "format/payload.h"
#include "port/compat.h"

struct ue_event;

/**
 * ue_record_ignored() - check whether all recorders ignore the event on this CPU
 * @event: the event
 *
 * Context: as ue_record().
 * Return: true if ue_record() would record nothing on this CPU now.
 */
bool ue_record_ignored(struct ue_event *event);

/*
 * Each recorder holds a record of this size, in bytes: the smaller of what ftrace has room for in a
 * page beside a time stamp of eight bytes, and of what perf takes with its padding. With pages of
 * 16 KiB or more, ftrace holds larger records than perf.
 */
#define UE_RECORD_ALWAYS_FITS \
	min_t(size_t, UE_RECORD_MAX_IN_PAGE - sizeof(u64), PERF_MAX_TRACE_SIZE - sizeof(u64))

/**
 * ue_record_check_large() - ue_record_check_size() for a large payload
 * @event: the event
 * @size: size of the payload, bytes
 *
 * Context: as ue_record().
 * Return: as ue_record_check_size().
 */
int ue_record_check_large(struct ue_event *event, size_t size);

/**
 * ue_record_check_size() - check if a recorder may hold a payload
 * @event: an event that the caller has just seen enabled
 * @size: size of the payload, bytes
 *
 * For a caller that has not yet copied the payload.
 *
 * Context: as ue_record().
 * Return: 0 if a recorder may hold the payload, but ue_record() can still find
 * that it is too large; -E2BIG if the payload is too large for all recorders;
 * -EBADF if there is no recorder.
 */
static inline int ue_record_check_size(struct ue_event *event, size_t size)
{
	if (likely(UE_RECORD_HEADER + size <= UE_RECORD_ALWAYS_FITS))
		return 0;
	return ue_record_check_large(event, size);
}

/*
 * The memory, in bytes, that ue_record() needs for a payload of @size bytes:
 * the common fields are before the payload, padding is after it.
 */
#define UE_RECORD_BUFFER_SIZE(size)	(UE_RECORD_HEADER + (size) + sizeof(u64))

/**
 * ue_record() - record a payload with all recorders of an event
 * @event: the event
 * @record: UE_RECORD_BUFFER_SIZE(@size) bytes, aligned to eight, with the
 *	checked payload at offset UE_RECORD_HEADER; the rest is overwritten
 * @size: size of the payload, bytes
 *
 * The payload counts as lost if ftrace cannot reserve space, if perf drops the
 * sample because of recursion, or if only some recorders can hold the payload.
 *
 * Context: in the system call that writes the payload; preemptible.
 * Return: 0; -EBADF if there is no recorder; -E2BIG if the payload is too
 * large for all recorders.
 */
int ue_record(struct ue_event *event, void *record, size_t size);

/**
 * ue_record_in() - record a payload in an instance that has not enabled the event
 * @event: the event
 * @file: its file in the instance
 * @record: as for ue_record()
 * @size: as for ue_record(), much less than a page
 *
 * A payload for which there is no space is lost.
 *
 * Context: event_mutex held; preemptible.
 */
void ue_record_in(struct ue_event *event, struct trace_event_file *file,
		  const void *record, size_t size);

#endif /* UE_RECORD_H */
