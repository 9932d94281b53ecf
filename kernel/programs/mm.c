// SPDX-License-Identifier: GPL-2.0-only
/*
 * The address spaces that the module tracks, in a hash table by mm_struct; and
 * the copies that it will track when a fork ends.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "port/debug_counter.h"
#include "programs/enabler.h"
#include "programs/mm.h"

/* For how many forked children memory is reserved. */
#define UE_MMS_RESERVED		64

/* The table's default function would not be inlined. */
static u32 ue_hash_mm(const void *key, u32 length, u32 seed)
{
	return hash_long(*(const unsigned long *)key ^ seed, 32);
}

/* The default compares bytes, by a call of memcmp(). */
static int ue_compare_mm(struct rhashtable_compare_arg *arg, const void *ue_mm)
{
	return ((const struct ue_mm *)ue_mm)->mm !=
	       *(struct mm_struct *const *)arg->key;
}

static const struct rhashtable_params ue_by_mm_params = {
	.hashfn = ue_hash_mm,
	.obj_cmpfn = ue_compare_mm,
	.key_len = sizeof(struct mm_struct *),
	.key_offset = offsetof(struct ue_mm, mm),
	.head_offset = offsetof(struct ue_mm, of_table),
	.automatic_shrinking = true,
};

/* Has locks of its own; read under RCU. */
static struct rhashtable ue_by_mm;

static struct kmem_cache *ue_mm_cache;
static mempool_t *ue_mm_pool;

struct ue_mm *ue_mm_create(struct mm_struct *mm, gfp_t gfp)
{
	struct ue_mm *ue_mm = gfpflags_allow_blocking(gfp) ?
		kmem_cache_alloc(ue_mm_cache, gfp) : mempool_alloc(ue_mm_pool, gfp);

	if (!ue_mm)
		return NULL;
	ue_debug_count(UE_COUNT_MMS, 1);
	memset(ue_mm, 0, sizeof(*ue_mm));
	mmgrab(mm);
	ue_mm->mm = mm;
	refcount_set(&ue_mm->references, 1);
	spin_lock_init(&ue_mm->lock);
	return ue_mm;
}

static void ue_mm_free(struct rcu_head *rcu)
{
	mempool_free(container_of(rcu, struct ue_mm, rcu), ue_mm_pool);
}

/* A lookup under RCU may still read the structure. */
void ue_mm_put(struct ue_mm *ue_mm)
{
	if (!refcount_dec_and_test(&ue_mm->references))
		return;
	ue_debug_count(UE_COUNT_MMS, -1);
	mmdrop(ue_mm->mm);
	call_rcu(&ue_mm->rcu, ue_mm_free);
}

struct ue_mm *ue_mm_find(struct mm_struct *mm)
{
	return rhashtable_lookup_fast(&ue_by_mm, &mm, ue_by_mm_params);
}

DEFINE_PER_CPU(struct ue_known_scopes, ue_known_scopes);
atomic_long_t ue_scope_changes;

/* For RCU, it is enough that preemption is disabled. Only lockdep does not know. */
u64 ue_mm_look_up_scopes(struct ue_known_scopes *known, long changes)
{
	struct mm_struct *mm = current->mm;
	const struct ue_mm *ue_mm = IS_ENABLED(CONFIG_PROVE_RCU) ? ue_mm_find(mm) :
		rhashtable_lookup(&ue_by_mm, &mm, ue_by_mm_params);

	*known = (struct ue_known_scopes){
		.mm = mm,
		.changes = changes,
		.scopes = ue_mm ? READ_ONCE(ue_mm->scopes) : 0,
	};
	return known->scopes;
}

int ue_mm_insert(struct ue_mm *ue_mm)
{
	int err = rhashtable_lookup_insert_fast(&ue_by_mm, &ue_mm->of_table,
						ue_by_mm_params);

	ue_mm_scopes_changed();
	return err && err != -EEXIST ? -ENOMEM : err;
}

