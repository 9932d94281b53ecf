// SPDX-License-Identifier: GPL-2.0-only
/*
 * A forked child inherits the registrations that its parent had when fork
 * copied the memory, because the enable bits in the copy belong to these. Of the
 * steps of a fork (Documentation/architecture.rst), these are here:
 *
 * 2. Before the kernel copies the memory, with the parent's mmap_lock held for
 *    writing, it calls uprobe_dup_mmap(). A hook there attaches the child's
 *    address space with a reference to the parent's set. If the fork fails
 *    later, the end of the child's address space drops the reference
 *    (mm_attach.c).
 * 4. The tracepoint sched_process_fork runs in the parent before the child does,
 *    and gives the child a task_work.
 * 5. The task_work runs in the child before user space. The address space joins
 *    the list of its set, and the child updates all bits if they may be stale.
 *
 * Steps 2 and 4 may not sleep (except on PREEMPT_RT, in a spinlock), so neither
 * takes ue_enabler_mutex. Without the mutex, a reference to a set is taken only
 * through an address space that has the set, with the lock of that address space
 * held.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/task_work.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

#include "port/compat.h"
#include "port/kernel_hook.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/fork.h"
#include "programs/mm.h"
#include "programs/mm_attach.h"
#include "programs/scope.h"
#include "programs/stale.h"
#include "programs/traced.h"

static struct tracepoint *ue_fork_tracepoint;

/*
 * While @parent->lock is held, the parent cannot drop its reference to the set.
 *
 * Return: 0; -ENOENT if the parent has no enablers; -ENOMEM.
 */
static int ue_reference_set(struct ue_mm *child, struct ue_mm *parent)
{
	struct ue_enabler_set *set;
	int err = -ENOENT;

	spin_lock(&parent->lock);
	set = parent->set;
	if (set && set->nr) {
		child->set = set;
		child->scopes = READ_ONCE(parent->scopes);
		child->traced_period = READ_ONCE(parent->traced_period);
		/* Pairs with ue_update_enablers(). */
		child->inherited_changes = smp_load_acquire(&set->changes);
		/* Pairs with ue_mm_set_fresh(). */
		child->inherited_stale = smp_load_acquire(&parent->stale) ||
					 ue_mm_differs(parent);
		err = ue_mm_insert(child);
		if (!err)
			atomic_inc(&set->references);
	}
	spin_unlock(&parent->lock);
	return err;
}

static bool ue_has_enablers(struct ue_mm *ue_mm)
{
	bool has;

	spin_lock(&ue_mm->lock);
	has = ue_mm->set && ue_mm->set->nr;
	spin_unlock(&ue_mm->lock);
	return has;
}

static struct ue_mm *ue_fork_attach(struct ue_mm *parent, struct mm_struct *to)
{
	struct ue_mm *child = ue_mm_create(to, GFP_ATOMIC | __GFP_ACCOUNT |
					       __GFP_NOWARN);
	int err = -ENOMEM;

	if (child)
		err = ue_reference_set(child, parent);
	if (!err)
		return child;
	if (child)
		ue_mm_put(child);
	if (err == -ENOMEM)
		pr_warn_ratelimited("out of memory: a child of process %d does not inherit its registrations\n",
				    current->pid);
	return NULL;
}

/* Return: the child's ue_mm, or NULL. */
static struct ue_mm *ue_fork_inherit(struct mm_struct *from,
				     struct mm_struct *to)
{
	struct ue_mm *parent = ue_mm_find(from), *child;

	/*
	 * May change: ue_reference_set() tests again. Here it saves an
	 * allocation.
	 */
	if (!parent || !ue_has_enablers(parent))
		return NULL;
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		return ue_fork_attach(parent, to);
	/*
	 * The module must stay: synchronize_rcu_tasks() does not wait for a
	 * task that waits for a spinlock. In the meantime another thread may
	 * unregister everything.
	 */
	if (!try_module_get(THIS_MODULE))
		return NULL;
	child = ue_fork_attach(parent, to);
	module_put(THIS_MODULE);
	return child;
}

void ue_fork_copy(struct mm_struct *from, struct mm_struct *to)
{
	ue_fork_inherit(from, to);
}

void ue_fork_leave_copy(struct mm_struct *from, struct mm_struct *to)
{
	if (ue_mm_find(from) && !ue_pending_fork_add(to))
		pr_warn_ratelimited("64 forks are in progress: a child of process %d does not inherit its registrations\n",
				    current->pid);
}

