// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers bits of the current address space, and brings memory up to date.
 *
 * A bit is written with ue_enabler_mutex held, from the state that the event has
 * at that moment; so the last write is the right one, whoever comes last. A
 * registration begins as its bit is first written and ends as that is cleared,
 * with the mutex and the mmap_lock held over both: a fork copies either both or
 * none. Faults are taken with nothing held but the mmap_lock.
 */
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
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

/**
 * struct ue_request - what is to be done with a bit
 * @word: the bit
 * @event: the event to follow, or the one that it has followed; its user is then
 *	the caller
 * @id: of the registration; 0 for whichever has the bit, until that is found
 * @gfp: how to get memory
 * @page: its page, pinned since it was brought in with the mmap_lock held; or NULL
 * @enabler: the one that has been found; or to be put into the set
 */
struct ue_request {
	struct ue_user_bit word;
	struct ue_event *event;
	u64 id;
	gfp_t gfp;
	struct page *page;
	struct ue_enabler *enabler;
};

/* The last registration's; 0 is none's. Protected by ue_enabler_mutex. */
static u64 ue_last_id;

/* For what must not fail. */
#define UE_GFP_UNDO	(GFP_KERNEL_ACCOUNT | __GFP_NOFAIL)

/*
 * Has the program ended, or begun another? Then nobody holds the memory but its
 * worker and so many of us: it is all there still, and some of it may be others'
 * as well, who use it for something else by now. Who holds it for reasons of his
 * own is taken for the program.
 */
static bool ue_process_has_ended(const struct ue_process *process, int holders)
{
	lockdep_assert_held(&ue_enabler_mutex);
	return atomic_read(&ue_process_mm(process)->mm_users) <=
	       process->held + holders;
}

/* The caller holds the memory, and the mmap_lock for reading. */
static int ue_process_write(struct ue_process *process,
			    const struct ue_enabler *enabler,
			    struct page *page)
{
	lockdep_assert_held(&ue_enabler_mutex);
	return ue_user_bit_write(ue_process_mm(process), &enabler->word,
				 ue_event_enabled(enabler->event), page);
}

/* Return: 0, also when there is no such enabler any more; -EAGAIN. */
static int ue_process_follow(struct ue_process *process,
			     struct ue_request *request)
{
	struct ue_enabler *enabler = NULL;
	int err = 0;

	if (process->set)
		enabler = ue_enabler_find(process->set, request->word.address,
					  request->word.bit);
	if (enabler)
		err = ue_process_write(process, enabler, request->page);
	return err;
}

static void ue_request_unpin(struct ue_request *request)
{
	if (request->page)
		unpin_user_page(request->page);
	request->page = NULL;
}

/*
 * Has @write succeed, and waits for the program's memory as long as that
 * takes, or until the current task is killed. The caller holds the memory,
 * and no lock; @write is called with mmap_lock held for reading and with
 * ue_enabler_mutex.
 *
 * Return: 0; what else @write returns; -EFAULT; -ENOMEM; -EINTR; -ESRCH when the
 * program has ended, which is not the current task's then.
 */
static int ue_process_settle(struct ue_process *process,
			     struct ue_request *request,
			     int (*write)(struct ue_process *process,
					  struct ue_request *request))
{
	struct mm_struct *mm = ue_process_mm(process);
	int locked = 0, err = -EAGAIN;

	for (int faults = 0; err == -EAGAIN && faults < UE_FAULTS_MAX; faults++) {
		/* A killable wait, which is not reported as a hung task. */
		if (!locked && mmap_read_lock_killable(mm))
			return -EINTR;
		locked = 1;
		mutex_lock(&ue_enabler_mutex);
		err = ue_process_has_ended(process, 0) ?
			-ESRCH : write(process, request);
		mutex_unlock(&ue_enabler_mutex);
		ue_request_unpin(request);
		if (err != -EAGAIN)
			break;
		/* Most faults keep the lock: then no fork comes in between. */
		err = ue_user_bit_fault_in(mm, &request->word, &locked,
					   &request->page) ?: -EAGAIN;
	}
	ue_request_unpin(request);
	if (locked)
		mmap_read_unlock(mm);
	return err == -EAGAIN ? -EFAULT : err;
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

int ue_registrations_settle(struct ue_process *process)
{
	struct ue_request request = { };
	int bit = -1, err = 0, result;

	while (!fatal_signal_pending(current) &&
	       ue_process_next(process, &request.word, bit)) {
		result = ue_process_settle(process, &request,
					   ue_process_follow);
		if (result == -ESRCH)
			return 0;
		if (result == -ENOMEM)
			err = -ENOMEM;
		bit = request.word.bit;
		cond_resched();
	}
	return err;
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
	if (!ue_visit(visit, ue_process_mm(process)) ||
	    ue_process_has_ended(process, 1))
		return;
	if (!visit->locked || ue_process_write(process, enabler, NULL))
		ue_worker_start(process);
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
	list_for_each_entry(enabler, &event->enablers, of_event) {
		enabler->set->writes_left = UE_WRITES_AT_ONCE;
		if (need_resched())
			cond_resched();
	}
	list_for_each_entry(enabler, &event->enablers, of_event) {
		struct ue_enabler_set *set = enabler->set;

		ue_set_update(set, enabler, &visit);
		/*
		 * A child being forked has the set, and is not on its list. Pairs
		 * with ue_take_share().
		 */
		smp_store_release(&set->changes, set->changes + 1);
		if (need_resched())
			cond_resched();
	}
	ue_visit_end(&visit);
	mutex_unlock(&ue_enabler_mutex);
	ue_catch_up_on_return();
}

bool ue_registered(unsigned long address, u8 bit)
{
	struct ue_process *process;
	bool registered = false;

	mutex_lock(&ue_enabler_mutex);
	process = ue_process_find(current->mm);
	if (process)
		registered = ue_enabler_find(process->set, address, bit);
	mutex_unlock(&ue_enabler_mutex);
	return registered;
}

/*
 * Has @write succeed on a set that nobody shares, with nobody in between: the
 * set can then be changed before anybody else sees what was written.
 *
 * Return: 0 with @process->lock held; what @write returns; -ENOMEM.
 */
static int ue_write_unshared(struct ue_process *process,
			     struct ue_request *request,
			     int (*write)(struct ue_process *process,
					  struct ue_request *request))
{
	gfp_t gfp = request->gfp;
	int err;

