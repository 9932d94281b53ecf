// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers bits of the current address space, and brings memory up to date.
 *
 * A bit is always written with ue_enabler_mutex held, from the state that the
 * event has at that moment; so the last write is the right one, whoever
 * comes last. Faults are taken with nothing held but the mmap_lock.
 */
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "catch_up.h"
#include "enabler.h"
#include "event.h"
#include "kernel_symbols.h"
#include "process.h"
#include "registration.h"
#include "worker.h"

/*
 * How often a page is faulted in before it is given up: it may be taken away
 * again each time before it is written to.
 */
#define UE_FAULTS_MAX	16

/*
 * How many bits of one set are written at once when an event changes, over all
 * address spaces that have the set. The rest is left to their workers: with
 * event_mutex held, everybody waits for what a program has registered without
 * end, and forked.
 */
#define UE_WRITES_AT_ONCE	16384

/* A bit of a process that is being cleared; its pair is taken until then. */
struct ue_clearing {
	struct hlist_node node;
	struct ue_user_bit word;
};

/* The last registration's; 0 is none's. Protected by ue_enabler_mutex. */
static u64 ue_last_id;

/* For what must not fail. */
#define UE_GFP_UNDO	(GFP_KERNEL | __GFP_NOFAIL)

/* The caller holds the memory, and the mmap_lock for reading. */
static int ue_process_write(struct ue_process *process,
			    const struct ue_enabler *enabler)
{
	lockdep_assert_held(&ue_enabler_mutex);
	return ue_user_bit_write(ue_process_mm(process), &enabler->word,
				 ue_event_enabled(enabler->event));
}

/* Return: 0, also when there is no such enabler any more; -EAGAIN. */
static int ue_process_follow(struct ue_process *process,
			     const struct ue_user_bit *word)
{
	struct ue_enabler *enabler = NULL;
	int err = 0;

	mutex_lock(&ue_enabler_mutex);
	if (process->set)
		enabler = ue_enabler_find(process->set, word->address,
					  word->bit);
	if (enabler)
		err = ue_process_write(process, enabler);
	ue_process_changed(process);
	mutex_unlock(&ue_enabler_mutex);
	return err;
}

/* For a bit on the list of those that are being cleared. */
static int ue_process_clear(struct ue_process *process,
			    const struct ue_user_bit *word)
{
	return ue_user_bit_clear(ue_process_mm(process), word);
}

/*
 * Has @write succeed, and waits for the program's memory as long as that
 * takes, or until the current task is killed. The caller holds the memory,
 * and no lock.
 */
static int ue_process_settle(struct ue_process *process,
			     const struct ue_user_bit *word,
			     int (*write)(struct ue_process *process,
					  const struct ue_user_bit *word))
{
	struct mm_struct *mm = ue_process_mm(process);

	for (int faults = 0; faults < UE_FAULTS_MAX; faults++) {
		int err;

		/* A killable wait, which is not reported as a hung task. */
		if (mmap_read_lock_killable(mm))
			return -EINTR;
		err = write(process, word);
		if (err != -EAGAIN) {
			mmap_read_unlock(mm);
			return err;
		}
		/* Gives up the lock. */
		err = ue_user_bit_fault_in(mm, word);
		if (err)
			return err;
	}
	return -EFAULT;
}

/* The enabler that follows @word's address and @bit, copied to @word. */
static bool ue_process_next(struct ue_process *process,
			    struct ue_user_bit *word, int bit)
{
	struct ue_enabler *enabler = NULL;

	mutex_lock(&ue_enabler_mutex);
	if (process->set)
		enabler = ue_enabler_after(process->set, word->address, bit);
	if (enabler)
		*word = enabler->word;
	mutex_unlock(&ue_enabler_mutex);
	return enabler;
}

void ue_registrations_settle(struct ue_process *process)
{
	struct ue_user_bit word = { };
	int bit = -1;

	while (ue_process_next(process, &word, bit)) {
		ue_process_settle(process, &word, ue_process_follow);
		bit = word.bit;
		cond_resched();
	}
}

/*
 * The address space that is being written to, which is held, and locked if that
 * could be had at once; NULL is none. Most have several bits to be written.
 */
struct ue_visit {
	struct mm_struct *mm;
	bool locked;
};

static void ue_visit_end(struct ue_visit *visit)
{
	if (!visit->mm)
		return;
	if (visit->locked)
		mmap_read_unlock(visit->mm);
	mmput_async(visit->mm);
	visit->mm = NULL;
}

