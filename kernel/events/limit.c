// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits, and the buckets of their tokens. No lock is taken but to add a process.
 *
 * A bucket that is full says nothing about its process: after a second without a payload,
 * it may be freed. While a limit has processes, a work item frees such ones every second. So
 * nothing has to watch processes.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "events/limit.h"
#include "port/compat.h"
#include "port/debug_counter.h"

/* How many processes the work item looks at while it holds the lock. */
#define UE_LOOKED_AT		64

/* ue_untold.nr of a process that the limit has forgotten: no count reaches 0 from this value. */
#define UE_FORGOTTEN		(LONG_MIN / 2)

/**
 * struct ue_untold - suppressed payloads that ue_limit_collect() has not told
 * @nr: how many; negative after UE_FORGOTTEN
 * @since: when @nr last became 1, in jiffies; set after @nr, so it may be outdated for a moment
 */
struct ue_untold {
	atomic_long_t nr;
	unsigned long since;
};

/**
 * struct ue_program - a process
 * @of_table: entry in the limit's table
 * @node: entry in the limit's list; protected by its lock
 * @process: the number of the process
 * @bucket: the tokens, if each process has a bucket; else only its @filled is used:
 *	when the process last began to have suppressed payloads
 * @untold: its suppressed payloads
 * @untold_node: entry in the limit's @untold_programs, while there are such payloads
 * @rcu: frees the memory
 */
struct ue_program {
	struct rhash_head of_table;
	struct list_head node;
	pid_t process;
	struct ue_bucket bucket;
	struct ue_untold untold;
	struct llist_node untold_node;
	struct rcu_head rcu;
};

/**
 * struct ue_limit - a limit
 * @terms: what it allows
 * @countdown: on each CPU, how many payloads are left out before the next one that is recorded;
 *	NULL without sampling
 * @bucket: the tokens of all programs, or of the processes for which no bucket could be allocated
 * @suppressed: how many payloads have found no token
 * @untold: those that were not told of yet, of processes without a struct ue_program
 * @untold_programs: the processes whose own count of these is not 0, by @untold_node
 * @collected: when ue_limit_collect() was called last, in jiffies
 * @programs: of struct ue_program, by the number; read under RCU. If each process has a bucket,
 *	all processes that write; otherwise those that have suppressed payloads. Without a rate
 *	there is no table.
 * @to_look_at: the same processes; the first was not looked at for the longest time
 * @lock: serializes changes of @programs, and protects @to_look_at
 * @look: looks at them, while there are some
 * @rcu: when writes in progress have ended, adds the limit to ue_limits_unused
 * @unused_node: entry in ue_limits_unused
 */
struct ue_limit {
	struct ue_rule_limit terms;
	u32 __percpu *countdown;
	struct ue_bucket bucket;
	atomic_long_t suppressed;
	struct ue_untold untold;
	struct llist_head untold_programs;
	unsigned long collected;
	struct rhashtable programs;
	struct list_head to_look_at;
	spinlock_t lock;
	struct delayed_work look;
	union {
		struct rcu_head rcu;
		struct llist_node unused_node;
	};
};

/*
 * A program that chooses numbers of processes cannot choose which of them are in one list. Cheaper
 * than jhash().
 */
static u32 ue_hash_process(const void *process, u32 length, u32 seed)
{
	const u64 product = (*(const pid_t *)process ^ seed) * GOLDEN_RATIO_64;

	return ((product ^ product >> 32) * GOLDEN_RATIO_64) >> 32;
}

/* The default compares bytes, by a call of memcmp(). */
static int ue_compare_process(struct rhashtable_compare_arg *arg, const void *program)
{
	return ((const struct ue_program *)program)->process != *(const pid_t *)arg->key;
}

/* Most limits are for few processes at a time: a table begins with the fewest lists. */
static const struct rhashtable_params ue_by_process_params = {
	.hashfn = ue_hash_process,
	.obj_cmpfn = ue_compare_process,
	.key_len = sizeof(pid_t),
	.key_offset = offsetof(struct ue_program, process),
	.head_offset = offsetof(struct ue_program, of_table),
	.nelem_hint = 1,
	.automatic_shrinking = true,
};

void ue_bucket_init(struct ue_bucket *bucket, u32 rate, unsigned long now)
{
	*bucket = (struct ue_bucket){ .filled = now };
	atomic_long_set(&bucket->tokens, rate);
}

