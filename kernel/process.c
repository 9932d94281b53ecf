// SPDX-License-Identifier: GPL-2.0-only
/*
 * The address spaces that have enablers.
 *
 * An address space is known by its mm_struct. One mmu_notifier for each holds
 * the struct mm_struct (not its memory), and tells when its last user is
 * gone: at exit, at exec.
 *
 * A bit is always written with ue_enabler_mutex held, from the state that the
 * event has at that moment; so the last write is the right one, whoever
 * comes last. Faults are taken with nothing held but the mmap_lock.
 */
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/rhashtable.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "enabler.h"
#include "event.h"
#include "kernel_symbols.h"
#include "process.h"

/*
 * How often a page is faulted in before it is given up: it may be taken away
 * again each time before it is written to.
 */
#define UE_FAULTS_MAX	16

/**
 * struct ue_process - an address space that has, or had, enablers
 * @notifier: ties it to the mm_struct
 * @mm: the address space
 * @set: its enablers; NULL before it is known and after it is gone
 * @in_set: its place among those who share @set
 * @by_mm: its place in ue_by_mm
 * @all: its place in ue_all
 * @references: one of the notifier, one of @work while it is queued
 * @work: brings all bits up to date
 *
 * Protected by ue_enabler_mutex, but for @references and @work.
 */
struct ue_process {
	struct mmu_notifier notifier;
	struct mm_struct *mm;
	struct ue_enabler_set *set;
	struct list_head in_set;
	struct rhash_head by_mm;
	struct list_head all;
	refcount_t references;
	struct work_struct work;
};

static const struct rhashtable_params ue_by_mm_params = {
	.key_len = sizeof(struct mm_struct *),
	.key_offset = offsetof(struct ue_process, mm),
	.head_offset = offsetof(struct ue_process, by_mm),
	.automatic_shrinking = true,
};

/* Both protected by ue_enabler_mutex. */
static struct rhashtable ue_by_mm;
static LIST_HEAD(ue_all);

static struct workqueue_struct *ue_workqueue;

static void ue_process_put(struct ue_process *process)
{
	if (refcount_dec_and_test(&process->references))
		kfree(process);
}

static struct ue_process *ue_process_find(struct mm_struct *mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	return rhashtable_lookup_fast(&ue_by_mm, &mm, ue_by_mm_params);
}

/* The module is in use while a set has enablers. */
static int ue_set_add(struct ue_enabler_set *set, struct ue_enabler *enabler,
		      struct ue_event *event)
{
	int err = ue_enabler_insert(set, enabler, event);

	/* The caller has a file of ours open. */
	if (!err && set->nr == 1)
		__module_get(THIS_MODULE);
	return err;
}

static void ue_set_remove(struct ue_enabler *enabler)
{
	struct ue_enabler_set *set = enabler->set;

	ue_enabler_erase(enabler);
	if (!set->nr)
		module_put(THIS_MODULE);
}

static void ue_process_leave_set(struct ue_process *process)
{
	struct ue_enabler_set *set = process->set;

	process->set = NULL;
	list_del(&process->in_set);
	if (!list_empty(&set->processes))
		return;
	if (set->nr)
		module_put(THIS_MODULE);
	ue_enabler_set_free(set);
}

static void ue_process_join_set(struct ue_process *process,
				struct ue_enabler_set *set)
{
	process->set = set;
	list_add(&process->in_set, &set->processes);
}

/* Return: false when it has been forgotten already. */
static bool ue_process_forget(struct ue_process *process)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (!process->set)
		return false;
	rhashtable_remove_fast(&ue_by_mm, &process->by_mm, ue_by_mm_params);
	list_del(&process->all);
	ue_process_leave_set(process);
	return true;
}

static void ue_process_work(struct work_struct *work);

/* With mmap_lock held for writing. */
static struct mmu_notifier *ue_alloc_notifier(struct mm_struct *mm)
{
	struct ue_process *process = kzalloc(sizeof(*process),
					     GFP_KERNEL_ACCOUNT);

	if (!process)
		return ERR_PTR(-ENOMEM);
	process->mm = mm;
	refcount_set(&process->references, 1);
	INIT_WORK(&process->work, ue_process_work);
	return &process->notifier;
}

static void ue_free_notifier(struct mmu_notifier *notifier)
{
	ue_process_put(container_of(notifier, struct ue_process, notifier));
}

