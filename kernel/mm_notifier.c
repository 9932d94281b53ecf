// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each attached address space has an mmu notifier, which reports its end (exit,
 * exec) and the copying of its memory (fork). It is an interval notifier,
 * because the end of an address space with a plain notifier waits for a grace
 * period.
 */
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "enabler.h"
#include "fork_snapshot.h"
#include "mm.h"
#include "mm_notifier.h"
#include "mm_set.h"

/* Detached, but with a notifier still. Protected by ue_enabler_mutex. */
static LIST_HEAD(ue_detached);

/* Waits for ue_invalidate(), so it cannot be called there. */
static void ue_mm_remove_notifier(struct ue_mm *ue_mm)
{
	mmu_interval_notifier_remove(&ue_mm->notifier);
	ue_mm_put(ue_mm);
}

static void ue_remove_notifier_task_work(struct callback_head *task_work)
{
	ue_mm_remove_notifier(container_of(task_work, struct ue_mm, task_work));
	/* At unload, synchronize_rcu_tasks() waits for the rest of this. */
	module_put(THIS_MODULE);
}

/*
 * The task whose mmput() was the last one removes the notifier when it returns
 * to user space, or exits. Return: false if it cannot, or the module is being
 * unloaded.
 */
static bool ue_remove_notifier_on_return(struct ue_mm *ue_mm)
{
	if ((current->flags & PF_KTHREAD) || !try_module_get(THIS_MODULE))
		return false;
	init_task_work(&ue_mm->task_work, ue_remove_notifier_task_work);
	if (!task_work_add(current, &ue_mm->task_work, TWA_RESUME))
		return true;
	module_put(THIS_MODULE);
	return false;
}

static struct ue_mm *ue_take_detached(void)
{
	struct ue_mm *ue_mm;

	mutex_lock(&ue_enabler_mutex);
	ue_mm = list_first_entry_or_null(&ue_detached, struct ue_mm, detached);
	if (ue_mm)
		list_del(&ue_mm->detached);
	mutex_unlock(&ue_enabler_mutex);
	return ue_mm;
}

static void ue_remove_notifiers(struct work_struct *unused)
{
	struct ue_mm *ue_mm;

	while ((ue_mm = ue_take_detached()))
		ue_mm_remove_notifier(ue_mm);
}

static DECLARE_WORK(ue_remove_notifiers_work, ue_remove_notifiers);

static void ue_mm_detach(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	ue_update_wait_end(&ue_mm->wait);
	ue_mm_replace_set(ue_mm, NULL);
}

/*
 * The last task that used the address space has exited, or called exec. The
 * caller may hold event_mutex (uprobes calls mmput() under it), so this cannot
 * take it.
 */
static void ue_release(struct ue_mm *ue_mm)
{
	mutex_lock(&ue_enabler_mutex);
	/* Without a set, it was detached by unloading. */
	if (ue_mm->set) {
		ue_mm_erase(ue_mm);
		ue_mm_detach(ue_mm);
		if (!ue_remove_notifier_on_return(ue_mm)) {
			list_add_tail(&ue_mm->detached, &ue_detached);
			queue_work(system_unbound_wq,
				   &ue_remove_notifiers_work);
		}
	}
	mutex_unlock(&ue_enabler_mutex);
}

/*
 * Fork reports a change of protection for each private mapping with anonymous
 * pages before it copies the mapping. The notifier's page is in the stack,
 * which is such a mapping. If the stack was moved, no snapshot is taken.
 */
static void ue_protection_changed(struct ue_mm *ue_mm)
{
	/* A kernel thread that uses the address space does not fork it. */
	if (current->mm == ue_mm->notifier.mm &&
	    !(current->flags & PF_KTHREAD))
		ue_fork_snapshot_take(ue_mm);
}

/* Sleeps only for MMU_NOTIFY_RELEASE, for which it may. */
static bool ue_invalidate(struct mmu_interval_notifier *notifier,
			  const struct mmu_notifier_range *range,
			  unsigned long seq)
{
	struct ue_mm *ue_mm = container_of(notifier, struct ue_mm, notifier);

	if (range->event == MMU_NOTIFY_RELEASE)
		ue_release(ue_mm);
	else if (range->event == MMU_NOTIFY_PROTECTION_PAGE)
		ue_protection_changed(ue_mm);
	return true;
}

static const struct mmu_interval_notifier_ops ue_notifier_ops = {
	.invalidate = ue_invalidate,
};

/*
 * The notifier covers one page of the stack: each fork copies the stack, and
 * few other operations change the protection of its first page. The end of the
 * address space is reported to all intervals.
 */
static int ue_mm_insert_notifier(struct ue_mm *ue_mm, struct mm_struct *mm)
{
	int err;

	/* A program can keep its mmap_lock taken for as long as it likes. */
	if (mmap_write_lock_killable(mm))
		return -EINTR;
	err = mmu_interval_notifier_insert_locked(&ue_mm->notifier, mm,
						  READ_ONCE(mm->start_stack) & PAGE_MASK,
						  PAGE_SIZE, &ue_notifier_ops);
	mmap_write_unlock(mm);
	return err;
}

/* Inserted with its set, so that every address space in the table has one. */
static int ue_mm_insert_with_set(struct ue_mm *ue_mm,
				 struct ue_enabler_set *set)
{
	int err;

	mutex_lock(&ue_enabler_mutex);
	ue_mm_replace_set(ue_mm, set);
	err = ue_mm_insert(ue_mm);
	if (err) {
		/* The reference to the set stays the caller's. */
		hlist_del(&ue_mm->of_set);
		spin_lock(&ue_mm->lock);
		ue_mm->set = NULL;
		spin_unlock(&ue_mm->lock);
	}
	mutex_unlock(&ue_enabler_mutex);
	return err;
}

int ue_mm_attach(struct mm_struct *mm, struct ue_enabler_set *set)
{
	struct ue_mm *ue_mm = ue_mm_create();
	int err;

	if (!ue_mm)
		return -ENOMEM;
	err = ue_mm_insert_notifier(ue_mm, mm);
	if (err) {
		ue_mm_put(ue_mm);
		return err;
	}
	/*
	 * While other intervals are being invalidated, the kernel defers the
	 * insertion, and the notifier would miss the end of the address space.
	 */
	mmu_interval_read_begin(&ue_mm->notifier);

	err = ue_mm_insert_with_set(ue_mm, set);
	if (err)
		ue_mm_remove_notifier(ue_mm);
	return err;
}

static void ue_detach_at_unload(void *object, void *unused)
{
	struct ue_mm *ue_mm = object;

	ue_mm_detach(ue_mm);
	list_add_tail(&ue_mm->detached, &ue_detached);
}

/* Address spaces may be attached without enablers: those do not stop unloading. */
void ue_mm_detach_all(void)
{
	mutex_lock(&ue_enabler_mutex);
	ue_mm_table_exit(ue_detach_at_unload);
	mutex_unlock(&ue_enabler_mutex);

	/* Waits for ue_invalidate() of each; none is detached after this. */
	ue_remove_notifiers(&ue_remove_notifiers_work);
	flush_work(&ue_remove_notifiers_work);
}
