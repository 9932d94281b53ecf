/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A forked child has the registrations of its parent.
 */
#ifndef UE_FORK_H
#define UE_FORK_H

/* Return: 0, or -ENOENT when the kernel tells nothing of forks. */
int ue_fork_init(void);
void ue_fork_exit(void);

#endif /* UE_FORK_H */
