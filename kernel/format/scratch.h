/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Temporary memory for a payload that is too large for the stack.
 */
#ifndef UE_SCRATCH_H
#define UE_SCRATCH_H

#include <linux/types.h>

/**
 * ue_scratch_get() - allocate temporary memory
 * @size: bytes
 *
 * New memory is charged to the caller's memory cgroup.
 *
 * Context: may sleep.
 * Return: the memory, uninitialized, aligned to eight; NULL if out of memory.
 */
void *ue_scratch_get(size_t size);

/**
 * ue_scratch_put() - free temporary memory, or keep it for the next caller
 * @scratch: from ue_scratch_get()
 * @size: as passed to ue_scratch_get(), bytes
 *
 * Context: may sleep.
 */
void ue_scratch_put(void *scratch, size_t size);

/**
 * ue_scratch_exit() - free the memory that is kept
 *
 * Context: module exit; no other function of this file is running.
 */
void ue_scratch_exit(void);

#endif /* UE_SCRATCH_H */
