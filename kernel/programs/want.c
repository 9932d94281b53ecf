// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds and keeps the wants of address spaces.
 *
 * The kernel exchanges the inherited perf events of a task with those of another task
 * that has equal ones. So the task of an inherited perf event says nothing. What counts
 * is which perf events a task has, and from which roots they are.
 */
#include <linux/hashtable.h>
#include <linux/mm_types.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "events/event.h"
#include "port/compat.h"
#include "port/debug_counter.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/want.h"

/* By task, and by event and task. */
static DEFINE_HASHTABLE(ue_targets_of_task, 12);
static DEFINE_HASHTABLE(ue_targets, 10);

/* By event and address space. */
static DEFINE_HASHTABLE(ue_wants, 12);

/* How many targets all events have. */
static unsigned int ue_nr_targets;

static unsigned long ue_target_key(const struct ue_event *event,
				   const struct task_struct *task)
{
	return (unsigned long)event ^ (unsigned long)task;
}

struct ue_target *ue_target_find(const struct ue_event *event,
				 const struct task_struct *task)
{
	struct ue_target *target;

	lockdep_assert_held(&ue_enabler_mutex);
	hash_for_each_possible(ue_targets, target, by_key,
			       ue_target_key(event, task)) {
		if (target->task == task && target->event == event)
			return target;
	}
	return NULL;
}

void ue_target_insert(struct ue_target *target, struct ue_event *event,
		      struct task_struct *task)
{
	lockdep_assert_held(&ue_enabler_mutex);
	target->event = event;
	target->task = task;
	INIT_LIST_HEAD(&target->wants);
	INIT_LIST_HEAD(&target->found);
	hash_add(ue_targets_of_task, &target->by_task, (unsigned long)task);
	hash_add(ue_targets, &target->by_key, ue_target_key(event, task));
	event->nr_targets++;
	ue_nr_targets++;
	ue_debug_count(UE_COUNT_TARGETS, 1);
}

void ue_target_remove(struct ue_target *target)
{
	lockdep_assert_held(&ue_enabler_mutex);
	hash_del(&target->by_task);
	hash_del(&target->by_key);
	target->event->nr_targets--;
	ue_nr_targets--;
	ue_debug_count(UE_COUNT_TARGETS, -1);
}

static unsigned long ue_want_key(const struct ue_event *event,
				 const struct ue_mm *ue_mm)
{
	return (unsigned long)event ^ (unsigned long)ue_mm;
}

struct ue_want *ue_want_create(gfp_t gfp)
{
	struct ue_want *want = kzalloc(sizeof(*want), gfp);

	if (want)
		ue_debug_count(UE_COUNT_WANTS, 1);
	return want;
}

void ue_want_insert(struct ue_want *want, struct ue_target *target,
		    struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	want->ue_mm = ue_mm;
	want->target = target;
	hash_add(ue_wants, &want->by_key, ue_want_key(target->event, ue_mm));
	list_add(&want->of_target, &target->wants);
	hlist_add_head(&want->of_mm, &ue_mm->wants);
}

void ue_want_free(struct ue_want *want)
{
	if (!want)
		return;
	if (want->target) {
		hash_del(&want->by_key);
		list_del(&want->of_target);
		hlist_del(&want->of_mm);
	}
	ue_debug_count(UE_COUNT_WANTS, -1);
	kfree(want);
}

void ue_wants_free(struct ue_mm *ue_mm)
{
	unsigned int nr = 0;

	lockdep_assert_held(&ue_enabler_mutex);
	while (!hlist_empty(&ue_mm->wants)) {
		ue_want_free(hlist_entry(ue_mm->wants.first, struct ue_want,
					 of_mm));
		ue_enabler_yield(++nr);
	}
}

/* @target: NULL for any target of the event. */
static bool ue_want_exists(const struct ue_event *event,
			   const struct ue_mm *ue_mm,
			   const struct ue_target *target)
{
	const struct ue_want *want;

	lockdep_assert_held(&ue_enabler_mutex);
	hash_for_each_possible(ue_wants, want, by_key, ue_want_key(event, ue_mm)) {
		if (want->ue_mm == ue_mm && want->target->event == event &&
		    (!target || want->target == target))
			return true;
	}
	return false;
}

bool ue_target_wanted_by(const struct ue_target *target,
			 const struct ue_mm *ue_mm)
{
	return ue_want_exists(target->event, ue_mm, target);
}

bool ue_mm_has_want(const struct ue_mm *ue_mm, const struct ue_event *event)
{
	return ue_want_exists(event, ue_mm, NULL);
}