/* Return: how many tokens come in the @elapsed jiffies after the jiffy @from. */
static long ue_tokens_due(u32 rate, unsigned long from, unsigned long elapsed)
{
	/*
	 * A whole second brings a whole number of tokens. So it only matters where in its second
	 * @from is.
	 */
	const u64 begin = from % HZ;

	if (elapsed >= HZ)
		return rate;
	return div_u64((begin + elapsed) * rate, HZ) - div_u64(begin * rate, HZ);
}

/* Another task may have read jiffies later than this task, but not by as much as this. */
#define UE_TIME_AHEAD	(10UL * HZ)

/* If another task adds the tokens, or has a later time, nothing is done. */
static noinline void ue_bucket_fill(struct ue_bucket *bucket, u32 rate,
				    unsigned long filled, unsigned long now)
{
	long tokens, more;

	/* Also nothing if @filled is so old that it looks later than @now. */
	if (filled - now < UE_TIME_AHEAD ||
	    cmpxchg(&bucket->filled, filled, now) != filled)
		return;
	tokens = atomic_long_read(&bucket->tokens);
	do {
		more = max(tokens, 0L) + ue_tokens_due(rate, filled, now - filled);
	} while (!atomic_long_try_cmpxchg(&bucket->tokens, &tokens,
					  min_t(long, more, rate)));
}

/* In a jiffy, no more payloads are written than a long can count. */
static __always_inline bool ue_bucket_has_token(struct ue_bucket *bucket)
{
	return atomic_long_dec_return(&bucket->tokens) >= 0;
}

bool ue_bucket_take(struct ue_bucket *bucket, u32 rate, unsigned long now)
{
	const unsigned long filled = READ_ONCE(bucket->filled);

	if (unlikely(now != filled))
		ue_bucket_fill(bucket, rate, filled, now);
	return ue_bucket_has_token(bucket);
}

static void ue_limits_free_unused(struct work_struct *work);

static LLIST_HEAD(ue_limits_unused);
static DECLARE_WORK(ue_limits_work, ue_limits_free_unused);

static void ue_program_free(void *program, void *arg)
{
	kfree(program);
}

/* The end of a table waits for the work item that resizes it. */
static void ue_limit_free_now(struct ue_limit *limit)
{
	cancel_delayed_work_sync(&limit->look);
	if (limit->terms.rate)
		rhashtable_free_and_destroy(&limit->programs, ue_program_free, NULL);
	free_percpu(limit->countdown);
	kfree(limit);
	ue_debug_count(UE_COUNT_LIMITS, -1);
}

static void ue_limits_free_unused(struct work_struct *work)
{
	struct ue_limit *limit, *next;

	llist_for_each_entry_safe(limit, next, llist_del_all(&ue_limits_unused), unused_node)
		ue_limit_free_now(limit);
}

/* An RCU callback must not wait. */
static void ue_limit_unused(struct rcu_head *rcu)
{
	llist_add(&container_of(rcu, struct ue_limit, rcu)->unused_node, &ue_limits_unused);
	queue_work(ue_unbound_wq, &ue_limits_work);
}

void ue_limit_free(struct ue_limit *limit)
{
	if (limit)
		call_rcu(&limit->rcu, ue_limit_unused);
}

void ue_limits_flush(void)
{
	rcu_barrier();
	flush_work(&ue_limits_work);
}

const struct ue_rule_limit *ue_limit_terms(const struct ue_limit *limit)
{
	static const struct ue_rule_limit none;

	return limit ? &limit->terms : &none;
}

/* The countdowns begin at random, so that the first payloads are neither preferred nor left out. */
static int ue_limit_begin_sampling(struct ue_limit *limit)
{
	int cpu;

	if (limit->terms.sample <= 1)
		return 0;
	limit->countdown = alloc_percpu(u32);
	if (!limit->countdown)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		u32 *left = per_cpu_ptr(limit->countdown, cpu);

		*left = get_random_u32() % limit->terms.sample;
	}
	return 0;
}

/*
 * An idle bucket is as full as a new one. A task that has found this one just before may still take
 * a token, which is lost. If its payload is suppressed, it counts in the @untold of the limit.
 * Return: whether the process was idle.
 */
static bool ue_program_forget_idle(struct ue_program *program)
{
	return time_after_eq(jiffies, READ_ONCE(program->bucket.filled) + HZ) &&
	       !atomic_long_cmpxchg(&program->untold.nr, 0, UE_FORGOTTEN);
}

static void ue_programs_look_at_first(struct ue_limit *limit)
{
	struct ue_program *program =
		list_first_entry(&limit->to_look_at, struct ue_program, node);

	list_move_tail(&program->node, &limit->to_look_at);
	if (!ue_program_forget_idle(program))
		return;
	list_del(&program->node);
	rhashtable_remove_fast(&limit->programs, &program->of_table,
			       ue_by_process_params);
	kfree_rcu(program, rcu);
}

