// SPDX-License-Identifier: GPL-2.0-only
/*
 * Updates enable bits when the state of their event changes.
 *
 * Each bit is written with ue_enabler_mutex held, from the state that its event
 * has at that time. So the last of several writes is correct, whichever task
 * makes it.
 */
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "enabler.h"
#include "event.h"
#include "kernel_symbols.h"
#include "mm.h"
#include "mm_access.h"
#include "update.h"
#include "worker.h"

/*
 * How many bits of one set a change of an event may write directly, over all
 * address spaces that have the set, and one more. Each write counts it down. At
 * 1, workers are started for the rest, because all other tracing operations
 * wait while event_mutex is held. At 0, they have been started.
 */
#define UE_DIRECT_WRITES	16384

/* The caller holds the memory, and the mmap_lock for reading. */
static int ue_mm_write(struct ue_mm *ue_mm, const struct ue_enabler *enabler,
		       struct page *page)
{
	lockdep_assert_held(&ue_enabler_mutex);
	return ue_user_bit_write(ue_mm->mm, &enabler->bit,
				 ue_event_enabled(enabler->event), page);
}

/* Return: 0, also if the bit is no longer registered; -EAGAIN. */
static int ue_follow_event(struct ue_mm *ue_mm, struct ue_access *access)
{
	struct ue_enabler *enabler = NULL;
	int err = 0;

	if (ue_mm->set)
		enabler = ue_enabler_find(ue_mm->set, access->bit.address,
					  access->bit.nr);
	if (enabler)
		err = ue_mm_write(ue_mm, enabler, access->page);
	return err;
}

/* Copies to @bit the next registered bit after @bit->address and @nr. */
static bool ue_mm_next_bit(struct ue_mm *ue_mm, struct ue_user_bit *bit, int nr)
{
	struct ue_enabler *enabler = NULL;

	mutex_lock(&ue_enabler_mutex);
	if (ue_mm->set)
		enabler = ue_enabler_after(ue_mm->set, bit->address, nr);
	if (enabler)
		*bit = enabler->bit;
	mutex_unlock(&ue_enabler_mutex);
	return enabler;
}

int ue_update_mm(struct ue_mm *ue_mm)
{
	struct ue_access access = { };
	int nr = -1, err = 0, result;

	while (!fatal_signal_pending(current) &&
	       ue_mm_next_bit(ue_mm, &access.bit, nr)) {
		result = ue_mm_access(ue_mm, &access, ue_follow_event);
		if (result == -ESRCH)
			return 0;
		if (result == -ENOMEM)
			err = -ENOMEM;
		nr = access.bit.nr;
		cond_resched();
	}
	return err;
}

/**
 * struct ue_held_mm - the address space that is being written
 * @mm: the address space, whose memory is held; NULL if there is none
 * @locked: its mmap_lock could be taken without waiting
 *
 * Kept from one bit to the next: most address spaces have several to write.
 */
struct ue_held_mm {
	struct mm_struct *mm;
	bool locked;
};

static void ue_release_mm(struct ue_held_mm *held)
{
	if (!held->mm)
		return;
	if (held->locked)
		mmap_read_unlock(held->mm);
	mmput_async(held->mm);
	held->mm = NULL;
}

/* Return: false if the program has exited. */
static bool ue_hold_mm(struct ue_held_mm *held, struct mm_struct *mm)
{
	if (held->mm == mm)
		return true;
	ue_release_mm(held);
	if (!mmget_not_zero(mm))
		return false;
	held->mm = mm;
	held->locked = mmap_read_trylock(mm);
	return true;
}

/* Writes without waiting, or starts a worker. */
static void ue_write_or_start_worker(struct ue_mm *ue_mm,
				     const struct ue_enabler *enabler,
				     struct ue_held_mm *held)
{
	if (!ue_hold_mm(held, ue_mm->mm) || ue_mm_has_exited(ue_mm, 1))
		return;
	if (!held->locked || ue_mm_write(ue_mm, enabler, NULL))
		ue_worker_start(ue_mm);
}

/* Writes a bit in all address spaces that have the set. */
static void ue_enabler_update(struct ue_enabler_set *set,
			      const struct ue_enabler *enabler,
			      struct ue_held_mm *held)
{
	struct ue_mm *ue_mm;
	bool spent;

	/* Every address space of the set has a worker, which writes this bit too. */
	if (!set->writes_left)
		return;
	spent = set->writes_left == 1;
	hlist_for_each_entry(ue_mm, &set->mms, of_set) {
		if (set->writes_left == 1) {
			ue_worker_start(ue_mm);
		} else {
			ue_write_or_start_worker(ue_mm, enabler, held);
			set->writes_left--;
		}
		if (need_resched())
			cond_resched();
	}
	if (spent)
		set->writes_left = 0;
}

void ue_update_event(struct ue_event *event)
{
	struct ue_enabler *enabler;
	struct ue_held_mm held = { };

	lockdep_assert_held(ue_event_mutex);
	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry(enabler, &event->enablers, of_event) {
		enabler->set->writes_left = UE_DIRECT_WRITES;
		if (need_resched())
			cond_resched();
	}
	list_for_each_entry(enabler, &event->enablers, of_event) {
		struct ue_enabler_set *set = enabler->set;

		ue_enabler_update(set, enabler, &held);
		/*
		 * A child that is being forked is not in the list of the set
		 * yet. Either it sees the new count or update_pending, or its
		 * bits were written before the copy. Pairs with
		 * ue_reference_set().
		 */
		smp_store_release(&set->changes, set->changes + 1);
		if (need_resched())
			cond_resched();
	}
	ue_release_mm(&held);
	mutex_unlock(&ue_enabler_mutex);
	ue_update_wait_on_return();
}