bool ue_mm_wants(const struct ue_mm *ue_mm, struct ue_event *event)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (ue_mm->scopes & event->scopes)
		return true;
	if (!event->nr_targets)
		return false;
	if (ue_mm->wants_unknown) {
		event->set_elsewhere = true;
		return true;
	}
	return ue_mm_has_want(ue_mm, event);
}

/*
 * How many threads and perf events of a program are looked at, whatever they record. Other
 * tasks wait for the mutex meanwhile.
 */
#define UE_SEEN_MAX	4096

/**
 * struct ue_found - targets that were found
 * @targets: by @found of struct ue_target
 * @nr: how many
 * @nr_seen: how many threads and perf events were looked at
 */
struct ue_found {
	struct list_head targets;
	unsigned int nr;
	unsigned int nr_seen;
};

/* Return: true if the search ends, since it takes too long. */
static bool ue_found_too_many(const struct ue_found *found)
{
	return found->nr > UE_WANTS_MAX || found->nr_seen > UE_SEEN_MAX;
}

static void ue_add_found(struct ue_target *target, struct ue_found *found)
{
	if (!target || !list_empty(&target->found))
		return;
	list_add(&target->found, &found->targets);
	found->nr++;
}

/*
 * Finds the targets to which the perf events of a context belong. The kernel may give
 * the task another context at any time, unless the lock of the present one is held. A
 * context is freed an RCU grace period after its end.
 */
static void ue_find_in_context(struct perf_event_context __rcu **slot,
			       struct ue_found *found)
{
	const struct perf_event *perf_event;
	struct perf_event_context *context;
	unsigned long flags;

	for (;;) {
		context = rcu_dereference(*slot);
		if (!context)
			return;
		raw_spin_lock_irqsave(&context->lock, flags);
		if (context == rcu_access_pointer(*slot))
			break;
		raw_spin_unlock_irqrestore(&context->lock, flags);
	}
	list_for_each_entry(perf_event, &context->event_list, event_entry) {
		const struct ue_event *event =
			ue_event_of_call(perf_event->tp_event);

		/* An inherited perf event holds a reference to its root. */
		if (event)
			ue_add_found(ue_target_find(event, (perf_event->parent ?:
							    perf_event)->hw.target),
				     found);
		found->nr_seen++;
		if (ue_found_too_many(found))
			break;
	}
	raw_spin_unlock_irqrestore(&context->lock, flags);
}

/* A new root is not in the context of its task yet. */
static void ue_find_roots(const struct task_struct *task, struct ue_found *found)
{
	struct ue_target *target;

	hash_for_each_possible(ue_targets_of_task, target, by_task,
			       (unsigned long)task) {
		found->nr_seen++;
		if (target->task == task)
			ue_add_found(target, found);
		if (ue_found_too_many(found))
			break;
	}
}

/* Return: how many threads of the current program use its memory. */
static int ue_find_targets(struct ue_found *found)
{
	struct task_struct *thread;
	int nr = 0;

	rcu_read_lock();
	for_each_thread(current, thread) {
		nr += READ_ONCE(thread->mm) == current->mm;
		ue_find_roots(thread, found);
		for (int i = 0; i < UE_PERF_CONTEXTS; i++)
			ue_find_in_context(ue_perf_context(thread, i), found);
		found->nr_seen++;
		if (ue_found_too_many(found))
			break;
	}
	rcu_read_unlock();
	return nr;
}

static void ue_want_add(struct ue_mm *ue_mm, struct ue_target *target)
{
	struct ue_want *want = ue_want_create(GFP_NOWAIT | __GFP_ACCOUNT |
					      __GFP_NOWARN);

	if (want)
		ue_want_insert(want, target, ue_mm);
	else
		WRITE_ONCE(ue_mm->wants_unknown, true);
}

void ue_wants_look_for(struct ue_mm *ue_mm, bool alone)
{
	int users = atomic_read(&ue_mm->mm->mm_users), threads;
	struct ue_found found = {
		.targets = LIST_HEAD_INIT(found.targets)
	};
	struct ue_target *target, *next;

	lockdep_assert_held(&ue_enabler_mutex);
	if (!ue_nr_targets)
		return;
	threads = ue_find_targets(&found);
	/* A thread may have begun or ended meanwhile. */
	users = max(users, atomic_read(&ue_mm->mm->mm_users));
	if ((users > threads && !alone) || ue_found_too_many(&found))
		WRITE_ONCE(ue_mm->wants_unknown, true);
	list_for_each_entry_safe(target, next, &found.targets, found) {
		list_del_init(&target->found);
		if (!ue_found_too_many(&found) &&
		    !ue_target_wanted_by(target, ue_mm))
			ue_want_add(ue_mm, target);
	}
}
