/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that have gone, and whose records may still be in some buffer.
 *
 * The kernel finds out how to print a record by the number of its event, and gives
 * the number of one that has gone to the next. That would then read what a program
 * has written as if it were its own, and trust it. So an event that was recorded
 * keeps its number, and its records can be read as before.
 */
#ifndef UE_RETIRED_H
#define UE_RETIRED_H

struct ue_event;

/**
 * ue_event_retire() - take an event away from tracing, and keep its number
 * @event: the event, which was recorded; its memory is kept as long
 *
 * Of very many the oldest give theirs up.
 *
 * Context: event_mutex held.
 */
void ue_event_retire(struct ue_event *event);

/*
 * ue_retired_exit() - give up all numbers; at unload, after which the kernel clears
 * the buffers that the events were recorded in.
 */
void ue_retired_exit(void);

#endif /* UE_RETIRED_H */
