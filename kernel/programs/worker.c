// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers, which update the enable bits of one address space each.
 *
 * A program can block its own worker for as long as it likes. So the slots are
 * divided into pools, and the programs of a user in one group of events occupy only
 * the slots of one pool. Other address spaces of that pool wait until a slot is free. A worker
 * that is blocked while others wait is interrupted and continues later. A
 * worker is also interrupted when the program has exited, because the worker
 * holds the program's memory.
 */
#include <linux/cred.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "port/compat.h"
#include "port/debug_counter.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/user.h"
#include "programs/worker.h"

/* Of each pool. */
#define UE_SLOTS_EACH		4

/*
 * How long a worker sleeps after it has written some bits: programs with very many
 * bits must not keep processors and ue_enabler_mutex busy. The workers of a pool
 * take turns, so that four of them do not write four times as much.
 */
#define UE_WORKER_PAUSE		(2 * NSEC_PER_MSEC)

/* How often to look for workers that are to be interrupted. */
#define UE_CHECK_INTERVAL	msecs_to_jiffies(50)

/*
 * How long a worker may run without sleeping. Workers sleep now and then, but
 * before 6.15, pinning a page does not end if the program closes its userfaultfd
 * at the same time, unless the task is killed.
 */
#define UE_RUN_MAX		((unsigned long)HZ)

/*
 * How long a worker may keep its slot while others wait, even if it sleeps now and
 * then. The pass continues in a later turn.
 */
#define UE_TURN_MAX		msecs_to_jiffies(200)

/* How long to wait for memory at first; doubled each time, up to the maximum. */
#define UE_MEMORY_WAIT		msecs_to_jiffies(10)
#define UE_MEMORY_WAIT_MAX	((unsigned long)HZ)

static struct workqueue_struct *ue_workqueue;

struct ue_pool;

/**
 * struct ue_slot - one of the work items
 * @work: updates the enable bits of @ue_mm
 * @pool: the pool that the slot belongs to
 * @ue_mm: the address space; NULL if the slot is free
 * @task: the task that runs the work item and may be sent SIGKILL; else NULL
 * @switches: voluntary context switches of @task at the last check
 * @since: when a check found the present value of @switches, in jiffies
 * @begun: when the worker got the slot, in jiffies
 * @turn_over: the slot is left to others although the program does not block
 *	the worker
 */
struct ue_slot {
	struct work_struct work;
	struct ue_pool *pool;
	struct ue_mm *ue_mm;
	struct task_struct *task;
	unsigned long switches;
	unsigned long since;
	unsigned long begun;
	bool turn_over;
};

/**
 * struct ue_pool - the slots of a share of the users
 * @slots: the slots
 * @waiting: the address spaces that wait for a slot, by @waiting of the ue_mm
 * @interrupted: the address spaces whose worker was interrupted; their turn is
 *	after that of those in @waiting
 * @paused_until: when the last worker that sleeps in ue_worker_pause() goes on
 */
struct ue_pool {
	struct ue_slot slots[UE_SLOTS_EACH];
	struct list_head waiting;
	struct list_head interrupted;
	ktime_t paused_until;
};

/* Protected by ue_enabler_mutex. */
static struct ue_pool ue_pools[UE_NR_SHARES];

static bool ue_slot_is_wanted(const struct ue_slot *slot)
{
	return !list_empty(&slot->pool->waiting) ||
	       !list_empty(&slot->pool->interrupted);
}

/*
 * Return: false if an event has changed since the last pass began. If others wait,
 * the next pass waits for a slot again.
 */
static bool ue_worker_try_finish(struct ue_slot *slot)
{
	struct ue_mm *ue_mm = slot->ue_mm;
	bool done;

	mutex_lock(&ue_enabler_mutex);
	done = !ue_mm->update_again;
	ue_mm->update_again = false;
	slot->turn_over = !done && ue_slot_is_wanted(slot);
	if (done) {
		/* After the bits are written. Pairs with ue_reference_set(). */
		smp_store_release(&ue_mm->update_pending, false);
		ue_update_wait_end(&ue_mm->wait);
	}
	mutex_unlock(&ue_enabler_mutex);
	return done;
}