/* Another thread may have registered or unregistered since the copy. */
static struct ue_mm *ue_fork_inherit_late(struct mm_struct *from,
					  struct mm_struct *to)
{
	struct ue_mm *child = ue_fork_inherit(from, to);

	if (!child)
		return NULL;
	pr_warn_once("uprobe_dup_mmap() did not report a fork in time: children of programs that register in one thread and fork in another may inherit wrong registrations\n");
	child->inherited_stale = true;
	return child;
}

struct ue_mm *ue_fork_child(struct mm_struct *from, struct mm_struct *to)
{
	struct ue_mm *child = ue_mm_find(to);

	if (child)
		return child;
	return ue_pending_fork_take(to) ? ue_fork_inherit_late(from, to) : NULL;
}

void ue_fork_first_run(struct ue_mm *ue_mm)
{
	const bool differ = ue_scopes_lock(ue_mm);

	/*
	 * A killed child is here with its set: get_signal() runs this before the
	 * address space ends. A child that dies in the kernel, as in an oops, may
	 * have no set any more.
	 */
	if (ue_mm->set) {
		if (ue_mm->inherited_stale)
			ue_mm_look_for_perf(ue_mm);
		if (ue_mm->inherited_stale || differ ||
		    ue_mm->inherited_changes != ue_mm->set->changes ||
		    !hlist_empty(&ue_mm->set->walks))
			ue_mm_set_stale(ue_mm);
		ue_mm_join_set(ue_mm);
	}
	ue_enabler_unlock();
	ue_mm_refresh(ue_mm);
}

static void ue_first_run_task_work(struct callback_head *task_work)
{
	struct ue_mm *ue_mm = container_of(task_work, struct ue_mm, first_run);

	ue_fork_first_run(ue_mm);
	ue_mm_put(ue_mm);
	/*
	 * At unload, synchronize_rcu_tasks() waits for the rest of this
	 * function.
	 */
	module_put(THIS_MODULE);
}

/*
 * Step 2: uprobe_dup_mmap(from, to). If another tracer has the function as well,
 * ftrace disables preemption. On PREEMPT_RT, attaching the child then has to wait
 * for step 4, because neither memory nor a spinlock can be taken here.
 */
static void ue_dup_mmap(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct mm_struct *from = ue_ftrace_argument(fregs, 0);
	struct mm_struct *to = ue_ftrace_argument(fregs, 1);

	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !preemptible())
		ue_fork_leave_copy(from, to);
	else
		ue_fork_copy(from, to);
}

static struct ftrace_ops ue_dup_mmap_hook = { .func = ue_dup_mmap };

/* Step 4: a probe of sched_process_fork; the current task is the parent. */
static void ue_fork_probe(void *data, struct task_struct *parent,
			  struct task_struct *child)
{
	struct ue_mm *ue_mm;

	if (!child->mm)
		return;
	/* A thread, or a child of vfork(), shares the memory. */
	if (child->mm == parent->mm) {
		ue_stale_begin_task(child);
		return;
	}
	ue_mm = ue_fork_child(parent->mm, child->mm);
	if (!ue_mm)
		return;
	refcount_inc(&ue_mm->references);
	/* The set has enablers, which hold a reference to the module. */
	__module_get(THIS_MODULE);
	init_task_work(&ue_mm->first_run, ue_first_run_task_work);
	/* The child has not run yet, so it cannot have exited. */
	WARN_ON_ONCE(task_work_add(child, &ue_mm->first_run, TWA_RESUME));
}

int ue_fork_init(void)
{
	int err;

	check_trace_callback_type_sched_process_fork(ue_fork_probe);
	ue_fork_tracepoint = ue_tracepoint_find("sched_process_fork");
	if (!ue_fork_tracepoint) {
		pr_err("this kernel lacks the tracepoint sched_process_fork\n");
		return -ENOENT;
	}
	err = ue_kernel_hook_add(&ue_dup_mmap_hook, ue_uprobe_dup_mmap_entry);
	if (err)
		return err;
	err = tracepoint_probe_register(ue_fork_tracepoint, ue_fork_probe,
					NULL);
	if (err)
		ue_kernel_hook_remove(&ue_dup_mmap_hook);
	return err;
}

void ue_fork_exit(void)
{
	tracepoint_probe_unregister(ue_fork_tracepoint, ue_fork_probe, NULL);
	tracepoint_synchronize_unregister();
	ue_kernel_hook_remove(&ue_dup_mmap_hook);
}
