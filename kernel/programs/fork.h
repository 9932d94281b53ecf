/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A forked child inherits the registrations of its parent.
 */
#ifndef UE_FORK_H
#define UE_FORK_H

struct mm_struct;
struct ue_mm;

/**
 * ue_fork_copy() - attach a copy of an address space, with the same set
 * @from: the parent's address space
 * @to: the child's address space, which no task uses yet
 *
 * The child inherits nothing if the parent has no enablers, or memory is short.
 *
 * Context: before the memory is copied, with the mmap_lock of @from held for
 * writing; does not sleep, except in a spinlock on PREEMPT_RT.
 */
void ue_fork_copy(struct mm_struct *from, struct mm_struct *to);

/**
 * ue_fork_leave_copy() - leave a copy for ue_fork_child() to attach
 * @from: the parent's address space
 * @to: the child's address space, which no task uses yet
 *
 * Instead of ue_fork_copy(), where neither memory nor a spinlock can be taken.
 * If this happens to more than 64 forks at the same time, further children inherit nothing.
 *
 * Context: before the memory is copied; any.
 */
void ue_fork_leave_copy(struct mm_struct *from, struct mm_struct *to);

/**
 * ue_fork_child() - find the ue_mm of a child that is about to run
 * @from: the parent's address space
 * @to: the child's address space, a copy of the parent's
 *
 * If ue_fork_leave_copy() was called instead of ue_fork_copy(), the child inherits the set that
 * the parent has now, with a warning for the first one.
 *
 * Context: does not sleep, except in a spinlock on PREEMPT_RT.
 * Return: the ue_mm, for ue_fork_first_run(), or NULL if the child inherits
 * nothing.
 */
struct ue_mm *ue_fork_child(struct mm_struct *from, struct mm_struct *to);

/**
 * ue_fork_first_run() - make the bits of a child follow their events
 * @ue_mm: from ue_fork_child(), of the current address space
 *
 * Updates the bits if they may be stale in the copy.
 *
 * Context: before the child runs in user space; may sleep, see ue_mm_access().
 */
void ue_fork_first_run(struct ue_mm *ue_mm);

/**
 * ue_fork_init() - begin to track forks
 *
 * Return: 0; -ENOENT if the kernel lacks the tracepoint sched_process_fork; an
 * error of ue_kernel_hook_add(); -ENOMEM.
 */
int ue_fork_init(void);

/**
 * ue_fork_exit() - stop tracking forks
 *
 * Context: at unload; may sleep. A child that has not run yet would have kept
 * the module loaded, through its set.
 */
void ue_fork_exit(void);

#endif /* UE_FORK_H */
