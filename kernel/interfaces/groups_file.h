/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file user_events_groups, and the module parameter "groups".
 */
#ifndef UE_GROUPS_FILE_H
#define UE_GROUPS_FILE_H

/**
 * ue_groups_file_init() - create the file, and the device of the default group
 *
 * Adds the groups of the parameter. A group that can't be added is named in the
 * kernel log. ue_tracefs_files_remove() removes the file.
 *
 * Context: module init, after ue_group_devices_init(); may sleep.
 * Return: 0; -ENODEV if tracefs can't create the file; an error of device_add().
 */
int ue_groups_file_init(void);

/**
 * ue_groups_file_exit() - remove the devices of all groups
 *
 * Context: module init or exit; may sleep.
 */
void ue_groups_file_exit(void);

#endif /* UE_GROUPS_FILE_H */
