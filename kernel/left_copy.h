/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of address spaces that fork makes where they cannot be attached: see
 * ue_fork_leave_copy(). Each is noted until its fork ends, so that no other
 * child is taken for it. The table has 64 entries for the whole machine.
 */
#ifndef UE_LEFT_COPY_H
#define UE_LEFT_COPY_H

#include <linux/types.h>

struct mm_struct;

/**
 * ue_left_copy_add() - note a copy
 * @mm: the copy, which is not noted yet
 *
 * Context: any; the task that forks.
 * Return: false if too many are noted.
 */
bool ue_left_copy_add(struct mm_struct *mm);

/**
 * ue_left_copy_take() - remove the note of a copy, if there is one
 * @mm: any address space; the child's when fork succeeds, or one that ends
 *
 * Context: any; no other task adds or takes @mm at the same time.
 * Return: whether it was noted.
 */
bool ue_left_copy_take(const struct mm_struct *mm);

#endif /* UE_LEFT_COPY_H */
