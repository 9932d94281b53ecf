/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device /dev/user_mark. It exists while the module is loaded; opening it fails until the
 * module is ready.
 */
#ifndef UE_MARK_H
#define UE_MARK_H

/**
 * ue_marks_init() - create the device
 *
 * Context: module init; may sleep.
 * Return: 0; -EINVAL for a wrong mark_mode; or an error of misc_register().
 */
int ue_marks_init(void);

/**
 * ue_marks_exit() - remove the device
 *
 * Context: module exit, with no user of it; may sleep.
 */
void ue_marks_exit(void);

#endif /* UE_MARK_H */