	do {
		err = ue_process_own_set(process, gfp);
		if (!err)
			err = write(process, request);
		if (err)
			return err;
		/* What has been written is not taken back. */
		gfp = UE_GFP_UNDO;
	} while (!ue_process_lock_own_set(process));
	return 0;
}

/* Return: 0, with @request->enabler set; -ENOENT. */
static int ue_find_registration(struct ue_process *process,
				struct ue_request *request)
{
	struct ue_enabler *enabler = ue_enabler_find(process->set,
						     request->word.address,
						     request->word.bit);

	if (!enabler || (request->id && enabler->id != request->id))
		return -ENOENT;
	/* Should another have its place later, that is not what was meant. */
	request->id = enabler->id;
	request->word = enabler->word;
	request->enabler = enabler;
	return 0;
}

static int ue_find_and_clear(struct ue_process *process,
			     struct ue_request *request)
{
	int err = ue_find_registration(process, request);

	return err ? err : ue_user_bit_clear(ue_process_mm(process),
					     &request->word, request->page);
}

static int ue_erase(struct ue_process *process, struct ue_request *request,
		    int (*write)(struct ue_process *process,
				 struct ue_request *request))
{
	int err = 0;

	/* A copy is not made in vain. */
	if (atomic_read(&process->set->shares) > 1)
		err = ue_find_registration(process, request);
	if (!err)
		err = ue_write_unshared(process, request, write);
	if (err)
		return err;
	__acquire(&process->lock);
	request->event = ue_enabler_erase(request->enabler);
	if (!process->set->nr)
		module_put(THIS_MODULE);
	spin_unlock(&process->lock);
	return 0;
}

static int ue_clear_and_erase(struct ue_process *process,
			      struct ue_request *request)
{
	return ue_erase(process, request, ue_find_and_clear);
}

/* For a bit that can't be written. */
static int ue_erase_anyway(struct ue_process *process,
			   struct ue_request *request)
{
	int err;

	mutex_lock(&ue_enabler_mutex);
	err = ue_erase(process, request, ue_find_registration);
	mutex_unlock(&ue_enabler_mutex);
	return err;
}

int ue_unregister(unsigned long address, u8 bit)
{
	struct ue_process *process = ue_process_find_current();
	struct ue_request request = {
		.word = { .address = address, .bit = bit },
		.gfp = GFP_KERNEL_ACCOUNT,
	};
	int err;

	if (!process)
		return -ENOENT;
	err = ue_process_settle(process, &request, ue_clear_and_erase);
	if (err == -EFAULT)
		err = ue_erase_anyway(process, &request) ?: -EFAULT;
	if (request.event)
		ue_event_put(request.event);
	return err;
}

void ue_register_undo(const struct ue_user_bit *word, u64 id)
{
	struct ue_process *process = ue_process_find_current();
	struct ue_request request = {
		.word = *word,
		.id = id,
		.gfp = UE_GFP_UNDO,
	};
	int err = ue_process_settle(process, &request, ue_clear_and_erase);

	if (err && err != -ENOENT)
		ue_erase_anyway(process, &request);
	if (request.event)
		ue_event_put(request.event);
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

static int ue_find_none_and_write(struct ue_process *process,
				  struct ue_request *request)
{
	const struct ue_user_bit *word = &request->word;

	if (ue_enabler_find(process->set, word->address, word->bit))
		return -EADDRINUSE;
	/* Some 400 GB are not too much for every machine. */
	if (process->set->nr == UINT_MAX)
		return -ENOMEM;
	return ue_user_bit_write(ue_process_mm(process), word,
				 ue_event_enabled(request->event),
				 request->page);
}

static int ue_write_and_insert(struct ue_process *process,
			       struct ue_request *request)
{
	int err = ue_write_unshared(process, request, ue_find_none_and_write);

	if (err)
		return err;
	__acquire(&process->lock);
	request->id = ++ue_last_id;
	/* There is none in its place. */
	ue_enabler_insert(process->set, request->enabler, &request->word,
			  request->event, request->id);
	if (process->set->nr == 1)
		/* The caller has a file of ours open. */
		__module_get(THIS_MODULE);
	spin_unlock(&process->lock);
	return 0;
}

int ue_register(struct ue_event *event, const struct ue_user_bit *word,
		u64 *id)
{
	struct ue_process *process = ue_process_find_current();
	struct ue_request request = {
		.word = *word,
		.event = event,
		.gfp = GFP_KERNEL_ACCOUNT,
	};
	LIST_HEAD(blank);
	int err = 0;

	if (!process) {
		err = ue_know_current();
		process = ue_process_find_current();
	}
	if (!err)
		err = ue_enablers_create(&blank, 1, GFP_KERNEL_ACCOUNT);
	if (err)
		return err;

	request.enabler = list_first_entry(&blank, struct ue_enabler, of_event);
	list_del(&request.enabler->of_event);
	err = ue_process_settle(process, &request, ue_write_and_insert);
	if (err) {
		list_add(&request.enabler->of_event, &blank);
		ue_enablers_free(&blank);
	}
	*id = request.id;
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
