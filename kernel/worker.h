/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work that waits for the memory of one address space: each runs beside all
 * others, however many of them a program hinders.
 */
#ifndef UE_WORKER_H
#define UE_WORKER_H

struct ue_process;

/**
 * ue_worker_start() - have an address space brought up to date
 * @process: the address space, known still; @behind from here on until that
 *	has been done
 *
 * What changes while it is being done is done as well: there is never more
 * than one worker for an address space.
 *
 * Context: ue_enabler_mutex held; the module is in use.
 */
void ue_worker_start(struct ue_process *process);

/**
 * ue_workers_init() - begin
 * @settle: brings an address space up to date, whose memory is held; returns 0,
 *	or an errno when it is to be called again
 *
 * Return: 0 or -ENOMEM.
 */
int ue_workers_init(int (*settle)(struct ue_process *process));

/* ue_workers_exit() - wait for the last; nothing is started any more. */
void ue_workers_exit(void);

#endif /* UE_WORKER_H */