/* Return: false when its end is near, and nobody will read the bit. */
static bool ue_visit(struct ue_visit *visit, struct mm_struct *mm)
{
	if (visit->mm == mm)
		return true;
	ue_visit_end(visit);
	if (!mmget_not_zero(mm))
		return false;
	visit->mm = mm;
	visit->locked = mmap_read_trylock(mm);
	return true;
}

/* Writes without waiting; where that can't be, a worker does it. */
static void ue_process_update(struct ue_process *process,
			      const struct ue_enabler *enabler,
			      struct ue_visit *visit)
{
	if (!ue_visit(visit, ue_process_mm(process)))
		return;
	if (!visit->locked || ue_process_write(process, enabler))
		ue_worker_start(process);
	ue_process_changed(process);
}

/* Writes a bit in all address spaces that have it. */
static void ue_set_update(struct ue_enabler_set *set,
			  const struct ue_enabler *enabler,
			  struct ue_visit *visit)
{
	struct ue_process *process;
	bool last;

	/* All have a worker already, which comes to this bit as well. */
	if (!set->writes_left)
		return;
	last = set->writes_left == 1;
	hlist_for_each_entry(process, &set->processes, in_set) {
		if (set->writes_left == 1) {
			ue_worker_start(process);
			ue_process_changed(process);
		} else {
			ue_process_update(process, enabler, visit);
			set->writes_left--;
		}
		if (need_resched())
			cond_resched();
	}
	if (last)
		set->writes_left = 0;
}

void ue_registrations_update(struct ue_event *event)
{
	struct ue_enabler *enabler;
	struct ue_visit visit = { };

	lockdep_assert_held(ue_event_mutex);
	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry(enabler, &event->enablers, of_event)
		enabler->set->writes_left = UE_WRITES_AT_ONCE;
	list_for_each_entry(enabler, &event->enablers, of_event) {
		struct ue_enabler_set *set = enabler->set;

		ue_set_update(set, enabler, &visit);
		/*
		 * A child being forked has the set, and is not on its list. Pairs
		 * with ue_process_share().
		 */
		smp_store_release(&set->changes, set->changes + 1);
		if (need_resched())
			cond_resched();
	}
	ue_visit_end(&visit);
	mutex_unlock(&ue_enabler_mutex);
	ue_catch_up_on_return();
}

static bool ue_is_clearing(const struct ue_process *process,
			   unsigned long address, u8 bit)
{
	const struct ue_clearing *clearing;

	hlist_for_each_entry(clearing, &process->clearing, node) {
		if (clearing->word.address == address &&
		    clearing->word.bit == bit)
			return true;
	}
	return false;
}

bool ue_registered(unsigned long address, u8 bit)
{
	struct ue_process *process;
	bool registered = false;

	mutex_lock(&ue_enabler_mutex);
	process = ue_process_find(current->mm);
	if (process)
		registered = ue_enabler_find(process->set, address, bit) ||
			     ue_is_clearing(process, address, bit);
	mutex_unlock(&ue_enabler_mutex);
	return registered;
}

/* The enabler of a pair; with an @id other than 0, only that registration's. */
static struct ue_enabler *ue_find_registration(struct ue_process *process,
					       unsigned long address, u8 bit,
					       u64 id)
{
	struct ue_enabler *enabler = ue_enabler_find(process->set, address,
						     bit);

	return enabler && id && enabler->id != id ? NULL : enabler;
}

/*
 * Takes the enabler out of its set, and the pair onto the list of those being
 * cleared. Return: the event, of which the caller is now the user.
 */
static struct ue_event *ue_begin_clearing(struct ue_process *process,
					  struct ue_clearing *clearing,
					  unsigned long address, u8 bit, u64 id)
{
	struct ue_enabler_set *set = process->set;
	struct ue_enabler *enabler;
	struct ue_event *event;
	int err;

	/* A copy is not made in vain. */
	if (atomic_read(&set->shares) > 1 &&
	    !ue_find_registration(process, address, bit, id))
		return ERR_PTR(-ENOENT);
	err = ue_process_own_set(process, id ? UE_GFP_UNDO :
					       GFP_KERNEL_ACCOUNT);
	if (err)
		return ERR_PTR(err);
	__acquire(&process->lock);

	/* The set may be another by now, and may lack the pair. */
	set = process->set;
	enabler = ue_find_registration(process, address, bit, id);
	if (enabler) {
		clearing->word = enabler->word;
		hlist_add_head(&clearing->node, &process->clearing);
		event = ue_enabler_erase(enabler);
		if (!set->nr)
			module_put(THIS_MODULE);
	} else {
		event = ERR_PTR(-ENOENT);
	}
	spin_unlock(&process->lock);
	return event;
}

