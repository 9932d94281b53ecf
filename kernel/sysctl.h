/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/sys/kernel/user_events_max: the maximum number of events.
 */
#ifndef UE_SYSCTL_H
#define UE_SYSCTL_H

/**
 * ue_sysctl_init() - create the sysctl
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_sysctl_init(void);

/**
 * ue_sysctl_exit() - remove the sysctl
 *
 * Context: module exit; may sleep.
 */
void ue_sysctl_exit(void);

#endif /* UE_SYSCTL_H */
