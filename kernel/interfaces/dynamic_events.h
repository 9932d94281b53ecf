/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User events in the kernel's file dynamic_events: "u:" lines create, list
 * and delete them.
 */
#ifndef UE_DYNAMIC_EVENTS_H
#define UE_DYNAMIC_EVENTS_H

/**
 * ue_dynamic_events_init() - add user events to the file dynamic_events
 *
 * Context: module init; may sleep.
 * Return: 0, also if the kernel lacks a symbol for this; or an error of the
 * kernel's dyn_event_register().
 */
int ue_dynamic_events_init(void);

/**
 * ue_dynamic_events_exit() - remove user events from the file dynamic_events
 *
 * Context: module exit; may sleep.
 */
void ue_dynamic_events_exit(void);

#endif /* UE_DYNAMIC_EVENTS_H */
