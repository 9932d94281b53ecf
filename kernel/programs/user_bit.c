// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes one bit in the memory of a program through its page, which is pinned
 * for the write. If the program changes its mappings at the same time, the
 * write still goes to a page that was writable for the program.
 */
#include <linux/atomic.h>
#include <linux/backing-dev.h>
#include <linux/dax.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/pagemap.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd_k.h>
/* Relies on headers above. */
#include <linux/futex.h>
#include <asm/futex.h>

#include "port/compat.h"
#include "programs/user_bit.h"

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

/**
 * struct ue_place - where a bit is written
 * @mm: the address space
 * @holders: how many references to its memory are not the program's
 * @page: the page, which is pinned
 */
struct ue_place {
	struct mm_struct *mm;
	int holders;
	struct page *page;
};

static __always_inline bool ue_has_exited(const struct ue_place *place)
{
	return atomic_read(&place->mm->mm_users) <= place->holders;
}

/*
 * Whether the program has exited is checked again right before the write: after
 * the exit, the parent may use a shared page for something else. The check and
 * the write are a few instructions without preemption. From the exit until the
 * parent can run, it takes much longer.
 *
 * Return: 0; -ESRCH if the program has exited.
 */
static __always_inline int
ue_write_page(const struct ue_place *place, const struct ue_user_bit *bit,
	      bool value)
{
	void *base = kmap_local_page(place->page);
	int err = 0;

	preempt_disable();
	if (ue_has_exited(place))
		err = -ESRCH;
	else
		ue_write_bit(base + offset_in_page(bit->address), bit, value);
	preempt_enable();
	flush_dcache_page(place->page);
	kunmap_local(base);
	return err;
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
static __always_inline int
ue_write_swappable(struct folio *folio, const struct ue_place *place,
		   const struct ue_user_bit *bit, bool value)
{
	int err = ue_write_page(place, bit, value);

	/*
	 * Orders the write before the test of the flag: MADV_FREE clears the
	 * flag before reclaim can discard the page.
	 */
	smp_mb__after_atomic();
	if (unlikely(!folio_test_dirty(folio)))
		folio_set_dirty(folio);
	return err;
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
static noinline int ue_write_file(struct folio *folio,
				  const struct ue_place *place,
				  const struct ue_user_bit *bit, bool value)
{
	int err;

	if (!folio_trylock(folio))
		return -EAGAIN;
	err = ue_make_dirty(folio);
	if (!err)
		err = ue_write_page(place, bit, value);
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
static int ue_write_own_bit(const struct ue_user_bit *bit, bool value)
{
	const bool high = bit->nr >= 32;
	const bool low_first = !IS_ENABLED(CONFIG_CPU_BIG_ENDIAN);
	unsigned long address = bit->address;
	int err, old;

	if (bit->size == sizeof(u64) && high == low_first)
		address += sizeof(u32);

	pagefault_disable();
	err = arch_futex_atomic_op_inuser(value ? FUTEX_OP_OR : FUTEX_OP_ANDN,
					  BIT(bit->nr % 32), &old,
					  (u32 __user *)address);
	pagefault_enable();
	return err;
}

static __always_inline int
ue_write_pinned(const struct ue_place *place, const struct ue_user_bit *bit,
		bool value)
{
	struct folio *folio = page_folio(place->page);

	if (unlikely(!ue_is_swappable(folio)))
		return ue_write_file(folio, place, bit, value);
	return ue_write_swappable(folio, place, bit, value);
}

/* Whether a pinned page was unmapped or truncated after it was faulted in. */
static bool ue_is_unmapped(struct folio *folio)
{
	return folio_test_anon(folio) ? !folio_mapped(folio) : !folio->mapping;
}

int ue_user_bit_write(struct mm_struct *mm, int holders,
		      const struct ue_user_bit *bit, bool value,
		      struct page *page)
{
	struct ue_place place = {
		.mm = mm, .holders = holders, .page = page
	};
	int err = -EAGAIN;

	lockdep_assert_held(&mm->mmap_lock);
	if (page) {
		if (!ue_is_unmapped(page_folio(page)))
			err = ue_write_pinned(&place, bit, value);
	} else if (!ue_pin_may_fault(mm, bit->address) &&
		   ue_pin_page(mm, bit->address, FOLL_WRITE | FOLL_NOFAULT,
			       &place.page, NULL) == 1) {
		err = ue_write_pinned(&place, bit, value);
		unpin_user_page(place.page);
	}
	/* No page fault for a program that has exited. */
	return err == -EAGAIN && ue_has_exited(&place) ? -ESRCH : err;
}

int ue_user_bit_write_own(const struct ue_user_bit *bit, bool value,
			  struct page *page)
{
	if (!ue_write_own_bit(bit, value))
		return 0;
	return page ? ue_user_bit_write(current->mm, 0, bit, value, page) :
		      -EAGAIN;
}

/* Return: false if the bit differs, or if reading it would need a page fault. */
static bool ue_own_bit_is(const struct ue_user_bit *bit, bool value)
{
	unsigned long word;
	u32 half;
	int err;

	pagefault_disable();
	if (bit->size == sizeof(u64)) {
		err = get_user(word, (unsigned long __user *)bit->address);
	} else {
		err = get_user(half, (u32 __user *)bit->address);
		word = half;
	}
	pagefault_enable();
	return !err && (word >> bit->nr & 1) == value;
}

int ue_user_bit_correct_own(const struct ue_user_bit *bit, bool value,
			    struct page *page)
{
	return ue_own_bit_is(bit, value) ? 0 :
	       ue_user_bit_write_own(bit, value, page);
}

bool ue_user_bit_is_shared(struct mm_struct *mm, const struct ue_user_bit *bit)
{
	const struct vm_area_struct *area = ue_find_area(mm, bit->address);

	return area && (area->vm_flags & VM_SHARED);
}

bool ue_user_bit_is_permitted(const struct ue_user_bit *bit)
{
	struct vm_area_struct *area = ue_find_area(current->mm, bit->address);

	/* To write, not to execute, and as the current thread. */
	return !area || arch_vma_access_permitted(area, true, false, false);
}

/* The caller has disabled interrupts, so that no other CPU frees the last table. */
static bool ue_page_is_none(struct mm_struct *mm, unsigned long address)
{
	pgd_t *pgd = pgd_offset(mm, address);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t pmd;

	if (pgd_none(*pgd))
		return true;
	p4d = p4d_offset(pgd, address);
	if (p4d_none(*p4d))
		return true;
	pud = pud_offset(p4d, address);
	if (pud_none(*pud) || pud_leaf(*pud))
		return pud_none(*pud);
	pmd = READ_ONCE(*pmd_offset(pud, address));
	if (pmd_none(pmd) || pmd_leaf(pmd) || !pmd_present(pmd))
		return pmd_none(pmd);
	/* A marker is no page, either. */
	return pte_none_mostly(READ_ONCE(*pte_offset_kernel(&pmd, address)));
}

/* Return: false if the page is present or in swap space. */
static bool ue_is_absent(struct mm_struct *mm, unsigned long address)
{
	unsigned long flags;
	bool absent;

	local_irq_save(flags);
	absent = IS_ENABLED(CONFIG_HIGHPTE) || ue_page_is_none(mm, address);
	local_irq_restore(flags);
	return absent;
}

static bool ue_is_fuse(const struct vm_area_struct *area)
{
	return area->vm_file &&
	       file_inode(area->vm_file)->i_sb->s_magic == FUSE_SUPER_MAGIC;
}

bool ue_user_bit_has_server(struct mm_struct *mm, const struct ue_user_bit *bit)
{
	struct vm_area_struct *area = ue_find_area(mm, bit->address);

	if (!area || !(userfaultfd_armed(area) || ue_is_fuse(area)))
		return false;
	return userfaultfd_wp(area) || (area->vm_flags & VM_SHARED) ||
	       ue_is_absent(mm, bit->address);
}

int ue_user_bit_fault_in(struct mm_struct *mm, const struct ue_user_bit *bit,
			 int *locked, struct page **page)
{
	long pinned;

	lockdep_assert_held(&mm->mmap_lock);
	*locked = 1;
	pinned = ue_pin_page(mm, bit->address, FOLL_WRITE, page, locked);
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
