/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file user_events_data: the ioctls, and writing records.
 */
#ifndef UE_DATA_FILE_H
#define UE_DATA_FILE_H

/* Return: 0, or -ENODEV when tracefs does not take the file. */
int ue_data_file_init(void);
void ue_data_file_exit(void);

#endif /* UE_DATA_FILE_H */
