/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Updates enable bits when their event gets or loses a recorder, or a scope.
 */
#ifndef UE_UPDATE_H
#define UE_UPDATE_H

#include <linux/types.h>

#include "programs/mm_attach.h"

struct mm_struct;
struct ue_enabler;
struct ue_event;
struct ue_mm;

/**
 * ue_update_event() - update all enable bits of an event
 * @event: the event, which has got or lost a recorder
 *
 * Bits that cannot be written without a page fault, or without waiting for a lock of a program,
 * are left to that program (stale.h). Those beyond a limit for all events are left to a work item,
 * for which the current task waits on its way to user space.
 *
 * Context: event_mutex held; waits for no program. May sleep.
 */
void ue_update_event(struct ue_event *event);

/**
 * ue_update_scopes() - set the scopes for which an event is recorded
 * @event: the event
 * @scopes: their bits, see scope.h; UE_SCOPE_TRACED stays as it is
 *
 * Updates the enable bits of the programs for which that makes a difference, as
 * ue_update_event() does. If a recorder changes between some programs and all, the caller calls
 * this while the recorder records all. So no bit is 0 in between.
 *
 * Context: as ue_update_event().
 */
void ue_update_scopes(struct ue_event *event, u64 scopes);

/**
 * ue_updates_finish() - wait for the updates that are left to a work item now
 *
 * Context: may sleep; ue_enabler_mutex not held. Waits for no program.
 */
void ue_updates_finish(void);

/**
 * ue_updates_deferred() - are any updates left to a work item?
 *
 * Context: ue_enabler_mutex held.
 * Return: true if there are.
 */
bool ue_updates_deferred(void);

/**
 * struct ue_update - an update in progress
 * @start: when it began; local_clock()
 * @granted: how many bits it may write directly in all
 * @left: how many of them it may still write
 * @nr_yields: calls of ue_update_yield()
 * @nr_seen: since the clock was read: address spaces that were looked at, and interrupted threads
 * @mm: the address space that is being written, whose memory is held; NULL if
 *	there is none. Kept from one bit to the next: most have several to write.
 * @locked: the mmap_lock of @mm is held; it could be taken without waiting
 * @walk: through the address spaces of the set of @enabler
 * @enabler: only compared, as it may have been freed; NULL if there is no walk
 * @number: of the update that @walk belongs to
 */
struct ue_update {
	u64 start;
	unsigned int granted;
	unsigned int left;
	unsigned int nr_yields;
	unsigned int nr_seen;
	bool locked;
	struct mm_struct *mm;
	struct ue_set_walk walk;
	const struct ue_enabler *enabler;
	u32 number;
};

/**
 * ue_update_begin() - begin to update single address spaces; takes ue_enabler_mutex
 * @update: to be passed to the functions below
 *
 * Context: event_mutex held; may sleep.
 */
void ue_update_begin(struct ue_update *update);

/**
 * ue_update_mm() - update the enable bits of an event in one address space
 * @update: the update
 * @event: the event, which the address space has begun or ceased to want, or whose mute has begun
 *	or ended there
 * @ue_mm: the address space, in the table
 *
 * Context: between ue_update_begin() and ue_update_end(), or the same functions with _alone.
 */
void ue_update_mm(struct ue_update *update, struct ue_event *event,
		  struct ue_mm *ue_mm);

/**
 * ue_update_begin_alone() - begin an update without event_mutex
 * @update: the update, for ue_update_mm()
 *
 * Context: takes ue_enabler_mutex; may sleep.
 */
void ue_update_begin_alone(struct ue_update *update);

/**
 * ue_update_is_spent() - find out if an update has used up its time or its writes
 * @update: the update
 *
 * Context: ue_enabler_mutex held.
 * Return: true if it leaves all further bits to their programs. Its caller had better end it, so
 * that others get the mutex.
 */
bool ue_update_is_spent(const struct ue_update *update);

/**
 * ue_update_end_alone() - end an update of ue_update_begin_alone()
 * @update: the update
 *
 * Context: releases ue_enabler_mutex.
 */
void ue_update_end_alone(struct ue_update *update);

/**
 * ue_update_yield() - let other tasks have the mutex now and then
 * @update: the update
 *
 * Context: as ue_update_mm().
 */
void ue_update_yield(struct ue_update *update);

/**
 * ue_update_end() - undo ue_update_begin()
 * @update: the update
 *
 * Context: as ue_update_mm().
 */
void ue_update_end(struct ue_update *update);

/**
 * ue_update_end_with_scopes() - do what ue_update_scopes() does in an update, and end that
 * @update: the update
 * @event: the event
 * @scopes: the bits of its scopes, also UE_SCOPE_TRACED. Mutes go on.
 *
 * Context: as ue_update_mm().
 */
void ue_update_end_with_scopes(struct ue_update *update, struct ue_event *event,
			       u64 scopes);

#endif /* UE_UPDATE_H */
