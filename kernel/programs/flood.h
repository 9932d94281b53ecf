/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Floods: while a program writes more than all limits of an event allow, its bits are 0.
 */
#ifndef UE_FLOOD_H
#define UE_FLOOD_H

struct ue_event;

/**
 * ue_flood_mute() - clear the bits of the current program, which has written beyond a limit
 * @event: the event
 *
 * Only if that is possible without waiting, if nothing records the event for the
 * program without a limit, and if there are no tokens left. Tried at most once in 10 ms
 * for an event and a program. A work item sets the bits again.
 *
 * Context: in the system call that writes; may sleep; no locks held.
 */
void ue_flood_mute(struct ue_event *event);

/**
 * ue_flood_exit() - wait for the work item
 *
 * Context: module exit, with no recorder left; may sleep.
 */
void ue_flood_exit(void);

#endif /* UE_FLOOD_H */
