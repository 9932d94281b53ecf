/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernel versions. No other file compares versions.
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
 * Files of events in tracefs could outlive the event until all of them looked
 * whether it has gone, in 6.11. See event_files.c, which knows no way to mend
 * that since eventfs came.
 */
#define UE_EVENT_FILES_DANGLE (LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0))

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) && \
	!defined(UE_EVENT_FILES_MAY_DANGLE)
#error "Linux 6.6 to 6.10 use the memory of events that have gone; see README.md"
#endif

/**
 * ue_pin_may_fault() - does the kernel take faults in spite of FOLL_NOFAULT?
 * @mm: as below
 * @address: as below
 *
 * Up to 6.5 it did in huge pages of hugetlbfs: follow_hugetlb_page() looked at
 * other flags only.
 */
static inline bool ue_pin_may_fault(struct mm_struct *mm,
				    unsigned long address)
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
 * @flags: FOLL_NOFAULT for a page that need not be waited for, or 0
 * @page: set to the pinned page, to be given back with unpin_user_page()
 * @locked: set to 0 when the mmap_lock is not held any more; NULL with
 *	FOLL_NOFAULT. Waits for the lock are killable.
 *
 * Return: 1, or an errno.
 */
static inline long ue_pin_page(struct mm_struct *mm, unsigned long address,
			       unsigned int flags, struct page **page,
			       int *locked)
{
	flags |= FOLL_WRITE;
	/* The array of areas went away in 6.5. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return pin_user_pages_remote(mm, address, 1, flags, page, NULL,
				     locked);
#else
	return pin_user_pages_remote(mm, address, 1, flags, page, locked);
#endif
}

/**
 * ue_iter_iovec() - the parts of the program's memory that a writev() names
 * @iter: as the file's write_iter() got it
 *
 * Return: the first of @iter->nr_segs parts, none of them begun; NULL where it
 * is not made of such.
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

/* What fits into any sub-buffer: they are a page or more. */
#define UE_RING_BUFFER_MIN_RECORD \
	(PAGE_SIZE - sizeof(u64) - sizeof(local_t) - 2 * sizeof(u32))

/**
 * ue_ring_buffer_max_record() - the largest record a ring buffer can hold
 * @buffer: the ring buffer
 *
 * Return: bytes, the record's common fields included.
 */
static inline size_t ue_ring_buffer_max_record(struct trace_buffer *buffer)
{
	/* Sub-buffers of more than a page came with 6.8. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	return UE_RING_BUFFER_MIN_RECORD;
#else
	return ring_buffer_max_event_size(buffer);
#endif
}

/*
 * A table of sysctls ended with an empty entry up to 6.5; since 6.6 its size
 * is given, and since 6.11 an empty entry is refused.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define UE_SYSCTL_TABLE_END	{ }
#else
#define UE_SYSCTL_TABLE_END
#endif

#endif /* UE_COMPAT_H */
