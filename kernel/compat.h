/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel versions. No other file compares versions.
 */
#ifndef UE_COMPAT_H
#define UE_COMPAT_H

#include <linux/hugetlb_inline.h>
#include <linux/mm.h>
#include <linux/ring_buffer.h>
#include <linux/sysctl.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <asm/local.h>

/* Moved in 6.12. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/unaligned.h>
#endif

/*
 * Before 6.11, using an open tracefs file of a removed event is a
 * use-after-free in the kernel. event_files.c works around it up to 6.5. It
 * can't do so for the eventfs of 6.6 and later.
 */
#define UE_KEEP_EVENT_FILES (LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0))

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) && \
	!defined(UE_EVENT_FILES_FIXED)
#error "Linux 6.6 to 6.10 are not supported: they use freed memory of removed events; see Documentation/admin-guide.rst"
#endif

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
	struct vm_area_struct *area = vma_lookup(mm, address);

	return area && is_vm_hugetlb_page(area);
#else
	return false;
#endif
}

/**
 * ue_pin_page() - pin one page of a program for writing
 * @mm: the program's address space, its mmap_lock held for reading
 * @address: any address in the page
 * @flags: FOLL_NOFAULT to fail instead of handling a page fault, or 0
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
	flags |= FOLL_WRITE;
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

/*
 * Up to 6.5 a table of sysctls ends with an empty entry. Since 6.6 the kernel
 * gets the size of the table, and since 6.11 it refuses an empty entry.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define UE_SYSCTL_TABLE_END	{ }
#else
#define UE_SYSCTL_TABLE_END
#endif

#endif /* UE_COMPAT_H */
