/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the module needs of the kernel and the kernel does not export.
 *
 * Functions are called as static_call(ue_NAME)(...): a direct branch, which
 * neither IBT nor kCFI checks. Nothing here may be used before
 * ue_kernel_symbols_init() has returned 0.
 */
#ifndef UE_KERNEL_SYMBOLS_H
#define UE_KERNEL_SYMBOLS_H

#include <linux/mutex.h>
#include <linux/static_call.h>
#include <linux/tracefs.h>

/*
 * The kernel's event_mutex: protects the list of events, their recorders and
 * what hangs on them.
 */
extern struct mutex *ue_event_mutex;

DECLARE_STATIC_CALL(ue_tracefs_create_file, tracefs_create_file);
DECLARE_STATIC_CALL(ue_tracefs_remove, tracefs_remove);

/**
 * ue_kernel_symbols_init() - look all symbols up
 *
 * Context: module load; may sleep.
 * Return: 0; -EEXIST when the kernel has user_events of its own; -ENOENT when
 * a symbol that is needed is missing. Says why in the log.
 */
int ue_kernel_symbols_init(void);

#endif /* UE_KERNEL_SYMBOLS_H */
