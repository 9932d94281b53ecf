/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel uses for dynamic events and declares in no public header.
 */
#ifndef UE_KERNEL_TYPES_H
#define UE_KERNEL_TYPES_H

#include <linux/list.h>
#include <linux/types.h>

struct dyn_event;
struct seq_file;

/**
 * struct dyn_event_operations - a kind of dynamic events
 * @list: entry in the kernel's list of kinds
 * @create: create an event from a line written to the file dynamic_events
 * @show: print the event as a line of that file
 * @is_busy: check whether the event is in use
 * @free: remove the event
 * @match: check whether the event matches what user space asks to delete
 *
 * The kernel's own structure, unchanged since 5.13.
 */
struct dyn_event_operations {
	struct list_head list;
	int (*create)(const char *raw_command);
	int (*show)(struct seq_file *m, struct dyn_event *ev);
	bool (*is_busy)(struct dyn_event *ev);
	int (*free)(struct dyn_event *ev);
	bool (*match)(const char *system, const char *event, int argc,
		      const char **argv, struct dyn_event *ev);
};

/**
 * struct dyn_event - a dynamic event
 * @list: entry in the kernel's list of dynamic events
 * @ops: operations of its kind
 *
 * The kernel's own structure, as struct dyn_event_operations.
 */
struct dyn_event {
	struct list_head list;
	struct dyn_event_operations *ops;
};

int dyn_event_register(struct dyn_event_operations *ops);

/**
 * ue_dyn_event_misfit() - compare the kernel's operations with the declaration
 * @operations: the address of operations of the kernel's own, which may be
 *	anything if the kernel has changed
 *
 * The functions have to be the kernel's, with names that contain what the
 * members are for, and the object has to be in a list.
 *
 * Context: may sleep; the list of kinds must not change.
 * Return: NULL, or the name of a member that does not fit.
 */
const char *ue_dyn_event_misfit(const struct dyn_event_operations *operations);

#endif /* UE_KERNEL_TYPES_H */
