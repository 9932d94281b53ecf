/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A forked child inherits the registrations of its parent.
 */
#ifndef UE_FORK_H
#define UE_FORK_H

/**
 * ue_fork_pool_init() - reserve memory for forks
 *
 * Context: at load, before all other parts.
 * Return: 0 or -ENOMEM.
 */
int ue_fork_pool_init(void);

/**
 * ue_fork_pool_exit() - free the memory reserved for forks
 *
 * Waits until each task that has dropped its reference to the module has left
 * the module's code.
 *
 * Context: at unload, after all other parts; may sleep.
 */
void ue_fork_pool_exit(void);

/**
 * ue_fork_init() - register a probe of sched_process_fork
 *
 * Return: 0; -ENOENT if the kernel lacks that tracepoint; -ENOMEM.
 */
int ue_fork_init(void);

/**
 * ue_fork_exit() - unregister the probe
 *
 * Context: at unload; may sleep. A child that has not run yet would have kept
 * the module loaded, through its set.
 */
void ue_fork_exit(void);

#endif /* UE_FORK_H */
