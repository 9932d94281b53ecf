// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf events, as they are opened and closed.
 *
 * Inherited perf events are opened and closed in the middle of a fork, and with locks
 * of perf held: these are not looked at. A root is closed after all perf events that
 * were inherited from it.
 */
#include <linux/perf_event.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "events/event.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mute.h"
#include "programs/perf_target.h"
#include "programs/update.h"
#include "programs/want.h"

/*
 * The address space of a task, if it is attached. It stays as long as the mutex is
 * held, because its end waits for the mutex.
 */
static struct ue_mm *ue_mm_of_task(struct task_struct *task)
{
	struct ue_mm *ue_mm = NULL;

	lockdep_assert_held(&ue_enabler_mutex);
	task_lock(task);
	if (task->mm && !(task->flags & PF_KTHREAD))
		ue_mm = ue_mm_find(task->mm);
	task_unlock(task);
	return ue_mm;
}

/**
 * struct ue_opening - a root that is being opened
 * @update: the update of the bits
 * @event: what it records
 * @task: the task
 * @target: to be used if the event has none for the task; NULL once used
 * @want: to be used if the address space has none; NULL once used
 */
struct ue_opening {
	struct ue_update update;
	struct ue_event *event;
	struct task_struct *task;
	struct ue_target *target;
	struct ue_want *want;
};

static struct ue_target *ue_target_get(struct ue_opening *opening)
{
	struct ue_target *target = ue_target_find(opening->event, opening->task);

	if (!target) {
		swap(target, opening->target);
		ue_target_insert(target, opening->event, opening->task);
	}
	target->nr_roots++;
	return target;
}

/*
 * The bits are 1 already if the address space is known to want the event for another target. If
 * its wants are not known, the bits may have been written as 0 before there was a target, and are
 * written again.
 */
static void ue_want_begin(struct ue_opening *opening, struct ue_target *target,
			  struct ue_mm *ue_mm)
{
	const bool wanted = ue_mm_has_want(ue_mm, opening->event);

	if (!ue_target_wanted_by(target, ue_mm)) {
		ue_want_insert(opening->want, target, ue_mm);
		opening->want = NULL;
	}
	/* The program is recorded without a limit from now on. */
	ue_mute_free(ue_mute_find(ue_mm, opening->event));
	if (!wanted)
		ue_update_mm(&opening->update, opening->event, ue_mm);
}

static void ue_open_root(struct ue_opening *opening)
{
	struct ue_target *target;
	struct ue_mm *ue_mm;

	ue_update_begin(&opening->update);
	target = ue_target_get(opening);
	ue_mm = ue_mm_of_task(opening->task);
	if (ue_mm)
		ue_want_begin(opening, target, ue_mm);
	ue_update_end(&opening->update);
}

static int ue_open_task(struct ue_event *event, struct task_struct *task)
{
	struct ue_opening opening = {
		.event = event,
		.task = task,
		.target = kzalloc(sizeof(*opening.target), GFP_KERNEL_ACCOUNT),
		.want = ue_want_create(GFP_KERNEL_ACCOUNT),
	};
	int err = -ENOMEM;

	if (opening.target && opening.want) {
		ue_open_root(&opening);
		err = 0;
	}
	kfree(opening.target);
	ue_want_free(opening.want);
	return err;
}

/* Only the first and the last perf event that records all tasks change the bits. */
static void ue_count_all(struct ue_event *event, int change)
{
	const bool had = event->nr_perf_all;

	WRITE_ONCE(event->nr_perf_all, event->nr_perf_all + change);
	if (had != !!event->nr_perf_all)
		ue_update_event(event);
}

int ue_perf_open(struct ue_event *event, struct perf_event *perf_event)
{
	lockdep_assert_held(ue_event_mutex);
	if (perf_event->parent)
		return 0;
	if (perf_event->hw.target)
		return ue_open_task(event, perf_event->hw.target);
	ue_count_all(event, 1);
	return 0;
}

/* Ends the wants of a target, and lets other tasks run now and then. */
static void ue_target_end(struct ue_update *update, struct ue_target *target)
{
	struct ue_want *want;

	ue_target_remove(target);
	while ((want = list_first_entry_or_null(&target->wants, struct ue_want,
						of_target))) {
		struct ue_mm *ue_mm = want->ue_mm;

		ue_want_free(want);
		if (!ue_mm_wants(ue_mm, target->event))
			ue_update_mm(update, target->event, ue_mm);
		ue_update_yield(update);
	}
	kfree(target);
}

/* Return: true if bits of address spaces without wants are to be updated. */
static bool ue_close_root(struct ue_update *update, struct ue_event *event,
			  const struct task_struct *task)
{
	struct ue_target *target = ue_target_find(event, task);
	bool elsewhere;

	if (WARN_ON_ONCE(!target) || --target->nr_roots)
		return false;
	ue_target_end(update, target);
	if (event->nr_targets)
		return false;
	elsewhere = event->set_elsewhere;
	event->set_elsewhere = false;
	return elsewhere;
}

static void ue_close_task(struct ue_event *event, const struct task_struct *task)
{
	struct ue_update update;
	bool elsewhere;

	ue_update_begin(&update);
	elsewhere = ue_close_root(&update, event, task);
	ue_update_end(&update);
	if (elsewhere)
		ue_update_event(event);
}

void ue_perf_close(struct ue_event *event, struct perf_event *perf_event)
{
	lockdep_assert_held(ue_event_mutex);
	if (perf_event->parent)
		return;
	if (perf_event->hw.target)
		ue_close_task(event, perf_event->hw.target);
	else
		ue_count_all(event, -1);
}