/* Return: false if the program has exited. */
static bool ue_worker_hold_mm(struct ue_mm *ue_mm)
{
	bool held;

	mutex_lock(&ue_enabler_mutex);
	held = mmget_not_zero(ue_mm->mm);
	ue_mm->worker_holds_mm = held;
	mutex_unlock(&ue_enabler_mutex);
	return held;
}

static void ue_worker_release_mm(struct ue_mm *ue_mm)
{
	mutex_lock(&ue_enabler_mutex);
	ue_mm->worker_holds_mm = false;
	/* Not mmput(): the end of an address space takes the mutex. */
	mmput_async(ue_mm->mm);
	mutex_unlock(&ue_enabler_mutex);
}

/*
 * Sleeps until 2 ms after the time at which the last other sleeping worker of the pool
 * goes on, that is, for up to 8 ms, or until SIGKILL. Other tasks can run in the meantime.
 */
static void ue_worker_pause(struct ue_slot *slot)
{
	ktime_t until;

	mutex_lock(&ue_enabler_mutex);
	ue_update_wait_progress(&slot->ue_mm->wait);
	until = max(ktime_get(), slot->pool->paused_until) + UE_WORKER_PAUSE;
	slot->pool->paused_until = until;
	mutex_unlock(&ue_enabler_mutex);
	set_current_state(TASK_KILLABLE);
	schedule_hrtimeout_range(&until, UE_WORKER_PAUSE / 4, HRTIMER_MODE_ABS);
}

/* Return: 0; -ENOMEM; -EINTR: see ue_mm_update(). */
static int ue_worker_update(struct ue_slot *slot)
{
	struct ue_mm *ue_mm = slot->ue_mm;
	int err;

	while ((err = ue_mm_update(ue_mm, &ue_mm->position)) == -EAGAIN)
		ue_worker_pause(slot);
	return err;
}

/* Return: the credentials of the program, with a reference, or NULL. */
static const struct cred *ue_program_cred(struct mm_struct *mm)
{
	const struct cred *cred = NULL;
	const struct task_struct *owner;

	rcu_read_lock();
	owner = ue_mm_owner(mm);
	if (owner)
		cred = get_cred_rcu(__task_cred(owner));
	rcu_read_unlock();
	return cred;
}

/*
 * Page faults count for the program: its memory cgroup is charged, a file system sees
 * its user, and root's reserves and exemptions from quotas are not used.
 */
static int ue_worker_update_charged(struct ue_slot *slot)
{
	struct mm_struct *mm = slot->ue_mm->mm;
	const struct cred *cred = ue_program_cred(mm), *old_cred;
	struct mem_cgroup *group, *old;
	int err;

	if (cred)
		old_cred = override_creds(cred);
	group = get_mem_cgroup_from_mm(mm);
	old = set_active_memcg(group);
	err = ue_worker_update(slot);
	set_active_memcg(old);
	mem_cgroup_put(group);
	if (cred) {
		revert_creds(old_cred);
		put_cred(cred);
	}
	return err;
}

/*
 * Waits for the program of the slot, and for no other.
 *
 * Return: true with the update complete; false if the address space is to wait for
 * a slot again.
 */
static bool ue_worker_run(struct ue_slot *slot)
{
	unsigned long wait = UE_MEMORY_WAIT;
	struct ue_mm *ue_mm = slot->ue_mm;
	int err;

	do {
		err = 0;
		if (ue_worker_hold_mm(ue_mm)) {
			err = ue_worker_update_charged(slot);
			ue_worker_release_mm(ue_mm);
			if (fatal_signal_pending(current))
				return false;
		}
		if (err) {
			schedule_timeout_interruptible(wait);
			wait = min(2 * wait, UE_MEMORY_WAIT_MAX);
		}
		if (!err && ue_worker_try_finish(slot))
			return true;
	} while (!READ_ONCE(slot->turn_over));
	return false;
}