/* Preemption is disabled for a part of the processes at a time. */
static void ue_limit_look(struct work_struct *work)
{
	struct ue_limit *limit = container_of(to_delayed_work(work), struct ue_limit, look);
	unsigned int left = atomic_read(&limit->programs.nelems);

	while (left) {
		unsigned int nr = min_t(unsigned int, left, UE_LOOKED_AT);

		left -= nr;
		spin_lock_bh(&limit->lock);
		while (nr-- && !list_empty(&limit->to_look_at))
			ue_programs_look_at_first(limit);
		spin_unlock_bh(&limit->lock);
		cond_resched();
	}
	spin_lock_bh(&limit->lock);
	if (!list_empty(&limit->to_look_at))
		queue_delayed_work(ue_unbound_wq, &limit->look, HZ);
	spin_unlock_bh(&limit->lock);
}

int ue_limit_create(const struct ue_rule_limit *terms, struct ue_limit **result)
{
	struct ue_limit *limit;
	int err;

	*result = NULL;
	if (!terms->rate && !terms->sample)
		return 0;
	limit = kzalloc(sizeof(*limit), GFP_KERNEL);
	if (!limit)
		return -ENOMEM;
	limit->terms = *terms;
	INIT_LIST_HEAD(&limit->to_look_at);
	spin_lock_init(&limit->lock);
	INIT_DELAYED_WORK(&limit->look, ue_limit_look);
	ue_bucket_init(&limit->bucket, terms->rate, jiffies);
	limit->collected = jiffies;
	err = ue_limit_begin_sampling(limit);
	if (!err && terms->rate)
		err = rhashtable_init(&limit->programs, &ue_by_process_params);
	if (err) {
		free_percpu(limit->countdown);
		kfree(limit);
		return err;
	}
	ue_debug_count(UE_COUNT_LIMITS, 1);
	*result = limit;
	return 0;
}

/* For RCU, it is enough that preemption is disabled. Only lockdep does not know. */
static struct ue_program *ue_program_find(struct ue_limit *limit, pid_t process)
{
	return IS_ENABLED(CONFIG_PROVE_RCU) ?
	       rhashtable_lookup_fast(&limit->programs, &process, ue_by_process_params) :
	       rhashtable_lookup(&limit->programs, &process, ue_by_process_params);
}

/* Return: @new, or what another thread has added; an error pointer if memory is short. */
static struct ue_program *ue_program_insert(struct ue_limit *limit,
					    struct ue_program *new)
{
	struct ue_program *found;

	spin_lock_bh(&limit->lock);
	found = rhashtable_lookup_get_insert_fast(&limit->programs, &new->of_table,
						  ue_by_process_params);
	if (!found) {
		list_add_tail(&new->node, &limit->to_look_at);
		queue_delayed_work(ue_unbound_wq, &limit->look, HZ);
	}
	spin_unlock_bh(&limit->lock);
	return found ?: new;
}

/* Return: NULL if memory is short. With PREEMPT_RT nothing can be allocated here. */
static noinline struct ue_program *ue_program_add(struct ue_limit *limit)
{
	struct ue_program *new, *program;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return NULL;
	new = kzalloc(sizeof(*new), GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!new)
		return NULL;
	new->process = current->tgid;
	ue_bucket_init(&new->bucket, limit->terms.rate, jiffies);
	program = ue_program_insert(limit, new);
	if (program != new)
		kfree(new);
	return IS_ERR(program) ? NULL : program;
}

/* Return: the current process; NULL if memory is short. */
static struct ue_program *ue_program_get(struct ue_limit *limit)
{
	struct ue_program *program = ue_program_find(limit, current->tgid);

	return likely(program) ? program : ue_program_add(limit);
}

/* Return: how many untold payloads there were before; negative if the process is forgotten. */
static long ue_untold_add(struct ue_untold *untold)
{
	const long before = atomic_long_fetch_inc(&untold->nr);

	if (!before)
		WRITE_ONCE(untold->since, jiffies);
	return before;
}

/* @program: the current process; NULL if the caller has not looked for it */
static noinline enum ue_verdict ue_limit_suppress(struct ue_limit *limit,
						  struct ue_program *program)
{
	long before;

	program = program ?: ue_program_get(limit);
	before = program ? ue_untold_add(&program->untold) : UE_FORGOTTEN;
	atomic_long_inc(&limit->suppressed);
	if (before < 0) {
		ue_untold_add(&limit->untold);
	} else if (!before) {
		if (!limit->terms.each_process)
			WRITE_ONCE(program->bucket.filled, jiffies);
		llist_add(&program->untold_node, &limit->untold_programs);
	}
	return UE_SUPPRESSED;
}

