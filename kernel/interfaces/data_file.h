/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file user_events_data: the ioctls, and writing records. The device of a group does the same
 * for its group. Its read() gives the text of user_events_status, for programs that cannot enter
 * tracefs.
 */
#ifndef UE_DATA_FILE_H
#define UE_DATA_FILE_H

#include <linux/fs.h>

/* Of the devices of groups, whose minor numbers are those of the groups. */
extern const struct file_operations ue_device_operations;

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

#endif /* UE_DATA_FILE_H */
