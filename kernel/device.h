/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device /dev/user_events/default: user_events_data and user_events_status
 * for programs that can't enter tracefs.
 */
#ifndef UE_DEVICE_H
#define UE_DEVICE_H

/**
 * ue_device_init() - create the device
 *
 * Context: module init; may sleep.
 * Return: 0, or an error of misc_register().
 */
int ue_device_init(void);

/**
 * ue_device_exit() - remove the device
 *
 * Context: module init or exit; may sleep.
 */
void ue_device_exit(void);

#endif /* UE_DEVICE_H */
