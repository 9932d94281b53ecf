/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses a bit of the current address space, or all of them in a pass, with page faults where
 * they are needed. Writes bits of others without page faults.
 */
#ifndef UE_MM_ACCESS_H
#define UE_MM_ACCESS_H

#include <linux/lockdep.h>
#include <linux/sched.h>

#include "events/event.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mute.h"
#include "programs/user_bit.h"

/**
 * struct ue_access - a bit that is to be accessed
 * @bit: the bit
 * @page: its page, pinned, if it was faulted in and the mmap_lock has been held
 *	since; else NULL
 * @with_page: fault the page in before the function that writes is called
 * @no_server: do not fault in what a program has to fill, see ue_user_bit_has_server()
 */
struct ue_access {
	struct ue_user_bit bit;
	struct page *page;
	bool with_page;
	bool no_server;
};

/**
 * ue_mm_access() - call a function that writes a bit, with page faults if needed
 * @ue_mm: the current address space
 * @access: the bit, without a page
 * @write: returns -EAGAIN if it needs a page fault first. It is called with the mmap_lock held for
 *	reading, and between ue_enabler_lock() and ue_enabler_unlock().
 *
 * Context: may sleep; no lock held. Waits for the memory, in a killable sleep, with at most the
 * mmap_lock held.
 * Return: 0; what else @write returns; -EFAULT if the page cannot be written;
 * -ENOMEM; -EINTR if the current task was killed.
 */
int ue_mm_access(struct ue_mm *ue_mm, struct ue_access *access,
		 int (*write)(struct ue_mm *ue_mm, struct ue_access *access));

/**
 * ue_mm_bit_wanted() - tell what an enable bit has to be because of scopes
 * @ue_mm: the address space
 * @event: the event, which has a scope
 * @bit: the bit
 *
 * Only for ue_mm_bit_value(). Sets @set_elsewhere of the event if the memory is shared. The caller
 * writes the bit.
 *
 * Context: as ue_mm_bit_value().
 * Return: true if the address space has such a scope, or if the memory is shared.
 */
bool ue_mm_bit_wanted(struct ue_mm *ue_mm, struct ue_event *event,
		      const struct ue_user_bit *bit);

/**
 * ue_mm_bit_value() - tell what an enable bit has to be
 * @ue_mm: the address space
 * @event: the event that the bit follows
 * @bit: the bit
 *
 * Memory that several address spaces share has one value for all of them. Sets @set_elsewhere of
 * the event as ue_mm_bit_wanted() does.
 *
 * Context: the mmap_lock held for reading, and ue_enabler_mutex held.
 * Return: what the bit has to be. In memory of its own: 1 if the address space is not
 * muted, and a recorder records all programs or one of its scopes. In shared
 * memory: 1 if there is any recorder.
 */
static inline bool ue_mm_bit_value(struct ue_mm *ue_mm, struct ue_event *event,
				   const struct ue_user_bit *bit)
{
	if (unlikely(ue_mm_is_muted(ue_mm, event)) &&
	    !ue_user_bit_is_shared(ue_mm->mm, bit))
		return false;
	if (ue_event_wants_all(event))
		return true;
	return event->scopes && ue_mm_bit_wanted(ue_mm, event, bit);
}

/**
 * ue_mm_write() - write an enable bit, from the state of its event, without page faults
 * @ue_mm: the address space
 * @holders: as for ue_user_bit_write(); not used for the current address space
 * @enabler: the bit, in the set of @ue_mm
 * @page: its page, pinned, or NULL
 *
 * Context: the mmap_lock held for reading, and ue_enabler_mutex held. The
 * caller holds the memory, or is a task of the program.
 * Return: 0; -EAGAIN if a page fault is needed; -ESRCH if the program has exited.
 */
static inline int ue_mm_write(struct ue_mm *ue_mm, int holders,
			      const struct ue_enabler *enabler,
			      struct page *page)
{
	const struct ue_user_bit *bit = &enabler->bit;
	const bool value = ue_mm_bit_value(ue_mm, enabler->event, bit);

	lockdep_assert_held(&ue_enabler_mutex);
	if (ue_mm->mm == current->mm)
		return ue_user_bit_correct_own(bit, value, page);
	return ue_user_bit_write(ue_mm->mm, holders, bit, value, page);
}

/**
 * ue_mm_update() - write all enable bits of the current address space, while it is stale
 * @ue_mm: the current address space
 *
 * A bit that cannot be written is skipped until the next update. Bits that were
 * registered since the call began are skipped too: REG has written them, and later
 * changes of their events make the address space stale again.
 *
 * Context: may sleep, see ue_mm_access().
 * Return: 0 if all bits are written, or the address space is not stale any more; -ENOMEM if memory
 * was short for some bits; -EINTR if the current task was killed.
 */
int ue_mm_update(struct ue_mm *ue_mm);

#endif /* UE_MM_ACCESS_H */
