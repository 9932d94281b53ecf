// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds out if perf may record one of the tasks of the current address space.
 */
#include <linux/mm_types.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "port/compat.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/traced.h"

/* How many threads of a program are looked at. */
#define UE_THREADS_MAX	4096

unsigned int ue_nr_roots;
unsigned int ue_traced_period = 1;

/*
 * Roots that were perhaps not added to their tasks yet, by hw.tp_list, which is for the users of
 * class->reg. perf sets perf_event->ctx when it adds the root.
 */
static LIST_HEAD(ue_new_roots);

/* Return: true if one of the new roots is for a task that uses the memory. */
static bool ue_has_new_root(const struct mm_struct *mm)
{
	struct perf_event *root, *next;
	bool has = false;

	list_for_each_entry_safe(root, next, &ue_new_roots, hw.tp_list) {
		if (READ_ONCE(root->ctx))
			list_del_init(&root->hw.tp_list);
		else if (READ_ONCE(root->hw.target->mm) == mm)
			has = true;
	}
	return has;
}

/*
 * Return: true if a thread of the current program has perf events of any kind. True also if that is
 * not known: there are too many threads, or other processes use the memory.
 */
static bool ue_has_perf_events(const struct mm_struct *mm)
{
	int users = atomic_read(&mm->mm_users), nr = 0, nr_users = 0;
	const struct task_struct *thread;
	bool has = false;

	rcu_read_lock();
	for_each_thread(current, thread) {
		has = ++nr > UE_THREADS_MAX || ue_task_has_perf_events(thread);
		if (has)
			break;
		nr_users += READ_ONCE(thread->mm) == mm;
	}
	rcu_read_unlock();
	/* A thread may have begun or ended meanwhile. */
	return has || nr_users < max(users, atomic_read(&mm->mm_users));
}

void ue_new_root_add(struct perf_event *root)
{
	lockdep_assert_held(&ue_enabler_mutex);
	/* Takes those off the list that were added to their tasks. */
	ue_has_new_root(NULL);
	list_add(&root->hw.tp_list, &ue_new_roots);
}

void ue_mm_look_for_perf(struct ue_mm *ue_mm)
{
	bool traced = false;

	lockdep_assert_held(&ue_enabler_mutex);
	if (ue_nr_roots)
		traced = ue_has_new_root(ue_mm->mm) || ue_has_perf_events(ue_mm->mm);
	WRITE_ONCE(ue_mm->traced_period, traced ? ue_traced_period : 0);
}
