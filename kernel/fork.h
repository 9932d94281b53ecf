/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A forked child has the registrations of its parent.
 */
#ifndef UE_FORK_H
#define UE_FORK_H

/* ue_fork_records_init() - begin, before all else. Return: 0 or -ENOMEM. */
int ue_fork_records_init(void);

/*
 * ue_fork_records_exit() - end, after all else
 *
 * Waits for whoever has given back his reference to the module, in its own code,
 * and has a few instructions of that still to go.
 */
void ue_fork_records_exit(void);

/*
 * ue_fork_init() - take part in forks
 *
 * Return: 0; -ENOENT when the kernel tells nothing of forks; -ENOMEM.
 */
int ue_fork_init(void);
void ue_fork_exit(void);

#endif /* UE_FORK_H */