/*
 * The last user of the address space is gone: exit, or exec. The caller may
 * hold event_mutex (uprobes lets go of address spaces under it), so that it
 * can't be taken here.
 */
static void ue_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	struct ue_process *process = container_of(notifier, struct ue_process,
						  notifier);
	bool forgotten;

	mutex_lock(&ue_enabler_mutex);
	forgotten = ue_process_forget(process);
	mutex_unlock(&ue_enabler_mutex);
	if (forgotten)
		mmu_notifier_put(notifier);
}

static const struct mmu_notifier_ops ue_notifier_ops = {
	.alloc_notifier = ue_alloc_notifier,
	.free_notifier = ue_free_notifier,
	.release = ue_release,
};

/* Takes @set on success. With ue_enabler_mutex held. */
static int ue_process_remember(struct ue_process *process,
			       struct ue_enabler_set *set)
{
	if (rhashtable_insert_fast(&ue_by_mm, &process->by_mm,
				   ue_by_mm_params))
		return -ENOMEM;
	list_add(&process->all, &ue_all);
	ue_process_join_set(process, set);
	return 0;
}

/*
 * Makes sure that the current address space is known. It stays so until its
 * last user is gone, which the caller is one of.
 */
static int ue_process_know_current(void)
{
	struct mm_struct *mm = current->mm;
	struct mmu_notifier *notifier;
	struct ue_enabler_set *set;
	struct ue_process *process;
	int err = 0;

	mutex_lock(&ue_enabler_mutex);
	process = ue_process_find(mm);
	mutex_unlock(&ue_enabler_mutex);
	if (process)
		return 0;

	set = ue_enabler_set_create();
	if (!set)
		return -ENOMEM;
	/* Gives the same one to two threads that come at once. */
	notifier = mmu_notifier_get(&ue_notifier_ops, mm);
	if (IS_ERR(notifier)) {
		kfree(set);
		err = PTR_ERR(notifier);
		return err == -EINTR ? -ERESTARTNOINTR : err;
	}
	process = container_of(notifier, struct ue_process, notifier);

	mutex_lock(&ue_enabler_mutex);
	if (process->set)
		err = -EEXIST;
	else
		err = ue_process_remember(process, set);
	if (err)
		ue_enabler_set_free(set);
	mutex_unlock(&ue_enabler_mutex);
	if (err)
		mmu_notifier_put(notifier);
	return err == -EEXIST ? 0 : err;
}

/*
 * Writes the state that the bit should have now. The caller holds the memory
 * and the mmap_lock.
 */
static int ue_process_write(struct ue_process *process,
			    struct ue_enabler *enabler)
{
	bool state = enabler->event && ue_event_enabled(enabler->event);

	lockdep_assert_held(&ue_enabler_mutex);
	return ue_user_bit_write(process->mm, &enabler->word, state);
}

/* Return: 0, also when there is no such enabler any more; -EAGAIN. */
static int ue_process_try(struct ue_process *process,
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
	mutex_unlock(&ue_enabler_mutex);
	return err;
}

/*
 * Brings one bit up to date, and waits for the program's memory as long as it
 * takes. The caller holds the memory, and no lock.
 */
static int ue_process_settle(struct ue_process *process,
			     const struct ue_user_bit *word)
{
	int err = 0;

	mmap_read_lock(process->mm);
	for (int faults = 0; faults < UE_FAULTS_MAX; faults++) {
		err = ue_process_try(process, word);
		if (err != -EAGAIN)
			break;
		err = ue_user_bit_fault_in(process->mm, word);
		if (err)
			break;
		err = -EFAULT;
	}
	mmap_read_unlock(process->mm);
	return err;
}

/* The enabler after @word in @process, copied to @word. */
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

/*
 * Waits for one program alone: what can't be written is passed over, and
 * tried again at the next change.
 */
static void ue_process_work(struct work_struct *work)
{
	struct ue_process *process = container_of(work, struct ue_process,
						  work);
	struct mm_struct *mm = process->mm;
	struct ue_user_bit word = { };
	int bit = -1;

	if (mmget_not_zero(mm)) {
		while (ue_process_next(process, &word, bit)) {
			ue_process_settle(process, &word);
			bit = word.bit;
			cond_resched();
		}
		mmput(mm);
	}
	ue_process_put(process);
	mmdrop(mm);
}