/* Gives a free slot to the address space that is next, if there is one. */
static void ue_slot_fill(struct ue_slot *slot)
{
	struct ue_pool *pool = slot->pool;
	struct list_head *list = &pool->waiting;

	lockdep_assert_held(&ue_enabler_mutex);
	if (list_empty(list))
		list = &pool->interrupted;
	slot->ue_mm = list_first_entry_or_null(list, struct ue_mm, waiting);
	if (!slot->ue_mm)
		return;
	list_del_init(&slot->ue_mm->waiting);
	queue_work(ue_workqueue, &slot->work);
}

static void ue_slot_begin(struct ue_slot *slot)
{
	/* Only ue_check_slots() sends this signal. */
	allow_kernel_signal(SIGKILL);
	mutex_lock(&ue_enabler_mutex);
	slot->task = current;
	slot->switches = current->nvcsw;
	slot->since = jiffies;
	slot->begun = jiffies;
	slot->turn_over = false;
	mutex_unlock(&ue_enabler_mutex);
}

/* Return: the address space, if its update is complete; else NULL. */
static struct ue_mm *ue_slot_end(struct ue_slot *slot, bool complete)
{
	struct ue_mm *ue_mm = slot->ue_mm;

	lockdep_assert_held(&ue_enabler_mutex);
	slot->task = NULL;
	/* Discards a signal that has arrived too late. */
	disallow_signal(SIGKILL);
	/* Without a set, the address space has ended. */
	if (complete || !ue_mm->set)
		return ue_mm;
	/*
	 * If the program has exited, there is nothing to write. So the address
	 * space does not wait behind those whose workers were blocked.
	 */
	list_add_tail(&ue_mm->waiting,
		      atomic_read(&ue_mm->mm->mm_users) && !slot->turn_over ?
		      &slot->pool->interrupted : &slot->pool->waiting);
	return NULL;
}

static void ue_slot_work(struct work_struct *work)
{
	struct ue_slot *slot = container_of(work, struct ue_slot, work);
	struct ue_mm *ue_mm;
	bool complete;

	ue_slot_begin(slot);
	complete = ue_worker_run(slot);

	mutex_lock(&ue_enabler_mutex);
	ue_mm = ue_slot_end(slot, complete);
	ue_slot_fill(slot);
	mutex_unlock(&ue_enabler_mutex);
	if (!ue_mm)
		return;
	ue_debug_count(UE_COUNT_WORKERS, -1);
	ue_mm_put(ue_mm);
	/* At unload, destroy_workqueue() waits for the rest of this function. */
	module_put(THIS_MODULE);
}

/* Return: for how long the task has slept, or run without sleeping; jiffies. */
static unsigned long ue_slot_unchanged(struct ue_slot *slot)
{
	const unsigned long switches = READ_ONCE(slot->task->nvcsw);

	if (slot->switches != switches) {
		slot->switches = switches;
		slot->since = jiffies;
	}
	return jiffies - slot->since;
}

static bool ue_slot_must_end(struct ue_slot *slot)
{
	const unsigned long unchanged = ue_slot_unchanged(slot);

	if (ue_mm_has_exited(slot->ue_mm))
		return true;
	if (task_is_running(slot->task) && unchanged >= UE_RUN_MAX)
		return true;
	if (!ue_slot_is_wanted(slot))
		return false;
	if (!task_is_running(slot->task) && unchanged >= UE_CHECK_INTERVAL)
		return true;
	slot->turn_over = jiffies - slot->begun >= UE_TURN_MAX;
	return slot->turn_over;
}

/* Interrupts the worker if it holds memory, or the slot, for no good reason. */
static void ue_slot_check(struct ue_slot *slot)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (slot->task && ue_slot_must_end(slot))
		send_sig(SIGKILL, slot->task, 1);
}

