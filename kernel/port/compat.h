/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel versions, and between configurations of the kernel. No other file
 * compares versions.
 */
#ifndef UE_COMPAT_H
#define UE_COMPAT_H

#include <linux/version.h>

/*
 * Refuse a kernel before one of its headers is missing or a call does not compile.
 * Documentation/admin-guide.rst has the reasons.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) && \
	!defined(UE_EVENT_FILES_FIXED)
#error "Linux 6.6 to 6.10 use freed memory of removed events: see Documentation/admin-guide.rst"
#endif

/* Only kernel_declares.c has one of the two macros: see tools/declarations. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#if defined(UE_NO_BTF)
#error "Linux 7.4 and later are refused without BTF: see Documentation/admin-guide.rst"
#elif defined(UE_BTF)
#pragma message("Linux 7.4 and later are not tested: see Documentation/admin-guide.rst")
#endif
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0) && defined(CONFIG_PREEMPT_RT)
#error "Real-time kernels before 7.2 are not supported: see Documentation/admin-guide.rst"
#endif

/* Which kernels the module is made for, for modinfo. */
#define UE_KERNELS "6.1 to 6.5, 6.11 to 7.3; without CONFIG_USER_EVENTS; with CONFIG_PREEMPT_RT from 7.2 on"

#include <linux/ftrace.h>
#include <linux/hugetlb_inline.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/ring_buffer.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/trace.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <asm/local.h>

/* Moved in 6.12. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

/*
 * Before 6.11, using an open tracefs file of a removed event is a
 * use-after-free in the kernel. Up to 6.5, event_files.c works around that. For
 * the eventfs of 6.6 to 6.10, a module can't.
 */
#define UE_KEEP_EVENT_FILES (LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0))

/**
 * ue_can_be_directory() - check the length of an event's name
 * @name: the name of the tracepoint, and of its directory
 *
 * Before 6.6, tracefs creates no directory with a longer name, and the kernel
 * logs each attempt. The eventfs of 6.6 and later has no limit.
 *
 * Context: any.
 * Return: true if the kernel can create the directory.
 */
static inline bool ue_can_be_directory(const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return strlen(name) <= NAME_MAX;
#else
	return true;
#endif
}

/**
 * ue_find_area() - find the mapping of an address
 * @mm: the address space, its mmap_lock held for reading
 * @address: any address, which may have a tag
 *
 * Context: mmap_lock of @mm held for reading.
 * Return: the mapping, or NULL.
 */
static inline struct vm_area_struct *ue_find_area(struct mm_struct *mm,
						  unsigned long address)
{
	/* 6.4 introduced address spaces with different tags. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return vma_lookup(mm, untagged_addr(address));
#else
	return vma_lookup(mm, untagged_addr_remote(mm, address));
#endif
}

/**
 * ue_task_has_perf_events() - check if a task has, or has had, perf events
 * @task: the task
 *
 * Since 6.2, a task has one context for the perf events of all kinds.
 *
 * Context: any.
 * Return: true if it has a context.
 */
static inline bool ue_task_has_perf_events(const struct task_struct *task)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	for (int i = 0; i < perf_nr_task_contexts; i++) {
		if (READ_ONCE(task->perf_event_ctxp[i]))
			return true;
	}
	return false;
#else
	return READ_ONCE(task->perf_event_ctxp);
#endif
}

/**
 * ue_pin_may_fault() - check if ue_pin_page() may fault despite FOLL_NOFAULT
 * @mm: the program's address space, its mmap_lock held for reading
 * @address: any address in the page
 *
 * Up to 6.5, follow_hugetlb_page() ignores that flag.
 *
 * Context: mmap_lock of @mm held for reading.
 * Return: true if the kernel may handle a page fault for @address.
 */
static inline bool ue_pin_may_fault(struct mm_struct *mm, unsigned long address)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	struct vm_area_struct *area = ue_find_area(mm, address);

	return area && is_vm_hugetlb_page(area);
#else
	return false;
#endif
}

/**
 * ue_pin_page() - pin one page of a program
 * @mm: the program's address space, its mmap_lock held for reading
 * @address: any address in the page
 * @flags: FOLL_WRITE to write; FOLL_NOFAULT to fail instead of handling a page fault
 * @page: set to the pinned page, to be released with unpin_user_page()
 * @locked: set to 0 if the function has released the mmap_lock; NULL with
 *	FOLL_NOFAULT
 *
 * Context: mmap_lock of @mm held for reading; without FOLL_NOFAULT it may
 * sleep, killably while it waits for the lock.
 * Return: 1, or a negative errno.
 */