static void ue_process_queue_work(struct ue_process *process)
{
	refcount_inc(&process->references);
	mmgrab(process->mm);
	if (queue_work(ue_workqueue, &process->work))
		return;
	/* Queued already; the notifier has a reference of either. */
	mmdrop(process->mm);
	refcount_dec(&process->references);
}

/* Writes without waiting; where that can't be, a work item does it. */
static void ue_process_update(struct ue_process *process,
			      struct ue_enabler *enabler)
{
	struct mm_struct *mm = process->mm;
	int err = -EAGAIN;

	/* Its end is near, and nobody will read the bit. */
	if (!mmget_not_zero(mm))
		return;
	if (mmap_read_trylock(mm)) {
		err = ue_process_write(process, enabler);
		mmap_read_unlock(mm);
	}
	if (err)
		ue_process_queue_work(process);
	mmput_async(mm);
}

void ue_processes_update(struct ue_event *event)
{
	struct ue_enabler *enabler;
	struct ue_process *process;

	lockdep_assert_held(ue_event_mutex);
	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry(enabler, &event->enablers, of_event) {
		list_for_each_entry(process, &enabler->set->processes, in_set)
			ue_process_update(process, enabler);
		cond_resched();
	}
	mutex_unlock(&ue_enabler_mutex);
}

/* With ue_enabler_mutex held; the enabler of the current address space. */
static struct ue_enabler *ue_process_lookup(unsigned long address, u8 bit)
{
	struct ue_process *process = ue_process_find(current->mm);

	return process ? ue_enabler_find(process->set, address, bit) : NULL;
}

bool ue_process_has(unsigned long address, u8 bit)
{
	bool has;

	mutex_lock(&ue_enabler_mutex);
	has = ue_process_lookup(address, bit);
	mutex_unlock(&ue_enabler_mutex);
	return has;
}

int ue_process_unregister(unsigned long address, u8 bit)
{
	struct ue_user_bit word;
	struct ue_enabler *enabler;
	struct ue_process *process;
	struct ue_event *event = NULL;
	int err;

	/* From here on nobody else finds it, nor can register the pair. */
	mutex_lock(&ue_enabler_mutex);
	enabler = ue_process_lookup(address, bit);
	if (enabler && enabler->event) {
		word = enabler->word;
		event = ue_enabler_end(enabler);
	}
	process = ue_process_find(current->mm);
	mutex_unlock(&ue_enabler_mutex);
	if (!event)
		return -ENOENT;

	err = ue_process_settle(process, &word);

	mutex_lock(&ue_enabler_mutex);
	ue_set_remove(ue_enabler_find(process->set, address, bit));
	mutex_unlock(&ue_enabler_mutex);
	ue_event_put(event);
	return err;
}

int ue_process_register(struct ue_event *event, const struct ue_user_bit *word)
{
	struct ue_enabler *enabler;
	struct ue_process *process;
	int err;

	err = ue_process_know_current();
	if (err)
		return err;
	enabler = ue_enabler_create(word);
	if (!enabler)
		return -ENOMEM;

	mutex_lock(&ue_enabler_mutex);
	process = ue_process_find(current->mm);
	err = ue_set_add(process->set, enabler, event);
	mutex_unlock(&ue_enabler_mutex);
	if (err) {
		ue_enabler_free(enabler);
		return err;
	}

	err = ue_process_settle(process, word);
	if (err)
		ue_process_unregister(word->address, word->bit);
	return err;
}

int ue_processes_init(void)
{
	int err = rhashtable_init(&ue_by_mm, &ue_by_mm_params);

	if (err)
		return err;
	ue_workqueue = alloc_workqueue("user_events", WQ_UNBOUND, 0);
	if (!ue_workqueue) {
		rhashtable_destroy(&ue_by_mm);
		return -ENOMEM;
	}
	return 0;
}

/*
 * No set has enablers any more, or the module would be in use; but there may
 * be address spaces that had some.
 */
void ue_processes_exit(void)
{
	struct ue_process *process, *next;

	mutex_lock(&ue_enabler_mutex);
	list_for_each_entry_safe(process, next, &ue_all, all) {
		ue_process_forget(process);
		mmu_notifier_put(&process->notifier);
	}
	mutex_unlock(&ue_enabler_mutex);

	/* Waits for ue_release() and ue_free_notifier(). */
	mmu_notifier_synchronize();
	destroy_workqueue(ue_workqueue);
	rhashtable_destroy(&ue_by_mm);
}
