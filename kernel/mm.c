// SPDX-License-Identifier: GPL-2.0-only
/*
 * The address spaces that the module tracks, in a hash table by mm_struct.
 */
#include <linux/hash.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "debug_counter.h"
#include "enabler.h"
#include "mm.h"

/* The table's default function would not be inlined. */
static u32 ue_hash_mm(const void *key, u32 length, u32 seed)
{
	return hash_ptr(*(struct mm_struct * const *)key, 32) ^ seed;
}

static const struct rhashtable_params ue_by_mm_params = {
	.hashfn = ue_hash_mm,
	.key_len = sizeof(struct mm_struct *),
	.key_offset = offsetof(struct ue_mm, notifier.mm),
	.head_offset = offsetof(struct ue_mm, by_mm),
	.automatic_shrinking = true,
};

/* Changed with ue_enabler_mutex held; read with it or under RCU. */
static struct rhashtable ue_by_mm;

struct ue_mm *ue_mm_create(void)
{
	struct ue_mm *ue_mm = kzalloc(sizeof(*ue_mm), GFP_KERNEL_ACCOUNT);

	if (ue_mm) {
		ue_debug_count(UE_COUNT_MMS, 1);
		refcount_set(&ue_mm->references, 1);
		INIT_LIST_HEAD(&ue_mm->wait.node);
		spin_lock_init(&ue_mm->lock);
	}
	return ue_mm;
}

/* A lookup under RCU may still read the structure. */
void ue_mm_put(struct ue_mm *ue_mm)
{
	if (!refcount_dec_and_test(&ue_mm->references))
		return;
	ue_debug_count(UE_COUNT_MMS, -1);
	kfree_rcu(ue_mm, rcu);
}

struct ue_mm *ue_mm_find_current(void)
{
	struct mm_struct *mm = current->mm;

	return rhashtable_lookup_fast(&ue_by_mm, &mm, ue_by_mm_params);
}

int ue_mm_insert(struct ue_mm *ue_mm)
{
	int err;

	lockdep_assert_held(&ue_enabler_mutex);
	err = rhashtable_lookup_insert_fast(&ue_by_mm, &ue_mm->by_mm,
					    ue_by_mm_params);
	return err && err != -EEXIST ? -ENOMEM : err;
}

void ue_mm_erase(struct ue_mm *ue_mm)
{
	lockdep_assert_held(&ue_enabler_mutex);
	rhashtable_remove_fast(&ue_by_mm, &ue_mm->by_mm, ue_by_mm_params);
}

int ue_mm_table_init(void)
{
	return rhashtable_init(&ue_by_mm, &ue_by_mm_params);
}

void ue_mm_table_exit(void (*detach)(void *ue_mm, void *unused))
{
	lockdep_assert_held(&ue_enabler_mutex);
	rhashtable_free_and_destroy(&ue_by_mm, detach, NULL);
}
