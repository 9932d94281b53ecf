/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file user_events_status: one line for each event of the group "default", then two
 * counts. A device of a group has the same text about its group.
 */
#ifndef UE_STATUS_FILE_H
#define UE_STATUS_FILE_H

struct file;
struct seq_file;
struct ue_group;

/**
 * ue_status_begin() - prepare to read the text through another file
 * @seq: zeroed; seq_read_iter() then reads the text
 * @file: the open file
 * @group: the group whose events are shown; must exist until ue_status_end()
 *
 * Context: any.
 */
void ue_status_begin(struct seq_file *seq, struct file *file,
		     struct ue_group *group);

/**
 * ue_status_end() - free what reading has allocated
 * @seq: from ue_status_begin()
 *
 * Context: may sleep.
 */
void ue_status_end(struct seq_file *seq);

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
