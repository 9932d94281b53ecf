/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that are unpublished and whose records may still be in a buffer.
 *
 * The kernel finds the function that prints a record by the event's type
 * number. It would give the number of a removed event to another one, whose
 * print function would trust the bytes that a program has written. So an event
 * that ftrace has ever enabled keeps its number, and its records can still be
 * printed.
 */
#ifndef UE_RETIRED_H
#define UE_RETIRED_H

struct ue_event;

/**
 * ue_event_retire() - unpublish an event and keep its type number
 * @event: the event; the list of retired events takes a reference
 *
 * Beyond UE_RETIRED_MAX retired events, the oldest loses its number.
 *
 * Context: event_mutex held; may sleep.
 */
void ue_event_retire(struct ue_event *event);

/**
 * ue_retired_exit() - free the numbers of all retired events
 *
 * Afterwards the kernel usually clears the buffers that recorded the events;
 * see architecture.rst.
 *
 * Context: module exit; may sleep; event_mutex not held.
 */
void ue_retired_exit(void);

#endif /* UE_RETIRED_H */
