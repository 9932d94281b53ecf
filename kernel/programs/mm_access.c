// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses a bit of the current address space, or all its bits in a pass. Page faults are taken
 * with no lock held except the mmap_lock.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "events/event.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/traced.h"

/* How many bits a pass writes at most before it releases the locks. */
#define UE_BITS_AT_ONCE		64

/* The page may be reclaimed again after each fault; this limits the attempts. */
#define UE_FAULTS_MAX	16

int ue_mm_access(struct ue_mm *ue_mm, struct ue_access *access,
		 int (*write)(struct ue_mm *ue_mm, struct ue_access *access))
{
	struct mm_struct *mm = ue_mm->mm;
	int locked = 0, err = 0;

	for (int faults = 0; !err; faults++) {
		/* A killable wait, which is not reported as a hung task. */
		if (!locked && mmap_read_lock_killable(mm))
			return -EINTR;
		locked = 1;
		err = -EAGAIN;
		if (access->page || !access->with_page) {
			ue_enabler_lock();
			err = write(ue_mm, access);
			ue_enabler_unlock();
		}
		if (access->page)
			unpin_user_page(access->page);
		access->page = NULL;
		if (err != -EAGAIN || faults == UE_FAULTS_MAX ||
		    (access->no_server && ue_user_bit_has_server(mm, &access->bit)))
			break;
		/* Most faults keep the mmap_lock: no fork runs before the write. */
		err = ue_user_bit_fault_in(mm, &access->bit, &locked,
					   &access->page);
	}
	if (locked)
		mmap_read_unlock(mm);
	return err == -EAGAIN ? -EFAULT : err;
}

bool ue_mm_bit_wanted(struct ue_mm *ue_mm, struct ue_event *event,
		      const struct ue_user_bit *bit)
{
	if (!ue_user_bit_is_shared(ue_mm->mm, bit))
		return ue_mm_scopes(ue_mm) & event->scopes;
	event->set_elsewhere = true;
	return true;
}

/**
 * struct ue_pass - a pass over the bits of an address space
 * @access: the bit that is written
 * @last_id: the last registration before the pass began
 */
struct ue_pass {
	struct ue_access access;
	u64 last_id;
};

/*
 * Writes a bit and, as far as that needs no page fault, the next ones. Sets
 * @access->bit to the last one.
 *
 * Return: 0, also if the bit is no longer registered; -EAGAIN.
 */
static int ue_follow_events(struct ue_mm *ue_mm, struct ue_access *access)
{
	const u64 last_id = container_of(access, struct ue_pass, access)->last_id;
	struct ue_user_bit *bit = &access->bit;
	struct ue_enabler *enabler;
	int err = 0;

	enabler = ue_enabler_find(ue_mm->set, bit->address, bit->nr);
	if (enabler && enabler->id <= last_id)
		err = ue_mm_write(ue_mm, 0, enabler, access->page);
	for (int nr = 1; !err && nr < UE_BITS_AT_ONCE; nr++) {
		enabler = ue_enabler_after(ue_mm->set, bit->address, bit->nr);
		if (!enabler || (enabler->id <= last_id &&
				 ue_mm_write(ue_mm, 0, enabler, NULL)))
			break;
		*bit = enabler->bit;
	}
	return err;
}

/*
 * Sets @bit to the next registered bit after it. Also sets @last_id if it is 0.
 * Return: false if there is none, or the address space is not stale.
 */
static bool ue_mm_next_bit(struct ue_mm *ue_mm, struct ue_user_bit *bit, int nr,
			   u64 *last_id)
{
	const struct ue_enabler *enabler = NULL;

	ue_enabler_lock();
	*last_id = *last_id ?: ue_enabler_last_id;
	if (ue_mm->set && ue_mm->stale)
		enabler = ue_enabler_after(ue_mm->set, bit->address, nr);
	if (enabler)
		*bit = enabler->bit;
	ue_enabler_unlock();
	return enabler;
}

int ue_mm_update(struct ue_mm *ue_mm)
{
	struct ue_pass pass = { .access.no_server = true };
	struct ue_user_bit *bit = &pass.access.bit;
	bool short_of_memory = false;
	/* Before the first bit. */
	int nr = -1;

	while (ue_mm_next_bit(ue_mm, bit, nr, &pass.last_id)) {
		int err = fatal_signal_pending(current) ? -EINTR :
			  ue_mm_access(ue_mm, &pass.access, ue_follow_events);

		if (err == -EINTR)
			return err;
		short_of_memory |= err == -ENOMEM;
		nr = bit->nr;
		cond_resched();
	}
	return short_of_memory ? -ENOMEM : 0;
}
