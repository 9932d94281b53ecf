/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file user_events_data: the ioctls, and writing records. The device
 * /dev/user_events/default is the same, and user_events_status as well, for programs
 * that can't enter tracefs.
 */
#ifndef UE_DATA_FILE_H
#define UE_DATA_FILE_H

/**
 * ue_data_file_init() - create the file
 *
 * ue_tracefs_files_remove() removes it.
 *
 * Context: module init; may sleep.
 * Return: 0, or -ENODEV if tracefs can't create the file.
 */
int ue_data_file_init(void);

/**
 * ue_data_file_exit() - free memory that the file's functions keep
 *
 * Context: module exit, after ue_tracefs_files_remove().
 */
void ue_data_file_exit(void);

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

#endif /* UE_DATA_FILE_H */
