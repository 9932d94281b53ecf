/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file user_events_status: one line an event, and two counts.
 */
#ifndef UE_STATUS_FILE_H
#define UE_STATUS_FILE_H

/* Return: 0, or -ENODEV when tracefs does not take the file. */
int ue_status_file_init(void);

#endif /* UE_STATUS_FILE_H */
