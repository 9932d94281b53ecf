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

#include <linux/list.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/ring_buffer.h>
#include <linux/rwsem.h>
#include <linux/static_call.h>
#include <linux/tracefs.h>

/*
 * The kernel's event_mutex: protects the list of events, their recorders and
 * what hangs on them.
 */
extern struct mutex *ue_event_mutex;

/*
 * The kernel's trace_event_sem, taken inside event_mutex: protects the numbers of
 * events. NULL where the kernel lacks it.
 */
extern struct rw_semaphore *ue_trace_event_sem;

/*
 * What the kernel's file dynamic_events is made of; NULL where the kernel
 * lacks any of it. struct dyn_event and its operations stand in no public
 * header; they have been the same from 5.13 on.
 */
struct dyn_event;
struct seq_file;

struct dyn_event_operations {
	struct list_head list;
	int (*create)(const char *raw_command);
	int (*show)(struct seq_file *m, struct dyn_event *ev);
	bool (*is_busy)(struct dyn_event *ev);
	int (*free)(struct dyn_event *ev);
	bool (*match)(const char *system, const char *event, int argc,
		      const char **argv, struct dyn_event *ev);
};

struct dyn_event {
	struct list_head list;
	struct dyn_event_operations *ops;
};

int dyn_event_register(struct dyn_event_operations *ops);

/* For event_files.c; set where that is needed. */
struct trace_event_file;
void event_file_get(struct trace_event_file *file);
void event_file_put(struct trace_event_file *file);

extern struct vfsmount **ue_tracefs_mount;

DECLARE_STATIC_CALL(ue_event_file_get, event_file_get);
DECLARE_STATIC_CALL(ue_event_file_put, event_file_put);

extern struct mutex *ue_dyn_event_ops_mutex;
extern struct list_head *ue_dyn_event_list;

/* Of the kernel's event probes; NULL where it lacks them. */
extern const struct dyn_event_operations *ue_eprobe_operations;

DECLARE_STATIC_CALL(ue_dyn_event_register, dyn_event_register);
DECLARE_STATIC_CALL(ue_ring_buffer_record_is_set_on,
		    ring_buffer_record_is_set_on);
DECLARE_STATIC_CALL(ue_tracefs_create_file, tracefs_create_file);
DECLARE_STATIC_CALL(ue_tracefs_remove, tracefs_remove);

/* ue_has_dyn_events() - has the kernel all that dynamic_events needs? */
bool ue_has_dyn_events(void);

/**
 * ue_kernel_symbols_init() - look all symbols up
 *
 * Context: module load; may sleep.
 * Return: 0; -EEXIST when the kernel has user_events of its own; -ENOENT when
 * a symbol that is needed is missing. Says why in the log.
 */
int ue_kernel_symbols_init(void);

#endif /* UE_KERNEL_SYMBOLS_H */
