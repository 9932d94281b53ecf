/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls a function of the module when the kernel enters one of its own
 * functions, for what the kernel reports in no other way. Finds tracepoints.
 */
#ifndef UE_KERNEL_HOOK_H
#define UE_KERNEL_HOOK_H

#include <linux/ftrace.h>

struct tracepoint;

/**
 * ue_kernel_hook_add() - call the module whenever a function is entered
 * @hook: all zero but for @hook->func, which may be called with preemption
 *	disabled, gets the arguments with ue_ftrace_argument(), and must not
 *	enter the kernel's function itself
 * @function: the address of the kernel's function
 *
 * Prints the reason for an error to the kernel log. Until the hook is removed,
 * the kernel refuses to set kernel.ftrace_enabled to 0.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if the kernel cannot trace the function; -EBUSY if
 * kernel.ftrace_enabled is 0; -ENOMEM; another error of ftrace.
 */
int ue_kernel_hook_add(struct ftrace_ops *hook, void *function);

/**
 * ue_kernel_hook_remove() - undo ue_kernel_hook_add()
 * @hook: the hook
 *
 * Waits for calls in progress. If ftrace has failed, this function never returns,
 * because ftrace may still call the hook.
 *
 * Context: may sleep.
 */
void ue_kernel_hook_remove(struct ftrace_ops *hook);

/**
 * ue_tracepoint_find() - find a tracepoint of the kernel
 * @name: its name
 *
 * For tracepoints that the kernel does not export. The caller checks the type of its
 * probe by check_trace_callback_type_NAME().
 *
 * Context: may sleep.
 * Return: the tracepoint, or NULL.
 */
struct tracepoint *ue_tracepoint_find(const char *name);

#endif /* UE_KERNEL_HOOK_H */
