/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which address spaces perf events of single tasks record an event.
 *
 * A *root* is a perf event that was opened for a task (perf record -p), and not one
 * that was inherited. A *target* is a task for which an event has roots. An address
 * space *wants* an event on behalf of a target if the target, or a task that has
 * inherited a perf event from the target, runs in it. A want lasts until the last root
 * of the target is closed, or the address space ends: the bits of the event there may be
 * 1 for longer than is needed, but are never 0 too early.
 *
 * The wants of an address space are looked for once, in one of its tasks: when it is
 * attached, or when a forked child with @inherited_stale first runs. One reason for
 * @inherited_stale is that the parent had wants. From then on only a new root can add one,
 * because all further tasks of the address space are cloned from its tasks.
 *
 * ue_enabler_mutex protects everything here.
 */
#ifndef UE_WANT_H
#define UE_WANT_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/types.h>

struct task_struct;
struct ue_event;
struct ue_mm;

/*
 * How many wants of an address space are looked for. A program may have thousands of
 * events, all of them recorded, and fork in a loop.
 */
#define UE_WANTS_MAX	64

/**
 * struct ue_target - a task for which an event has roots
 * @by_task: node in the hash table of targets by task
 * @by_key: node in the hash table of targets by event and task
 * @event: the event
 * @task: the task, to which each root has a reference
 * @nr_roots: how many
 * @wants: of struct ue_want, by @of_target
 * @found: node in a list of targets, while wants are looked for; else empty
 */
struct ue_target {
	struct hlist_node by_task;
	struct hlist_node by_key;
	struct ue_event *event;
	struct task_struct *task;
	unsigned int nr_roots;
	struct list_head wants;
	struct list_head found;
};

/**
 * struct ue_want - an address space wants an event
 * @ue_mm: the address space
 * @target: on whose behalf
 * @by_key: node in the hash table, by event and @ue_mm
 * @of_target: node in the list of @target
 * @of_mm: node in the list of @ue_mm
 */
struct ue_want {
	struct ue_mm *ue_mm;
	struct ue_target *target;
	struct hlist_node by_key;
	struct list_head of_target;
	struct hlist_node of_mm;
};

/**
 * ue_target_find() - find a target of an event
 * @event: the event
 * @task: the task; not dereferenced
 *
 * Context: ue_enabler_mutex held.
 * Return: the target, or NULL if the event has no root for the task.
 */
struct ue_target *ue_target_find(const struct ue_event *event,
				 const struct task_struct *task);

/**
 * ue_target_insert() - make a task a target
 * @target: allocated by the caller, all zero
 * @event: the event
 * @task: the task, which is no target of @event
 *
 * Context: event_mutex and ue_enabler_mutex held.
 */
void ue_target_insert(struct ue_target *target, struct ue_event *event,
		      struct task_struct *task);

/**
 * ue_target_remove() - undo ue_target_insert()
 * @target: the target; keeps its wants
 *
 * Context: event_mutex and ue_enabler_mutex held.
 */
void ue_target_remove(struct ue_target *target);

/**
 * ue_want_create() - allocate a want that is in no list
 * @gfp: how to allocate
 *
 * Context: depends on @gfp.
 * Return: the want, or NULL if memory is short.
 */
struct ue_want *ue_want_create(gfp_t gfp);

/**
 * ue_want_insert() - let an address space want the event of a target
 * @want: from ue_want_create()
 * @target: the target
 * @ue_mm: the address space, in the table
 *
 * Context: ue_enabler_mutex held.
 */
void ue_want_insert(struct ue_want *want, struct ue_target *target,
		    struct ue_mm *ue_mm);

/**
 * ue_want_free() - free a want, and remove it from all lists
 * @want: the want, or NULL
 *
 * Context: ue_enabler_mutex held, unless the want is in no list.
 */
void ue_want_free(struct ue_want *want);

/**
 * ue_wants_free() - free all wants of an address space
 * @ue_mm: the address space, which has ended
 *
 * Context: ue_enabler_lock() held, which may be released and retaken.
 */
void ue_wants_free(struct ue_mm *ue_mm);

/**
 * ue_target_wanted_by() - find out if a want exists
 * @target: the target
 * @ue_mm: the address space
 *
 * Context: ue_enabler_mutex held.
 * Return: true if the address space wants the event on behalf of the target.
 */
bool ue_target_wanted_by(const struct ue_target *target,
			 const struct ue_mm *ue_mm);

/**
 * ue_mm_has_want() - whether an address space has a want of an event
 * @ue_mm: the address space
 * @event: the event
 *
 * Context: ue_enabler_mutex held.
 * Return: true if it has one, so that the bits are 1.
 */
bool ue_mm_has_want(const struct ue_mm *ue_mm, const struct ue_event *event);

/**
 * ue_mm_wants() - whether an address space wants an event
 * @ue_mm: the address space
 * @event: the event
 *
 * Sets @set_elsewhere of the event if the result is true because of @wants_unknown.
 *
 * Context: ue_enabler_mutex held.
 * Return: true if one of its tasks may be a target, or may have inherited a perf
 * event of the event, or if the event is recorded for one of its scopes.
 */
bool ue_mm_wants(const struct ue_mm *ue_mm, struct ue_event *event);

/**
 * ue_wants_look_for() - look for the wants of the current address space
 * @ue_mm: the current address space, in the table
 * @alone: no task of another program shares the memory
 *
 * If memory is short, if the memory may be shared, or if there are more than
 * UE_WANTS_MAX wants or too many threads and perf events, the address space wants every
 * event that has a target.
 *
 * Context: ue_enabler_mutex held.
 */
void ue_wants_look_for(struct ue_mm *ue_mm, bool alone);

#endif /* UE_WANT_H */
