/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The limits of the group "default" in /proc/sys/kernel: user_events_max, the maximum
 * number of events of all users; user_events_max_per_user, of each user; and
 * user_events_registrations_max_per_user, of registrations of each user.
 */
#ifndef UE_SYSCTL_H
#define UE_SYSCTL_H

/**
 * ue_sysctl_init() - create the sysctls
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_sysctl_init(void);

/**
 * ue_sysctl_exit() - remove the sysctls
 *
 * Context: module exit; may sleep.
 */
void ue_sysctl_exit(void);

#endif /* UE_SYSCTL_H */
