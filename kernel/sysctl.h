/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/sys/kernel/user_events_max: the most events at a time.
 */
#ifndef UE_SYSCTL_H
#define UE_SYSCTL_H

/* Return: 0 or -ENOMEM. */
int ue_sysctl_init(void);
void ue_sysctl_exit(void);

#endif /* UE_SYSCTL_H */