/* Return: that of all programs, or of the current process if there is memory. */
static struct ue_bucket *ue_limit_bucket(struct ue_limit *limit)
{
	struct ue_program *program =
		limit->terms.each_process ? ue_program_get(limit) : NULL;

	return program ? &program->bucket : &limit->bucket;
}

/* For the first payload in a jiffy, or of a process. */
static noinline enum ue_verdict ue_limit_take_first(struct ue_limit *limit)
{
	return ue_bucket_take(ue_limit_bucket(limit), limit->terms.rate, jiffies) ?
	       UE_ADMITTED : ue_limit_suppress(limit, NULL);
}

/* Preemption is disabled. */
static __always_inline bool ue_limit_sample(struct ue_limit *limit)
{
	u32 *left = this_cpu_ptr(limit->countdown);

	if ((*left)--)
		return false;
	*left = limit->terms.sample - 1;
	return true;
}

enum ue_verdict ue_limit_take(struct ue_limit *limit)
{
	const unsigned long now = jiffies;
	struct ue_bucket *bucket = &limit->bucket;
	struct ue_program *program = NULL;

	if (limit->countdown && !ue_limit_sample(limit))
		return UE_LEFT_OUT;
	if (!limit->terms.rate)
		return UE_ADMITTED;
	if (limit->terms.each_process) {
		program = ue_program_find(limit, current->tgid);
		if (unlikely(!program))
			return ue_limit_take_first(limit);
		bucket = &program->bucket;
	}
	if (unlikely(READ_ONCE(bucket->filled) != now))
		return ue_limit_take_first(limit);
	return likely(ue_bucket_has_token(bucket)) ? UE_ADMITTED :
						     ue_limit_suppress(limit, program);
}

void ue_limit_give_back(struct ue_limit *limit)
{
	if (limit->terms.rate)
		atomic_long_inc(&ue_limit_bucket(limit)->tokens);
}

bool ue_limit_allows(struct ue_limit *limit, pid_t process)
{
	const struct ue_bucket *bucket;
	const struct ue_program *program;
	unsigned long filled, now;
	long tokens;

	if (!limit || !limit->terms.rate)
		return true;
	bucket = &limit->bucket;
	if (limit->terms.each_process) {
		program = ue_program_find(limit, process);
		/* A new bucket is full. */
		if (!program && !IS_ENABLED(CONFIG_PREEMPT_RT))
			return true;
		if (program)
			bucket = &program->bucket;
	}
	tokens = atomic_long_read(&bucket->tokens);
	filled = READ_ONCE(bucket->filled);
	now = jiffies;
	return tokens > 0 || (time_after(now, filled) &&
			      ue_tokens_due(limit->terms.rate, filled, now - filled));
}

static struct ue_suppressed ue_untold_take(struct ue_untold *untold, pid_t process,
					   unsigned long least)
{
	struct ue_suppressed suppressed = { .process = process };

	if (atomic_long_read(&untold->nr) <= 0)
		return suppressed;
	suppressed.nr = atomic_long_xchg(&untold->nr, 0);
	suppressed.since = READ_ONCE(untold->since);
	if (time_before(suppressed.since, least))
		suppressed.since = least;
	return suppressed;
}

static void ue_suppressed_add(struct ue_suppressed *sum,
			      const struct ue_suppressed *more)
{
	if (!sum->nr || time_before(more->since, sum->since))
		sum->since = more->since;
	sum->process = 0;
	sum->nr += more->nr;
}

unsigned int ue_limit_collect(struct ue_limit *limit,
			      struct ue_suppressed *suppressed, unsigned int max)
{
	const unsigned long least = limit->collected;
	struct ue_suppressed one, others = ue_untold_take(&limit->untold, 0, least);
	struct ue_program *program, *next;
	unsigned int nr = 0;

	limit->collected = jiffies;
	/* A process without a count may be added again, or forgotten. */
	rcu_read_lock();
	llist_for_each_entry_safe(program, next, llist_del_all(&limit->untold_programs),
				  untold_node) {
		one = ue_untold_take(&program->untold, program->process, least);
		if (nr < max - 1)
			suppressed[nr++] = one;
		else
			ue_suppressed_add(&others, &one);
	}
	rcu_read_unlock();
	if (others.nr)
		suppressed[nr++] = others;
	return nr;
}

unsigned long ue_limit_suppressed(const struct ue_limit *limit)
{
	return limit ? atomic_long_read(&limit->suppressed) : 0;
}