/*
 * Fills an array with references to what is in the table. Fails if the table was resized,
 * or has become larger than the array; the references taken so far are then put.
 */
static int ue_mms_fill(struct ue_mm **mms, unsigned int max)
{
	struct rhashtable_iter walk;
	struct ue_mm *ue_mm;
	unsigned int nr = 0;
	int err = 0;

	rhashtable_walk_enter(&ue_by_mm, &walk);
	rhashtable_walk_start(&walk);
	while (!err && (ue_mm = rhashtable_walk_next(&walk))) {
		if (IS_ERR(ue_mm) || nr == max)
			err = -EAGAIN;
		else if (refcount_inc_not_zero(&ue_mm->references))
			mms[nr++] = ue_mm;
	}
	rhashtable_walk_stop(&walk);
	rhashtable_walk_exit(&walk);
	while (err && nr)
		ue_mm_put(mms[--nr]);
	return err ?: nr;
}

int ue_mms_get(struct ue_mm ***mms)
{
	int nr = -EAGAIN;

	while (nr == -EAGAIN) {
		const unsigned int max = atomic_read(&ue_by_mm.nelems) + 64;

		*mms = kvmalloc_array(max, sizeof(**mms), GFP_KERNEL);
		if (!*mms)
			return -ENOMEM;
		nr = ue_mms_fill(*mms, max);
		if (nr < 0)
			kvfree(*mms);
		cond_resched();
	}
	return nr;
}

void ue_mm_erase(struct ue_mm *ue_mm)
{
	rhashtable_remove_fast(&ue_by_mm, &ue_mm->of_table, ue_by_mm_params);
	ue_mm_scopes_changed();
}

/*
 * A table instead of a list, because nothing can be allocated where forks are
 * noted. The table has no lock: only the tasks of a fork look for the entry of
 * that fork. The size is the number of forks that can be between steps 2 and 4
 * (fork.c) at a time.
 */
#define UE_PENDING_FORKS_MAX	64

static struct mm_struct *ue_pending_forks[UE_PENDING_FORKS_MAX];
/* At least the number of entries in the table. */
static atomic_t ue_nr_pending_forks;

bool ue_pending_fork_add(struct mm_struct *mm)
{
	/* First, because ue_pending_fork_take() relies on it. */
	atomic_inc(&ue_nr_pending_forks);
	for (int i = 0; i < UE_PENDING_FORKS_MAX; i++) {
		if (!cmpxchg(&ue_pending_forks[i], NULL, mm))
			return true;
	}
	atomic_dec(&ue_nr_pending_forks);
	return false;
}

bool ue_pending_fork_take(const struct mm_struct *mm)
{
	if (likely(!atomic_read(&ue_nr_pending_forks)))
		return false;
	for (int i = 0; i < UE_PENDING_FORKS_MAX; i++) {
		if (READ_ONCE(ue_pending_forks[i]) != mm)
			continue;
		WRITE_ONCE(ue_pending_forks[i], NULL);
		atomic_dec(&ue_nr_pending_forks);
		return true;
	}
	return false;
}

static void ue_mm_pool_destroy(void)
{
	mempool_destroy(ue_mm_pool);
	kmem_cache_destroy(ue_mm_cache);
}

int ue_mm_table_init(void)
{
	int err = -ENOMEM;

	ue_mm_cache = ue_cache_create("mm", sizeof(struct ue_mm));
	ue_mm_pool = NULL;
	if (ue_mm_cache)
		ue_mm_pool = mempool_create_slab_pool(UE_MMS_RESERVED, ue_mm_cache);
	if (ue_mm_pool)
		err = rhashtable_init(&ue_by_mm, &ue_by_mm_params);
	if (err)
		ue_mm_pool_destroy();
	return err;
}

void ue_mm_table_exit(void (*detach)(void *ue_mm, void *unused))
{
	rhashtable_free_and_destroy(&ue_by_mm, detach, NULL);
	/* Waits for ue_mm_free(). */
	rcu_barrier();
	ue_mm_pool_destroy();
}
