/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a rule does in an ftrace instance: enables an event there, with a filter,
 * or gives it a trigger.
 *
 * The kernel has one struct trace_event_file for each pair of instance and
 * event. The structure stays while event_mutex is held.
 */
#ifndef UE_RULE_ACTION_H
#define UE_RULE_ACTION_H

#include <linux/types.h>

struct trace_array;
struct trace_event_call;
struct trace_event_file;

/* Space for the reason why an event could not be enabled, with its NUL. */
#define UE_REASON_MAX	128

/**
 * ue_instances_init() - find the top-level instance
 *
 * Logs a warning if there is none.
 *
 * Context: module init, before the first rule; may sleep.
 */
void ue_instances_init(void);

/**
 * ue_has_instances() - check for what this part needs of the kernel
 *
 * Context: any, after ue_instances_init().
 * Return: true if the kernel has all of it. Otherwise no other function here may
 * be called.
 */
bool ue_has_instances(void);

/**
 * ue_instance_get() - find or create an instance, and take a reference to it
 * @name: its name; NULL for the top-level one
 *
 * The buffers of the instance stay as they are until an event is enabled, or
 * gets a trigger.
 *
 * Context: may sleep; event_mutex not held.
 * Return: the instance; NULL if the kernel can't create it.
 */
struct trace_array *ue_instance_get(const char *name);

/**
 * ue_instance_put() - put a reference; nothing else happens to the instance
 * @instance: the instance
 *
 * Context: may sleep.
 */
void ue_instance_put(struct trace_array *instance);

/**
 * ue_instance_file() - find the kernel's object for an event in an instance
 * @instance: the instance, to which the caller has a reference
 * @call: the event
 *
 * Context: event_mutex held.
 * Return: the object; NULL if the instance does not have the event.
 */
struct trace_event_file *ue_instance_file(struct trace_array *instance,
					  struct trace_event_call *call);

/**
 * ue_file_enable() - enable an event that is neither enabled nor filtered
 * @file: from ue_instance_file()
 * @filter: the filter, or NULL
 * @reason: set to the reason for an error; UE_REASON_MAX bytes
 *
 * After a failure, the event is as before.
 *
 * Context: event_mutex held; may sleep.
 * Return: 0; -EBUSY if the event is enabled or has a filter; -EINVAL if the
 * filter does not fit the event; -ENOMEM; an error of the event.
 */
int ue_file_enable(struct trace_event_file *file, const char *filter,
		   char *reason);

/**
 * ue_file_set_filter() - replace the filter of an event
 * @file: from ue_instance_file()
 * @filter: the new filter, or NULL for none
 * @reason: set to the reason for an error; UE_REASON_MAX bytes
 *
 * If the filter does not fit, the event keeps its old filter. If memory is
 * short, the event may lose the old filter.
 *
 * Context: event_mutex held; may sleep; waits for an RCU grace period if the
 * event has a filter.
 * Return: 0; -EINVAL if the filter does not fit the event; -ENOMEM.
 */
int ue_file_set_filter(struct trace_event_file *file, const char *filter,
		       char *reason);

/**
 * ue_file_is_enabled() - check for what ue_file_enable() has done
 * @file: from ue_instance_file()
 * @filter: the filter, or NULL
 *
 * Context: event_mutex held.
 * Return: true if the event is enabled, with this filter.
 */
bool ue_file_is_enabled(struct trace_event_file *file, const char *filter);

/**
 * ue_file_disable() - disable an event, and remove its filter
 * @file: from ue_instance_file()
 *
 * Context: event_mutex held; may sleep; as ue_file_set_filter().
 */
void ue_file_disable(struct trace_event_file *file);

/**
 * ue_file_add_trigger() - give an event a trigger
 * @file: from ue_instance_file()
 * @trigger: one for which ue_trigger_parse() has returned NULL
 * @reason: set to the reason for an error; UE_REASON_MAX bytes
 *
 * Context: event_mutex held; may sleep.
 * Return: 0; the error of the kernel.
 */
int ue_file_add_trigger(struct trace_event_file *file, const char *trigger,
			char *reason);

/**
 * ue_file_remove_trigger() - remove a trigger, if the event has it
 * @file: from ue_instance_file()
 * @trigger: as passed to ue_file_add_trigger()
 *
 * Context: event_mutex held; may sleep.
 * Return: 0; the error of the kernel, and the event may still have the trigger.
 */
int ue_file_remove_trigger(struct trace_event_file *file, const char *trigger);

#endif /* UE_RULE_ACTION_H */
