// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes one bit in the memory of a program through its page, which is pinned
 * for the write. If the program changes its mappings at the same time, the
 * write still goes to a page that was writable for the program.
 */
#include <linux/atomic.h>
#include <linux/backing-dev.h>
#include <linux/dax.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
/* Relies on headers above. */
#include <linux/futex.h>
#include <asm/futex.h>

#include "compat.h"
#include "user_bit.h"

static __always_inline void
ue_write_bit(void *at, const struct ue_user_bit *bit, bool value)
{
	if (bit->size == sizeof(u64)) {
		if (value)
			atomic64_or(BIT_ULL(bit->nr), at);
		else
			atomic64_andnot(BIT_ULL(bit->nr), at);
	} else {
		if (value)
			atomic_or(BIT(bit->nr), at);
		else
			atomic_andnot(BIT(bit->nr), at);
	}
}

static __always_inline void
ue_write_page(struct page *page, const struct ue_user_bit *bit, bool value)
{
	void *base = kmap_local_page(page);

	ue_write_bit(base + offset_in_page(bit->address), bit, value);
	flush_dcache_page(page);
	kunmap_local(base);
}

/* Anonymous and shmem pages are written to swap space, never to a file. */
static __always_inline bool ue_is_swappable(struct folio *folio)
{
	return folio_test_anon(folio) || folio_test_swapbacked(folio);
}

/* The caller has locked the page, so that its mapping cannot change. */
static bool ue_has_write_back(struct folio *folio)
{
	struct address_space *mapping = folio_mapping(folio);

	return mapping && mapping_can_writeback(mapping) &&
	       !dax_mapping(mapping);
}

/*
 * Reclaim skips a pinned page. For a swappable page it is enough to set the
 * dirty flag (noop_dirty_folio()). The flag is set after the bit is written. If it were
 * set before, MADV_FREE could clear it, and reclaim would discard the write.
 */
static __always_inline void
ue_write_swappable(struct folio *folio, struct page *page,
		   const struct ue_user_bit *bit, bool value)
{
	ue_write_page(page, bit, value);
	/*
	 * Orders the write before the test of the flag: MADV_FREE clears the
	 * flag before reclaim can discard the page.
	 */
	smp_mb__after_atomic();
	if (unlikely(!folio_test_dirty(folio)))
		folio_set_dirty(folio);
}

/*
 * The caller has locked the page. A clean page whose mapping can write back may
 * become dirty only by a page fault, which notifies the file system.
 */
static int ue_make_dirty(struct folio *folio)
{
	if (folio_test_dirty(folio))
		return 0;
	if (ue_has_write_back(folio))
		return -EAGAIN;
	folio_mark_dirty(folio);
	return 0;
}

/* Write-back of the page cannot begin while the page is locked. */
static noinline int ue_write_file(struct folio *folio, struct page *page,
				  const struct ue_user_bit *bit, bool value)
{
	int err;

	if (!folio_trylock(folio))
		return -EAGAIN;
	err = ue_make_dirty(folio);
	if (!err)
		ue_write_page(page, bit, value);
	folio_unlock(folio);
	return err;
}

/*
 * Waits until a file's page is unlocked. Without the wait, a page that is
 * locked for long would use up all attempts of the caller. The page is pinned,
 * so the mmap_lock need not be held while waiting.
 */
static int ue_wait_for_page(struct mm_struct *mm, struct folio *folio,
			    int *locked)
{
	if (ue_is_swappable(folio) || !folio_test_locked(folio))
		return 0;
	if (*locked)
		mmap_read_unlock(mm);
	*locked = 0;
	if (folio_lock_killable(folio))
		return -EINTR;
	folio_unlock(folio);
	return 0;
}

/* The futex operation has 32 bits: it is applied to the half with the bit. */
static int ue_clear_own_bit(const struct ue_user_bit *bit)
{
	const bool high = bit->nr >= 32;
	const bool low_first = !IS_ENABLED(CONFIG_CPU_BIG_ENDIAN);
	unsigned long address = bit->address;
	int err, old;

	if (bit->size == sizeof(u64) && high == low_first)
		address += sizeof(u32);

	pagefault_disable();
	err = arch_futex_atomic_op_inuser(FUTEX_OP_ANDN, BIT(bit->nr % 32),
					  &old, (u32 __user *)address);
	pagefault_enable();
	return err;
}

static __always_inline int
ue_write_pinned(struct page *page, const struct ue_user_bit *bit, bool value)
{
	struct folio *folio = page_folio(page);

	if (unlikely(!ue_is_swappable(folio)))
		return ue_write_file(folio, page, bit, value);
	ue_write_swappable(folio, page, bit, value);
	return 0;
}

/* Whether a pinned page was unmapped or truncated after it was faulted in. */
static bool ue_is_unmapped(struct folio *folio)
{
	return folio_test_anon(folio) ? !folio_mapped(folio) : !folio->mapping;
}

int ue_user_bit_write(struct mm_struct *mm, const struct ue_user_bit *bit,
		      bool value, struct page *page)
{
	const bool faulted_in = page;
	int err;

	mmap_assert_locked(mm);
	if (faulted_in && ue_is_unmapped(page_folio(page)))
		return -EAGAIN;
	if (!faulted_in &&
	    (ue_pin_may_fault(mm, bit->address) ||
	     ue_pin_page(mm, bit->address, FOLL_NOFAULT, &page, NULL) != 1))
		return -EAGAIN;
	err = ue_write_pinned(page, bit, value);
	if (!faulted_in)
		unpin_user_page(page);
	return err;
}

int ue_user_bit_clear(struct mm_struct *mm, const struct ue_user_bit *bit,
		      struct page *page)
{
	if (mm == current->mm && !ue_clear_own_bit(bit))
		return 0;
	return ue_user_bit_write(mm, bit, false, page);
}

int ue_user_bit_fault_in(struct mm_struct *mm, const struct ue_user_bit *bit,
			 int *locked, struct page **page)
{
	long pinned;

	mmap_assert_locked(mm);
	*locked = 1;
	pinned = ue_pin_page(mm, bit->address, 0, page, locked);
	if (pinned == 1) {
		pinned = ue_wait_for_page(mm, page_folio(*page), locked);
		if (*locked)
			return 0;
		unpin_user_page(*page);
	}
	*page = NULL;

	switch (pinned) {
	case 0:
	case -ENOMEM:
	case -EINTR:
		return pinned;
	default:
		return -EFAULT;
	}
}
