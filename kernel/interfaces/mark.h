/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device /dev/user_mark, and the events user_mark:text and user_mark:data.
 * They exist while the module is loaded.
 */
#ifndef UE_MARK_H
#define UE_MARK_H

/**
 * ue_marks_init() - create the device and the events
 *
 * Must be the last part that is initialized: once the events exist, recorders
 * may use them, and the module can't fail to load any more.
 *
 * Context: module init; may sleep.
 * Return: 0; -EINVAL for a wrong mark_mode; -ENOMEM; -ENODEV if tracing has no
 * type number left; or an error of misc_register().
 */
int ue_marks_init(void);

/**
 * ue_marks_exit() - remove the device and the events
 *
 * Context: module exit, with no user of them; may sleep.
 */
void ue_marks_exit(void);

#endif /* UE_MARK_H */