static int ue_end_registration(unsigned long address, u8 bit, u64 id)
{
	struct ue_event *event = ERR_PTR(-ENOENT);
	struct ue_clearing clearing;
	struct ue_process *process;
	int err;

	mutex_lock(&ue_enabler_mutex);
	process = ue_process_find(current->mm);
	if (process)
		event = ue_begin_clearing(process, &clearing, address, bit,
					  id);
	mutex_unlock(&ue_enabler_mutex);
	if (IS_ERR(event))
		return PTR_ERR(event);

	err = ue_process_settle(process, &clearing.word, ue_process_clear);

	mutex_lock(&ue_enabler_mutex);
	hlist_del(&clearing.node);
	mutex_unlock(&ue_enabler_mutex);
	ue_event_put(event);
	return err;
}

int ue_unregister(unsigned long address, u8 bit)
{
	return ue_end_registration(address, bit, 0);
}

void ue_register_undo(const struct ue_user_bit *word, u64 id)
{
	ue_end_registration(word->address, word->bit, id);
}

/* It stays known, as long as the current task has it. */
static struct ue_process *ue_find_current(void)
{
	struct ue_process *process;

	mutex_lock(&ue_enabler_mutex);
	process = ue_process_find(current->mm);
	mutex_unlock(&ue_enabler_mutex);
	return process;
}

static int ue_know_current(void)
{
	struct ue_enabler_set *set;
	int err;

	set = ue_enabler_set_create(GFP_KERNEL_ACCOUNT);
	if (!set)
		return -ENOMEM;
	err = ue_process_know(current->mm, set);
	if (err)
		ue_share_drop(set);
	switch (err) {
	case -EEXIST:
		return 0;
	case -EINTR:
		/* Nothing has been done yet: the signal goes first. */
		return -ERESTARTNOINTR;
	default:
		return err;
	}
}

static int ue_insert(struct ue_process *process, struct list_head *blank,
		     const struct ue_user_bit *word, struct ue_event *event,
		     u64 *id)
{
	struct ue_enabler *enabler = list_first_entry(blank, struct ue_enabler,
						      of_event);
	int err = ue_process_own_set(process, GFP_KERNEL_ACCOUNT);

	if (err)
		return err;
	__acquire(&process->lock);
	if (ue_is_clearing(process, word->address, word->bit)) {
		err = -EADDRINUSE;
	} else {
		list_del(&enabler->of_event);
		*id = ++ue_last_id;
		err = ue_enabler_insert(process->set, enabler, word, event,
					*id);
		if (err)
			list_add(&enabler->of_event, blank);
		else
			atomic_inc(&process->registering);
		if (!err && process->set->nr == 1)
			/* The caller has a file of ours open. */
			__module_get(THIS_MODULE);
	}
	spin_unlock(&process->lock);
	return err;
}

int ue_register(struct ue_event *event, const struct ue_user_bit *word,
		u64 *id)
{
	struct ue_process *process = ue_find_current();
	LIST_HEAD(blank);
	int err = 0;

	if (!process) {
		err = ue_know_current();
		process = ue_find_current();
	}
	if (!err)
		err = ue_enablers_create(&blank, 1, GFP_KERNEL_ACCOUNT);
	if (err)
		return err;

	mutex_lock(&ue_enabler_mutex);
	err = ue_insert(process, &blank, word, event, id);
	mutex_unlock(&ue_enabler_mutex);
	ue_enablers_free(&blank);
	if (err)
		return err;

	err = ue_process_settle(process, word, ue_process_follow);
	if (err)
		ue_register_undo(word, *id);
	/* A fork sees it until then, or the change. Pairs with ue_process_share(). */
	atomic_dec_return_release(&process->registering);
	return err;
}

int ue_registrations_init(void)
{
	int err = ue_processes_init();

	if (err)
		return err;
	err = ue_workers_init(ue_registrations_settle);
	if (err)
		ue_processes_exit();
	return err;
}

void ue_registrations_exit(void)
{
	/* Nothing is started from here on; workers hold address spaces. */
	ue_workers_exit();
	ue_processes_exit();
}
