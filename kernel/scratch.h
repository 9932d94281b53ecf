/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory for a payload that is too large for the stack, while it is recorded.
 */
#ifndef UE_SCRATCH_H
#define UE_SCRATCH_H

#include <linux/types.h>

/**
 * ue_scratch_get() - get some
 * @size: bytes
 *
 * Context: may sleep.
 * Return: the memory, uninitialised and aligned to eight; NULL without memory.
 */
void *ue_scratch_get(size_t size);

/**
 * ue_scratch_put() - give it back
 * @scratch: from ue_scratch_get()
 * @size: as it was asked for
 *
 * Context: may sleep.
 */
void ue_scratch_put(void *scratch, size_t size);

/* ue_scratch_exit() - free what was kept; nobody has any, or gets some. */
void ue_scratch_exit(void);

#endif /* UE_SCRATCH_H */
