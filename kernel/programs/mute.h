/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which address spaces have bits that are 0 although the event is recorded, as their
 * program writes more than the limits of the event allow.
 *
 * A *mute* is kept for an address space and an event from the first time that the bits
 * become 0 until some time after they are 1 again. If the program goes on writing too
 * much, they are 0 for twice as long the next time. Bits in shared memory stay 1.
 *
 * ue_enabler_mutex protects everything here.
 */
#ifndef UE_MUTE_H
#define UE_MUTE_H

#include <linux/list.h>
#include <linux/types.h>

#include "events/event.h"
#include "programs/mm.h"

/**
 * struct ue_mute - the bits of an event in an address space are 0, or were so
 * @ue_mm: the address space
 * @event: the event, which has a recorder with a limit
 * @process: the number of the process that wrote too much
 * @off: the bits are 0
 * @level: how long they are 0; see ue_mute_time()
 * @since: when the mute was last begun, extended or ended, in jiffies
 * @of_mm: entry in the list of @ue_mm
 * @of_event: entry in the list of @event
 * @of_level: entry in the list of those with the same @off and @level, the oldest first
 */
struct ue_mute {
	struct ue_mm *ue_mm;
	struct ue_event *event;
	pid_t process;
	bool off;
	unsigned int level;
	unsigned long since;
	struct hlist_node of_mm;
	struct hlist_node of_event;
	struct list_head of_level;
};

/**
 * ue_mute_find() - find the mute of an event in an address space
 * @ue_mm: the address space
 * @event: the event
 *
 * Context: ue_enabler_mutex held.
 * Return: the mute, or NULL.
 */
struct ue_mute *ue_mute_find(const struct ue_mm *ue_mm, const struct ue_event *event);

/**
 * ue_mm_is_muted() - whether the bits of an event in an address space have to be 0
 * @ue_mm: the address space
 * @event: the event
 *
 * Context: ue_enabler_mutex held.
 * Return: true if they have, except in shared memory.
 */
static inline bool ue_mm_is_muted(const struct ue_mm *ue_mm,
				  const struct ue_event *event)
{
	const struct ue_mute *mute;

	if (likely(hlist_empty(&ue_mm->mutes)))
		return false;
	mute = ue_mute_find(ue_mm, event);
	return mute && mute->off;
}

/**
 * ue_mute_begin() - let the bits of an event be 0; the caller writes them
 * @ue_mm: the current address space, in the table
 * @event: an event with a recorder that has a limit
 *
 * Context: ue_enabler_mutex held; does not sleep.
 * Return: true; false if memory is short, if the address space has 64 other mutes, if the bits are
 * 0 already, or if too many have become 0 lately.
 */
bool ue_mute_begin(struct ue_mm *ue_mm, struct ue_event *event);

/**
 * ue_mute_extend() - let bits be 0 for longer
 * @mute: the mute, with @off
 *
 * Context: ue_enabler_mutex held.
 */
void ue_mute_extend(struct ue_mute *mute);

/**
 * ue_mute_end() - let bits be 1 again; the caller writes them
 * @mute: the mute, with @off; it is kept, with @off cleared
 *
 * Context: ue_enabler_mutex held.
 */
void ue_mute_end(struct ue_mute *mute);

/**
 * ue_mute_free() - forget a mute; if it had @off, the caller writes the bits
 * @mute: the mute, or NULL
 *
 * Context: ue_enabler_mutex held.
 */
void ue_mute_free(struct ue_mute *mute);

/**
 * ue_mutes_free() - forget all mutes of an address space; the caller writes the bits
 * @ue_mm: the address space
 *
 * Context: ue_enabler_mutex held.
 */
void ue_mutes_free(struct ue_mm *ue_mm);

/**
 * ue_mute_next() - get the mute whose time is over first
 * @wait: set to how long it has still to wait, in jiffies; 0 if its time is over
 *
 * Context: ue_enabler_mutex held.
 * Return: the mute; NULL if there is none.
 */
struct ue_mute *ue_mute_next(unsigned long *wait);

#endif /* UE_MUTE_H */
