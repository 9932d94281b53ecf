/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file user_events_rules, and the module parameter "rules".
 */
#ifndef UE_RULES_FILE_H
#define UE_RULES_FILE_H

/**
 * ue_rules_file_init() - add the rules of the parameter, and create the file
 *
 * Does nothing if the kernel lacks a symbol that rules need. A rule that can't be
 * added is named in the kernel log. ue_tracefs_files_remove() removes the file.
 *
 * Context: module init; may sleep.
 * Return: 0, or -ENODEV if tracefs can't create the file.
 */
int ue_rules_file_init(void);

#endif /* UE_RULES_FILE_H */
