/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that are unpublished and whose records may still be in a buffer.
 *
 * The kernel finds the function that prints a record by the event's type
 * number. It would give the number of a removed event to another one, whose
 * print function would trust the bytes that a program has written. So an event
 * that ftrace has ever enabled keeps its number, and its records can still be
 * printed. Only another event of this module can get the number, because
 * print.c does not trust a record. After the module is unloaded, nothing has it.
 */
#ifndef UE_RETIRED_H
#define UE_RETIRED_H

struct trace_event_call;
struct ue_event;

/**
 * ue_event_take_type() - get a type number for an event that is being published
 * @call: the event's trace_event_call; this is the raw_init() of its class
 *
 * With UE_RETIRED_MAX retired events, it takes over the number of the oldest.
 *
 * Context: event_mutex held; may sleep.
 * Return: 0; -ENODEV if tracing has no type number left.
 */
int ue_event_take_type(struct trace_event_call *call);

/**
 * ue_event_retire() - unpublish an event and keep its type number
 * @event: the event; the list of retired events takes a reference
 *
 * Context: event_mutex held; may sleep.
 */
void ue_event_retire(struct ue_event *event);

/**
 * ue_event_forget() - unpublish an event and leave its type number in use
 * @event: the event
 *
 * Its records are printed as unknown afterwards.
 *
 * Context: event_mutex held; may sleep; module exit.
 */
void ue_event_forget(struct ue_event *event);

/**
 * ue_retired_exit() - put all retired events; their numbers stay in use
 *
 * Context: module exit; may sleep; event_mutex not held.
 */
void ue_retired_exit(void);

#endif /* UE_RETIRED_H */
