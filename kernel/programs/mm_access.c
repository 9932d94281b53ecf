// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses a bit of an address space, or all its bits in a pass. Page faults are taken
 * with no lock held except the mmap_lock.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "events/event.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/want.h"

/*
 * How many bits a pass writes at most before it releases the locks, and before
 * it lets the worker sleep. The locks are held often and briefly: if the worker
 * is preempted while it holds them, others wait.
 */
#define UE_BITS_AT_ONCE		64
#define UE_BITS_BEFORE_PAUSE	256

/* The page may be reclaimed again after each fault; this limits the attempts. */
#define UE_FAULTS_MAX	16

/*
 * In the program itself (@own), writing a bit does not sleep. So preemption can be disabled. A
 * worker may sleep there, and need not disable preemption: no limit of the program stops it.
 */
static void ue_access_lock(bool own)
{
	if (own)
		ue_enabler_lock();
	else
		mutex_lock(&ue_enabler_mutex);
}

static void ue_access_unlock(bool own)
{
	if (own)
		ue_enabler_unlock();
	else
		mutex_unlock(&ue_enabler_mutex);
}

int ue_mm_access(struct ue_mm *ue_mm, struct ue_access *access,
		 int (*write)(struct ue_mm *ue_mm, struct ue_access *access))
{
	struct mm_struct *mm = ue_mm->mm;
	const bool own = mm == current->mm;
	int locked = 0, err = 0;

	for (int faults = 0; !err; faults++) {
		/* A killable wait, which is not reported as a hung task. */
		if (!locked && mmap_read_lock_killable(mm))
			return -EINTR;
		locked = 1;
		err = -EAGAIN;
		if (access->page || !access->with_page) {
			ue_access_lock(own);
			err = write(ue_mm, access);
			ue_access_unlock(own);
		}
		if (access->page)
			unpin_user_page(access->page);
		access->page = NULL;
		if (err != -EAGAIN || faults == UE_FAULTS_MAX)
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
		return ue_mm_wants(ue_mm, event);
	event->set_elsewhere = true;
	return true;
}

/* Was the bit registered before the pass? */
static bool ue_is_of_pass(const struct ue_enabler *enabler,
			  const struct ue_position *position)
{
	return enabler->id <= position->last_id;
}

/**
 * struct ue_pass - a pass over the bits of an address space
 * @access: the bit that is written
 * @position: where the pass is
 */
struct ue_pass {
	struct ue_access access;
	struct ue_position *position;
};

/*
 * Writes a bit and, as far as that needs no page fault, the next ones. Sets
 * @access->bit to the last one.
 *
 * Return: 0, also if the bit is no longer registered; -EAGAIN; -ESRCH.
 */
static int ue_follow_events(struct ue_mm *ue_mm, struct ue_access *access)
{
	const struct ue_position *position =
		container_of(access, struct ue_pass, access)->position;
	const struct ue_enabler_set *set = ue_mm->set;
	struct ue_user_bit *bit = &access->bit;
	struct ue_enabler *enabler;
	int err = 0;

	if (!set)
		return 0;
	enabler = ue_enabler_find(set, bit->address, bit->nr);
	if (enabler && ue_is_of_pass(enabler, position))
		err = ue_mm_write(ue_mm, 0, enabler, access->page);
	access->tried++;
	for (int nr = 1; !err && nr < UE_BITS_AT_ONCE; nr++) {
		enabler = ue_enabler_after(set, bit->address, bit->nr);
		if (!enabler)
			break;
		if (ue_is_of_pass(enabler, position) &&
		    ue_mm_write(ue_mm, 0, enabler, NULL))
			break;
		*bit = enabler->bit;
		access->tried++;
	}
	return err;
}

/*
 * Copies the next registered bit after @position to @bit; in a new pass, the first one.
 * Return: false if there is none.
 */
static bool ue_mm_next_bit(struct ue_mm *ue_mm, struct ue_user_bit *bit,
			   struct ue_position *position)
{
	const bool own = ue_mm->mm == current->mm;
	struct ue_enabler *enabler = NULL;

	ue_access_lock(own);
	if (!position->last_id)
		*position = (struct ue_position){
			.last_id = ue_enabler_last_id, .nr = -1
		};
	if (ue_mm->set)
		enabler = ue_enabler_after(ue_mm->set, position->address,
					   position->nr);
	if (enabler)
		*bit = enabler->bit;
	ue_access_unlock(own);
	return enabler;
}

int ue_mm_update(struct ue_mm *ue_mm, struct ue_position *position)
{
	struct ue_pass pass = { .position = position };
	struct ue_user_bit *bit = &pass.access.bit;
	int err = 0;

	while (err != -ESRCH && ue_mm_next_bit(ue_mm, bit, position)) {
		if (pass.access.tried >= UE_BITS_BEFORE_PAUSE)
			return -EAGAIN;
		err = fatal_signal_pending(current) ? -EINTR :
		      ue_mm_access(ue_mm, &pass.access, ue_follow_events);
		if (err == -EINTR)
			return err;
		if (err == -ENOMEM)
			position->short_of_memory = true;
		position->address = bit->address;
		position->nr = bit->nr;
		cond_resched();
	}
	err = position->short_of_memory ? -ENOMEM : 0;
	*position = (struct ue_position){ };
	return err;
}
