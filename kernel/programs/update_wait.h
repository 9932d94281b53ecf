/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task that enables or disables an event waits for the workers that update
 * enable bits, so that the bits are normally written when its system call
 * returns.
 */
#ifndef UE_UPDATE_WAIT_H
#define UE_UPDATE_WAIT_H

#include <linux/list.h>
#include <linux/types.h>

/**
 * struct ue_update_wait - a pending update that tasks may wait for
 * @node: node in the list of updates that tasks wait for; empty if tasks do not
 *	wait
 * @since: when the update became pending, the low bits of jiffies
 * @skip_waits: for how many further updates no task waits. Only used in struct ue_mm: a deferred
 *	update (update.c) is freed when it ends.
 *
 * Protected by ue_enabler_mutex.
 */
struct ue_update_wait {
	struct list_head node;
	u32 since;
	u8 skip_waits;
};

/**
 * ue_update_wait_begin() - an update is pending from now on
 * @wait: of an address space, or of a deferred update (update.c)
 *
 * Tasks wait for the update, unless an earlier wait for this address space
 * timed out.
 *
 * Context: ue_enabler_mutex held.
 */
void ue_update_wait_begin(struct ue_update_wait *wait);

/**
 * ue_update_wait_end() - the update is complete, or the address space detached
 * @wait: as for ue_update_wait_begin(), whether or not tasks wait for it
 *
 * Context: ue_enabler_mutex held.
 */
void ue_update_wait_end(struct ue_update_wait *wait);

/**
 * ue_update_wait_progress() - a worker has written some of the bits
 * @wait: of the address space, whether or not tasks wait for it
 *
 * Context: ue_enabler_mutex held.
 */
void ue_update_wait_progress(struct ue_update_wait *wait);

/**
 * ue_update_wait_on_return() - let the current task wait for pending updates
 *
 * The task waits without locks just before it returns to user space. It stops
 * waiting when all updates have ended, when none has made progress within
 * 200 ms, and after one second in any case. After that, tasks do not wait for
 * the next updates of an address space whose update has been pending for 200 ms.
 * If memory is short, the task does not wait.
 *
 * Context: may sleep; in a kernel thread it does nothing. The caller holds a
 * reference to the module.
 */
void ue_update_wait_on_return(void);

#endif /* UE_UPDATE_WAIT_H */
