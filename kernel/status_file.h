/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file user_events_status: one line for each event, then two counts.
 */
#ifndef UE_STATUS_FILE_H
#define UE_STATUS_FILE_H

/**
 * ue_status_file_init() - create the file
 *
 * ue_tracefs_files_remove() removes it.
 *
 * Context: module init; may sleep.
 * Return: 0, or -ENODEV if tracefs can't create the file.
 */
int ue_status_file_init(void);

#endif /* UE_STATUS_FILE_H */
