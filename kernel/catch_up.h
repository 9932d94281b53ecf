/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whoever enables or disables an event finds the bits written when his system
 * call returns, those included that need a worker.
 */
#ifndef UE_CATCH_UP_H
#define UE_CATCH_UP_H

struct ue_process;

/**
 * ue_catch_up_expect() - an address space is behind, and being worked on
 * @process: the address space
 *
 * It is waited for, unless that was in vain lately.
 *
 * Context: ue_enabler_mutex held.
 */
void ue_catch_up_expect(struct ue_process *process);

/**
 * ue_catch_up_done() - it is not behind any more, or gone
 * @process: the address space, expected or not
 *
 * Context: ue_enabler_mutex held.
 */
void ue_catch_up_done(struct ue_process *process);

/**
 * ue_catch_up_on_return() - have the current task wait for those expected
 *
 * It waits just before it returns to user space, with no lock held: a moment
 * at the most, and for an address space that takes longer only now and then.
 * Without memory it does not wait.
 *
 * Context: may sleep; a system call, else nothing is done. The module is in
 * use.
 */
void ue_catch_up_on_return(void);

#endif /* UE_CATCH_UP_H */
