// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table instead of a list, because nothing can be allocated where copies are
 * noted. It has no lock: only tasks of one and the same fork look for its entry.
 */
#include <linux/atomic.h>
#include <linux/kernel.h>

#include "left_copy.h"

/* So many tasks can be between the two steps of a fork at a time. */
#define UE_LEFT_COPIES_MAX	64

static struct mm_struct *ue_left_copies[UE_LEFT_COPIES_MAX];
/* At least as many as are in the table. */
static atomic_t ue_nr_left_copies;

bool ue_left_copy_add(struct mm_struct *mm)
{
	/* First, because ue_left_copy_take() relies on it. */
	atomic_inc(&ue_nr_left_copies);
	for (int i = 0; i < UE_LEFT_COPIES_MAX; i++) {
		if (!cmpxchg(&ue_left_copies[i], NULL, mm))
			return true;
	}
	atomic_dec(&ue_nr_left_copies);
	return false;
}

bool ue_left_copy_take(const struct mm_struct *mm)
{
	if (likely(!atomic_read(&ue_nr_left_copies)))
		return false;
	for (int i = 0; i < UE_LEFT_COPIES_MAX; i++) {
		if (READ_ONCE(ue_left_copies[i]) != mm)
			continue;
		WRITE_ONCE(ue_left_copies[i], NULL);
		atomic_dec(&ue_nr_left_copies);
		return true;
	}
	return false;
}