static void ue_check_slots(struct work_struct *work)
{
	bool busy = false;

	mutex_lock(&ue_enabler_mutex);
	for (int pool = 0; pool < UE_NR_SHARES; pool++) {
		for (int i = 0; i < UE_SLOTS_EACH; i++) {
			struct ue_slot *slot = &ue_pools[pool].slots[i];

			ue_slot_check(slot);
			busy |= !!slot->ue_mm;
		}
	}
	if (busy)
		schedule_delayed_work(to_delayed_work(work),
				      UE_CHECK_INTERVAL);
	mutex_unlock(&ue_enabler_mutex);
}

static DECLARE_DELAYED_WORK(ue_check_slots_work, ue_check_slots);

static struct ue_pool *ue_pool_of(const struct ue_mm *ue_mm)
{
	const struct ue_account *account = ue_mm->set->accounts;
	const struct task_struct *owner;
	unsigned int share;

	rcu_read_lock();
	owner = ue_mm_owner(ue_mm->mm);
	share = ue_share_of_cred(owner ? __task_cred(owner) : NULL,
				 account ? account->user->users :
					   &ue_default_users);
	rcu_read_unlock();
	return &ue_pools[share];
}

void ue_worker_start(struct ue_mm *ue_mm)
{
	struct ue_pool *pool;

	lockdep_assert_held(&ue_enabler_mutex);
	if (ue_mm->update_pending) {
		ue_mm->update_again = true;
		return;
	}
	/* A forking task reads the flag without the mutex. */
	WRITE_ONCE(ue_mm->update_pending, true);
	ue_debug_count(UE_COUNT_WORKERS, 1);
	ue_update_wait_begin(&ue_mm->wait);
	refcount_inc(&ue_mm->references);
	/*
	 * Dropped by the worker: the program can unregister everything and exit
	 * while its worker waits.
	 */
	__module_get(THIS_MODULE);

	pool = ue_pool_of(ue_mm);
	list_add_tail(&ue_mm->waiting, &pool->waiting);
	for (int i = 0; i < UE_SLOTS_EACH; i++) {
		if (!pool->slots[i].ue_mm) {
			ue_slot_fill(&pool->slots[i]);
			break;
		}
	}
	schedule_delayed_work(&ue_check_slots_work, UE_CHECK_INTERVAL);
}

void ue_worker_cancel(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (list_empty(&ue_mm->waiting))
		return;
	list_del_init(&ue_mm->waiting);
	WRITE_ONCE(ue_mm->update_pending, false);
	ue_debug_count(UE_COUNT_WORKERS, -1);
	ue_mm_put(ue_mm);
	module_put(THIS_MODULE);
}

static void ue_pool_init(struct ue_pool *pool)
{
	INIT_LIST_HEAD(&pool->waiting);
	INIT_LIST_HEAD(&pool->interrupted);
	for (int i = 0; i < UE_SLOTS_EACH; i++) {
		INIT_WORK(&pool->slots[i].work, ue_slot_work);
		pool->slots[i].pool = pool;
	}
}

int ue_workers_init(void)
{
	for (int i = 0; i < UE_NR_SHARES; i++)
		ue_pool_init(&ue_pools[i]);
	/*
	 * Since 6.9, each NUMA node runs only its part of the maximum number of
	 * work items. The maximum is at least 512, so that each of two equal nodes can
	 * run all 256 slots. With more nodes, work items may have to wait.
	 */
	ue_workqueue = alloc_workqueue("user_events", WQ_UNBOUND,
				       WQ_UNBOUND_MAX_ACTIVE);
	return ue_workqueue ? 0 : -ENOMEM;
}

void ue_workers_exit(void)
{
	/* Each worker has dropped its reference to the module; none waits. */
	cancel_delayed_work_sync(&ue_check_slots_work);
	destroy_workqueue(ue_workqueue);
}