static inline long ue_pin_page(struct mm_struct *mm, unsigned long address,
			       unsigned int flags, struct page **page,
			       int *locked)
{
	/* 6.5 removed the array of vm_area_structs. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return pin_user_pages_remote(mm, address, 1, flags, page, NULL, locked);
#else
	return pin_user_pages_remote(mm, address, 1, flags, page, locked);
#endif
}

/**
 * ue_mm_owner() - get a task that uses an address space
 * @mm: the address space
 *
 * Kernels without memory cgroups do not know one.
 *
 * Context: RCU read-side critical section.
 * Return: the task; NULL if there is none or the kernel does not know it.
 */
static inline struct task_struct *ue_mm_owner(struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	return rcu_dereference(mm->owner);
#else
	return NULL;
#endif
}

/* The flags of tasks that share a program's memory and never return to user space. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define UE_PF_NEVER_RETURNS	(PF_KTHREAD | PF_IO_WORKER)
#else
#define UE_PF_NEVER_RETURNS	(PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)
#endif

/**
 * ue_cgroup_path() - get the path of a process's control group
 * @process: a thread of the process
 * @buffer: the path from the root of the unified hierarchy is written here, with a
 *	NUL; cut off if it is too long
 * @size: of @buffer, bytes
 *
 * Context: RCU read-side critical section.
 */
static inline void ue_cgroup_path(struct task_struct *process, char *buffer,
				  size_t size)
{
#ifdef CONFIG_CGROUPS
	if (cgroup_path(task_dfl_cgroup(process), buffer, size) >= 0)
		return;
#endif
	strscpy(buffer, "/", size);
}

/**
 * ue_iter_iovec() - get the iovecs of a write
 * @iter: as passed to the file's write_iter()
 *
 * Context: any.
 * Return: the first of @iter->nr_segs iovecs, with nothing consumed; NULL if
 * @iter has another form.
 */
static inline const struct iovec *ue_iter_iovec(const struct iov_iter *iter)
{
	if (!iter_is_iovec(iter) || iter->iov_offset)
		return NULL;
	/* Renamed in 6.4. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return iter->iov;
#else
	return iter_iov(iter);
#endif
}

/* A record of this size fits into any sub-buffer, which has at least a page. */
#define UE_RECORD_MAX_IN_PAGE \
	(PAGE_SIZE - sizeof(u64) - sizeof(local_t) - 2 * sizeof(u32))

/**
 * ue_ring_buffer_max_record() - get the size of the largest possible record
 * @buffer: the ring buffer
 *
 * Context: any.
 * Return: bytes, including the record's common fields.
 */
static inline size_t ue_ring_buffer_max_record(struct trace_buffer *buffer)
{
	/* 6.8 introduced sub-buffers of more than a page. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	return UE_RECORD_MAX_IN_PAGE;
#else
	return ring_buffer_max_event_size(buffer);
#endif
}

/* Renamed in 6.18, which deprecates the old name. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define ue_unbound_wq	system_unbound_wq
#else
#define ue_unbound_wq	system_dfl_wq
#endif

/**
 * struct ue_probe - a walk over what tracing frees only after
 * tracepoint_synchronize_unregister(), as if the walk were a probe of a tracepoint
 * @reader: since 7.0, the walk as a reader of tracepoint_srcu
 *
 * Before 7.0 that function waits for code that runs with preemption disabled.
 * Since 7.0 it waits only for the readers of tracepoint_srcu. The walk disables
 * preemption in all versions, as probes do: perf and the contents of a record rely
 * on that.
 */
struct ue_probe {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	struct srcu_ctr __percpu *reader;
#endif
};

/**
 * ue_probe_begin() - begin a walk of what tracing may free
 *
 * Context: any in which a tracepoint may be called; preemption is disabled until
 * ue_probe_end().
 * Return: to be passed to ue_probe_end().
 */
static __always_inline struct ue_probe ue_probe_begin(void)
{
	struct ue_probe probe = {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
		.reader = srcu_read_lock_fast_notrace(&tracepoint_srcu),
#endif
	};

	rcu_read_lock_sched_notrace();
	return probe;
}

/**
 * ue_probe_end() - end a walk of what tracing may free
 * @probe: what ue_probe_begin() returned on this CPU
 *
 * Context: as ue_probe_begin().
 */
static __always_inline void ue_probe_end(struct ue_probe probe)
{
	rcu_read_unlock_sched_notrace();
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	srcu_read_unlock_fast_notrace(&tracepoint_srcu, probe.reader);
#endif
}

/*
 * Up to 6.5 a table of sysctls ends with an empty entry. Since 6.6 the kernel
 * gets the size of the table, and since 6.11 it refuses an empty entry.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define UE_SYSCTL_TABLE_END	{ }
#else
#define UE_SYSCTL_TABLE_END
#endif

/*
 * Since 6.2, ftrace passes the arguments of a function in any case. Before, it
 * passes only complete registers on all architectures.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define UE_FTRACE_FLAGS		FTRACE_OPS_FL_SAVE_REGS
#else
#define UE_FTRACE_FLAGS		0
#endif

/**
 * ue_ftrace_argument() - get an argument of a function that is traced
 * @fregs: as passed to the function of a struct ftrace_ops whose flags include
 *	UE_FTRACE_FLAGS
 * @nr: which argument, from 0
 *
 * Context: in that function.
 * Return: the argument.
 */
static inline void *ue_ftrace_argument(struct ftrace_regs *fregs,
				       unsigned int nr)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return (void *)regs_get_kernel_argument(ftrace_get_regs(fregs), nr);
#else
	return (void *)ftrace_regs_get_argument(fregs, nr);
#endif
}

/**
 * ue_trace_array_get() - find or create an ftrace instance
 * @name: its name
 *
 * Context: may sleep; event_mutex not held.
 * Return: the instance, with a reference for trace_array_put(); NULL if it
 * cannot be created.
 */
static inline struct trace_array *ue_trace_array_get(const char *name)
{
	/* 6.8 added the systems that the instance has; NULL means all. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	return trace_array_get_by_name(name);
#else
	return trace_array_get_by_name(name, NULL);
#endif
}

/**
 * ue_trace_event_replace() - give the type number of an event to another one
 * @old: the event that has the number
 * @new: the event that gets it; not registered
 *
 * Context: event_mutex and trace_event_sem held.
 */
static inline void ue_trace_event_replace(struct trace_event *old,
					  struct trace_event *new)
{
	new->type = old->type;
	hlist_add_behind(&new->node, &old->node);
	hlist_del(&old->node);
	/* Before 6.2, a list of the events tells which numbers are in use. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	list_replace(&old->list, &new->list);
#endif
}

/**
 * ue_trace_event_forget() - remove an event, but leave its type number in use
 * @event: the event
 *
 * Context: event_mutex and trace_event_sem held; may sleep.
 */
static inline void ue_trace_event_forget(struct trace_event *event)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	/* In the kernel's list until it reboots. */
	struct trace_event *rest = kzalloc(sizeof(*rest),
					   GFP_KERNEL | __GFP_NOFAIL);

	rest->type = event->type;
	list_replace(&event->list, &rest->list);
#endif
	hlist_del(&event->node);
}

/*
 * The parameter of tracing_update_buffers(). Before 6.7 it has none: only the buffers
 * of the top-level instance can have less than their full size.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define UE_UPDATE_PARAMETER		void
#define UE_UPDATE_ARGUMENT(instance)
#else
#define UE_UPDATE_PARAMETER		struct trace_array *instance
#define UE_UPDATE_ARGUMENT(instance)	(instance)
#endif

/* The device of struct device_type.devnode() is const since 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define UE_DEVNODE_DEVICE	struct device
#else
#define UE_DEVNODE_DEVICE	const struct device
#endif

/* ue_import_ns() - import a namespace of symbols; since 6.13 it is a string */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define ue_import_ns(ns) MODULE_IMPORT_NS(ns)
#else
#define ue_import_ns(ns) MODULE_IMPORT_NS(#ns)
#endif

/* These functions are exported, but no public header declares them. */
#ifdef CONFIG_TINY_RCU
static inline void rcu_expedite_gp(void)
{
}

static inline void rcu_unexpedite_gp(void)
{
}
#else
void rcu_expedite_gp(void);
void rcu_unexpedite_gp(void);
#endif

#endif /* UE_COMPAT_H */
