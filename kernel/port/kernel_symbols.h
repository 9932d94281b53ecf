/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols of the kernel that the module needs and the kernel does not export.
 *
 * Functions are called as static_call(ue_NAME)(...):
 *
 * x86:   a direct branch, which neither IBT nor kCFI checks. So the function may lack
 *	  its landing pad: while the kernel boots, it removes that of each function
 *	  to which it takes no pointer.
 * arm64: an indirect branch, as arm64 has no static calls of its own. BTI and kCFI
 *	  check it in a kernel that clang has built with them: clang gives each
 *	  function that is not static a landing pad, and kCFI compares the prototypes.
 *	  Debian's kernels have neither.
 *
 * Nothing here may be used before ue_kernel_symbols_init() has returned 0.
 */
#ifndef UE_KERNEL_SYMBOLS_H
#define UE_KERNEL_SYMBOLS_H

#include <linux/dcache.h>
#include <linux/list.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/ring_buffer.h>
#include <linux/rwsem.h>
#include <linux/static_call.h>
#include <linux/task_work.h>
#include <linux/tracefs.h>

#include "port/compat.h"
#include "port/kernel_types.h"

/*
 * The kernel's event_mutex: protects the list of events and their recorders,
 * and much of the module's state.
 */
extern struct mutex *ue_event_mutex;

/*
 * The kernel's trace_event_sem, taken inside event_mutex: protects the type
 * numbers of events. NULL if the kernel lacks it.
 */
extern struct rw_semaphore *ue_trace_event_sem;

/* Functions of the kernel in which the module has hooks. */
extern void *ue_exit_mmap_entry;
extern void *ue_uprobe_dup_mmap_entry;

/* The kernel's functions, declared in no public header. */
struct event_filter;
struct trace_array;
struct trace_event_call;
struct trace_event_file;
struct trace_seq;
void event_file_get(struct trace_event_file *file);
void event_file_put(struct trace_event_file *file);
int tracing_update_buffers(UE_UPDATE_PARAMETER);
struct trace_event_file *find_event_file(struct trace_array *instance,
					 const char *system, const char *name);
int trace_event_enable_disable(struct trace_event_file *file, int enable,
			       int soft_disable);
int create_event_filter(struct trace_array *instance,
			struct trace_event_call *call, char *filter,
			bool keep_text, struct event_filter **result);
void free_event_filter(struct event_filter *filter);
int apply_event_filter(struct trace_event_file *file, char *filter);
void print_event_filter(struct trace_event_file *file, struct trace_seq *seq);
int trigger_process_regex(struct trace_event_file *file, char *trigger);

/* For event_files.c; set only if UE_KEEP_EVENT_FILES. */
extern struct vfsmount **ue_tracefs_mount;

DECLARE_STATIC_CALL(ue_event_file_get, event_file_get);
DECLARE_STATIC_CALL(ue_event_file_put, event_file_put);

/* For the file dynamic_events; see ue_has_dyn_events(). */
extern struct mutex *ue_dyn_event_ops_mutex;
extern struct list_head *ue_dyn_event_list;

/* The operations of the kernel's event probes. */
extern const struct dyn_event_operations *ue_eprobe_operations;

DECLARE_STATIC_CALL(ue_dyn_event_register, dyn_event_register);
DECLARE_STATIC_CALL(ue_ring_buffer_record_is_set_on,
		    ring_buffer_record_is_set_on);
DECLARE_STATIC_CALL(ue_task_work_cancel_match, task_work_cancel_match);
DECLARE_STATIC_CALL(ue_tracefs_create_file, tracefs_create_file);
DECLARE_STATIC_CALL(ue_tracefs_remove, tracefs_remove);

/* The sysctl perf_event_paranoid; NULL if the kernel lacks it. */
extern int *ue_perf_event_paranoid;
/* From linux/ptrace.h. */
DECLARE_STATIC_CALL(ue_ptrace_may_access, ptrace_may_access);
DECLARE_STATIC_CALL(ue_get_task_exe_file, get_task_exe_file);
/* From linux/dcache.h. */
DECLARE_STATIC_CALL(ue_d_absolute_path, d_absolute_path);

/* For rule_action.c; see ue_has_instances(). */
DECLARE_STATIC_CALL(ue_tracing_update_buffers, tracing_update_buffers);
DECLARE_STATIC_CALL(ue_find_event_file, find_event_file);
DECLARE_STATIC_CALL(ue_trace_event_enable_disable, trace_event_enable_disable);
DECLARE_STATIC_CALL(ue_create_event_filter, create_event_filter);
DECLARE_STATIC_CALL(ue_free_event_filter, free_event_filter);
DECLARE_STATIC_CALL(ue_apply_event_filter, apply_event_filter);
DECLARE_STATIC_CALL(ue_print_event_filter, print_event_filter);
DECLARE_STATIC_CALL(ue_trigger_process_regex, trigger_process_regex);

/**
 * ue_has_dyn_events() - check for the symbols that dynamic_events needs
 *
 * Context: any.
 * Return: true if the kernel has all of them.
 */
bool ue_has_dyn_events(void);

/**
 * ue_misfit() - check a declaration that was compared with the kernel's types
 * @name: an optional function, or a structure
 *
 * The build makes this function with tools/declarations, in kernel_declares.c.
 *
 * Context: any.
 * Return: true if the kernel's types (BTF) lack @name, or have another one than
 * the module declares; false if it fits, or if the build found no types.
 */
bool ue_misfit(const char *name);

/**
 * ue_kernel_symbols_init() - look up all symbols
 *
 * Prints the reason for an error to the kernel log.
 *
 * Context: module init; may sleep.
 * Return: 0; -EEXIST if the kernel has user_events of its own; -ENOENT if a
 * required symbol is missing; or an error of register_kprobe().
 */
int ue_kernel_symbols_init(void);

#endif /* UE_KERNEL_SYMBOLS_H */
