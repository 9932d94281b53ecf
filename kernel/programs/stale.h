/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stale address spaces: some of their enable bits could not be written at once. Each of their
 * tasks gets a task_work, and the first one that is about to return to user space writes the bits,
 * with page faults, as itself.
 */
#ifndef UE_STALE_H
#define UE_STALE_H

struct task_struct;
struct ue_mm;

/**
 * ue_mm_set_stale() - let the tasks of an address space write its bits
 * @ue_mm: the address space, which is attached and whose set has enablers. The caller does not
 *	hold its memory.
 *
 * A sleeping task is not woken: it writes the bits when it next returns to user space.
 *
 * Context: ue_enabler_mutex held; does not sleep.
 * Return: how much work that was: the number of threads that were looked at.
 */
unsigned int ue_mm_set_stale(struct ue_mm *ue_mm);

/**
 * ue_mm_set_fresh() - an address space is not stale, or has ended
 * @ue_mm: the address space, stale or not
 *
 * Context: ue_enabler_mutex held.
 */
void ue_mm_set_fresh(struct ue_mm *ue_mm);

/**
 * ue_mm_refresh() - write the bits of the current address space if it is stale
 * @ue_mm: the current address space
 *
 * If memory is short, the address space stays stale, and the task gets another task_work soon.
 *
 * Context: may sleep, see ue_mm_access(); no lock held.
 */
void ue_mm_refresh(struct ue_mm *ue_mm);

/**
 * ue_stale_begin_task() - a task begins to share the memory of the current task
 * @task: the task, which has not run
 *
 * Context: after other tasks can find @task; does not sleep, except in a spinlock on PREEMPT_RT.
 */
void ue_stale_begin_task(struct task_struct *task);

/**
 * ue_stale_exit() - take the task_works back, or wait until they have ended
 *
 * Context: at unload; may sleep. There are no registrations, and forks are not tracked any more.
 */
void ue_stale_exit(void);

#endif /* UE_STALE_H */
