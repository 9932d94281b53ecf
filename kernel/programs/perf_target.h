/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf events that record an event in all tasks, or in a single one.
 */
#ifndef UE_PERF_TARGET_H
#define UE_PERF_TARGET_H

struct perf_event;
struct ue_event;

/**
 * ue_perf_open() - a perf event was opened
 * @event: what it records
 * @perf_event: the perf event; if it has a task, the caller is permitted to record that
 *	task
 *
 * If the perf event records a single task, sets the enable bits of the task's address
 * space alone.
 *
 * Context: event_mutex held; waits for no program. May sleep.
 */
void ue_perf_open(struct ue_event *event, struct perf_event *perf_event);

/**
 * ue_perf_close() - undo ue_perf_open()
 * @event: as for ue_perf_open()
 * @perf_event: as for ue_perf_open()
 *
 * Context: as ue_perf_open().
 */
void ue_perf_close(struct ue_event *event, struct perf_event *perf_event);

#endif /* UE_PERF_TARGET_H */
