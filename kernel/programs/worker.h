/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers, which update the enable bits of one address space each and may wait
 * for its program. A few run in parallel for each share of users (user.h). A
 * worker that is blocked makes room for others, and ends when the program does.
 */
#ifndef UE_WORKER_H
#define UE_WORKER_H

struct ue_mm;

/**
 * ue_worker_start() - let a worker update the enable bits of an address space
 * @ue_mm: the address space, which is attached
 *
 * The update of the address space is pending until the worker is done. An
 * address space has one worker at a time: an existing worker makes another
 * pass.
 *
 * Context: ue_enabler_mutex held; the caller holds a reference to the module.
 */
void ue_worker_start(struct ue_mm *ue_mm);

/**
 * ue_worker_cancel() - remove an address space that waits for a slot
 * @ue_mm: the address space, which has ended; the caller has a reference
 *
 * Nothing happens if the address space has a slot: the worker finds out.
 *
 * Context: ue_enabler_mutex held; the caller holds a reference to the module, or
 * the module is being unloaded.
 */
void ue_worker_cancel(struct ue_mm *ue_mm);

/**
 * ue_workers_init() - create the workqueue
 *
 * Return: 0 or -ENOMEM.
 */
int ue_workers_init(void);

/**
 * ue_workers_exit() - wait for the last worker
 *
 * Context: at unload; ue_worker_start() is not called any more.
 */
void ue_workers_exit(void);

#endif /* UE_WORKER_H */
