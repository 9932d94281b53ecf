/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Updates enable bits so that they match the state of their events.
 */
#ifndef UE_UPDATE_H
#define UE_UPDATE_H

struct ue_event;
struct ue_mm;
struct ue_position;

/**
 * ue_update_event() - update all enable bits of an event
 * @event: the event, which has got or lost a recorder
 *
 * Bits that cannot be written without waiting for a program, and those beyond a
 * limit for all events, are left to workers. If there are any, the current task
 * waits for workers when it returns to user space; see update_wait.h.
 *
 * Context: event_mutex held; waits for no program. May sleep.
 */
void ue_update_event(struct ue_event *event);

/**
 * ue_update_mm() - update all enable bits of an address space
 * @ue_mm: as for ue_mm_access()
 * @position: where to begin, all zero for a new pass; set to where to go on if the
 *	current task is killed, else all zero
 *
 * A bit that cannot be written is skipped until the next update. Bits that were
 * registered since the pass began are skipped too: REG has written them, and later
 * changes of their events start another pass. Returns early if the current task is
 * killed or the program has exited.
 *
 * Context: may sleep, see ue_mm_access().
 * Return: 0; -ENOMEM if memory was short for some bits: the caller then calls
 * this again, unless it was killed.
 */
int ue_update_mm(struct ue_mm *ue_mm, struct ue_position *position);

#endif /* UE_UPDATE_H */
