// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes one bit into a program's memory, through a page pinned for just that
 * long: whatever the program does to its mappings meanwhile, the write goes
 * to a page that was its own and writable.
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
/* Lacks some of the above. */
#include <linux/futex.h>
#include <asm/futex.h>

#include "compat.h"
#include "user_word.h"

static __always_inline void ue_write_bit(void *at,
					 const struct ue_user_bit *word,
					 bool value)
{
	if (word->size == sizeof(u64)) {
		if (value)
			atomic64_or(BIT_ULL(word->bit), at);
		else
			atomic64_andnot(BIT_ULL(word->bit), at);
	} else {
		if (value)
			atomic_or(BIT(word->bit), at);
		else
			atomic_andnot(BIT(word->bit), at);
	}
}

static __always_inline void ue_write_page(struct page *page,
					  const struct ue_user_bit *word,
					  bool value)
{
	void *base = kmap_local_page(page);

	ue_write_bit(base + offset_in_page(word->address), word, value);
	flush_dcache_page(page);
	kunmap_local(base);
}

/* Is it written to swap space at most, and so to no file? */
static __always_inline bool ue_is_swappable(struct folio *folio)
{
	return folio_test_anon(folio) || folio_test_swapbacked(folio);
}

/* Is it a page of a file that is written back? The page is locked. */
static bool ue_is_written_back(struct folio *folio)
{
	struct address_space *mapping = folio_mapping(folio);

	return mapping && mapping_can_writeback(mapping) &&
	       !dax_mapping(mapping);
}

/*
 * Reclaim leaves alone what is pinned, and the flag is all that there is to being
 * dirty for such a page (noop_dirty_folio()). It comes after the bit: the program
 * may just be giving the page back (MADV_FREE), which takes it away.
 */
static __always_inline void ue_write_memory(struct folio *folio,
					    struct page *page,
					    const struct ue_user_bit *word,
					    bool value)
{
	ue_write_page(page, word, value);
	/* Pairs with the clearing of the flag, which comes before that of the page. */
	smp_mb__after_atomic();
	if (unlikely(!folio_test_dirty(folio)))
		folio_set_dirty(folio);
}

/*
 * The page is locked. Only a fault, of which the file is told, may make it dirty
 * when it is written back.
 */
static int ue_dirty_file(struct folio *folio)
{
	if (folio_test_dirty(folio))
		return 0;
	if (ue_is_written_back(folio))
		return -EAGAIN;
	folio_mark_dirty(folio);
	return 0;
}

/* Nobody begins to write the page back while it is locked. */
static noinline int ue_write_file(struct folio *folio, struct page *page,
				  const struct ue_user_bit *word, bool value)
{
	int err;

	if (!folio_trylock(folio))
		return -EAGAIN;
	err = ue_dirty_file(folio);
	if (!err)
		ue_write_page(page, word, value);
	folio_unlock(folio);
	return err;
}

/*
 * Waits until the page of a file is not locked: what another has locked for long
 * would be passed over again and again otherwise. It is pinned, so that the
 * mmap_lock need not be held.
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

/* As the current task would itself. Halves of 64 bits are words of 32. */
static int ue_clear_own_bit(const struct ue_user_bit *word)
{
	const bool high = word->bit >= 32;
	const bool low_first = !IS_ENABLED(CONFIG_CPU_BIG_ENDIAN);
	unsigned long address = word->address;
	int err, old;

	if (word->size == sizeof(u64) && high == low_first)
		address += sizeof(u32);

	pagefault_disable();
	err = arch_futex_atomic_op_inuser(FUTEX_OP_ANDN, BIT(word->bit % 32),
					  &old, (u32 __user *)address);
	pagefault_enable();
	return err;
}

static __always_inline int ue_write_pinned(struct page *page,
					   const struct ue_user_bit *word,
					   bool value)
{
	struct folio *folio = page_folio(page);

	if (unlikely(!ue_is_swappable(folio)))
		return ue_write_file(folio, page, word, value);
	ue_write_memory(folio, page, word, value);
	return 0;
}

/* Has a page been taken away since it was brought in? Another is there, or none. */
static bool ue_is_gone(struct folio *folio)
{
	return folio_test_anon(folio) ? !folio_mapped(folio) : !folio->mapping;
}

int ue_user_bit_write(struct mm_struct *mm, const struct ue_user_bit *word,
		      bool value, struct page *page)
{
	const bool brought_in = page;
	int err;

	mmap_assert_locked(mm);
	if (brought_in && ue_is_gone(page_folio(page)))
		return -EAGAIN;
	if (!brought_in &&
	    (ue_pin_may_fault(mm, word->address) ||
	     ue_pin_page(mm, word->address, FOLL_NOFAULT, &page, NULL) != 1))
		return -EAGAIN;
	err = ue_write_pinned(page, word, value);
	if (!brought_in)
		unpin_user_page(page);
	return err;
}

int ue_user_bit_clear(struct mm_struct *mm, const struct ue_user_bit *word,
		      struct page *page)
{
	if (mm == current->mm && !ue_clear_own_bit(word))
		return 0;
	return ue_user_bit_write(mm, word, false, page);
}

int ue_user_bit_fault_in(struct mm_struct *mm, const struct ue_user_bit *word,
			 int *locked, struct page **page)
{
	long pinned;

	mmap_assert_locked(mm);
	*locked = 1;
	pinned = ue_pin_page(mm, word->address, 0, page, locked);
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
