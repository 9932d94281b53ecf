/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Updates enable bits so that they match the state of their events.
 */
#ifndef UE_UPDATE_H
#define UE_UPDATE_H

struct ue_event;

/**
 * ue_update_event() - update all enable bits of an event
 * @event: the event, which has got or lost a recorder
 *
 * Bits that cannot be written without waiting for a program, and those beyond a
 * limit for all events, are left to workers. If any bits are left, the current
 * task waits for workers on its way to user space; see update_wait.h.
 *
 * Context: event_mutex held; waits for no program. May sleep.
 */
void ue_update_event(struct ue_event *event);

#endif /* UE_UPDATE_H */
