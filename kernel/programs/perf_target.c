// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf events, as they are opened and closed.
 *
 * Inherited perf events are opened and closed in the middle of a fork, and with locks of perf held:
 * these are not looked at. A root is closed after all perf events that were inherited from it.
 */
#include <linux/perf_event.h>
#include <linux/sched/task.h>

#include "events/event.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mute.h"
#include "programs/perf_target.h"
#include "programs/traced.h"
#include "programs/update.h"

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

/*
 * A work item may still have to clear bits of the last period. It could not tell which, if the
 * period ended.
 */
static void ue_root_begin(struct ue_event *event)
{
	if (!ue_nr_roots && !ue_updates_deferred())
		WRITE_ONCE(ue_traced_period, ue_traced_period + 1);
	WRITE_ONCE(ue_nr_roots, ue_nr_roots + 1);
	event->nr_roots++;
	event->scopes |= UE_SCOPE_TRACED;
}

/* The bits are written although the address space may be traced: perhaps for another event. */
static void ue_open_root(struct ue_event *event, struct perf_event *root)
{
	struct ue_update update;
	struct ue_mm *ue_mm;

	ue_update_begin(&update);
	ue_root_begin(event);
	ue_new_root_add(root);
	ue_mm = ue_mm_of_task(root->hw.target);
	if (ue_mm) {
		WRITE_ONCE(ue_mm->traced_period, ue_traced_period);
		/* The program is recorded without a limit from now on. */
		ue_mute_free(ue_mute_find(ue_mm, event));
		ue_update_mm(&update, event, ue_mm);
	}
	ue_update_end(&update);
}

static void ue_close_root(struct ue_event *event, struct perf_event *root)
{
	struct ue_update update;

	ue_update_begin(&update);
	list_del(&root->hw.tp_list);
	WRITE_ONCE(ue_nr_roots, ue_nr_roots - 1);
	ue_update_end_with_scopes(&update, event, --event->nr_roots ? event->scopes :
				  event->scopes & ~UE_SCOPE_TRACED);
}

/* Only the first and the last perf event that records all tasks change the bits. */
static void ue_count_all(struct ue_event *event, int change)
{
	const bool had = event->nr_perf_all;

	WRITE_ONCE(event->nr_perf_all, event->nr_perf_all + change);
	if (had != !!event->nr_perf_all)
		ue_update_event(event);
}

void ue_perf_open(struct ue_event *event, struct perf_event *perf_event)
{
	lockdep_assert_held(ue_event_mutex);
	if (perf_event->parent)
		return;
	if (perf_event->hw.target)
		ue_open_root(event, perf_event);
	else
		ue_count_all(event, 1);
}

void ue_perf_close(struct ue_event *event, struct perf_event *perf_event)
{
	lockdep_assert_held(ue_event_mutex);
	if (perf_event->parent)
		return;
	if (perf_event->hw.target)
		ue_close_root(event, perf_event);
	else
		ue_count_all(event, -1);
}
