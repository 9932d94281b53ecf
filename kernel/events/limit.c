// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits, and the buckets of their tokens. No lock is taken but to add the bucket of a
 * process.
 *
 * A bucket that is full says nothing about its process: after a second without a payload,
 * it may be freed. Each addition of a bucket frees the full ones in the next of 64 lists. So after
 * 64 additions all lists were searched, and nothing has to watch processes.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "events/limit.h"
#include "port/debug_counter.h"

#define UE_PROGRAM_BITS		6

/**
 * struct ue_untold - suppressed payloads that ue_limit_collect() has not told
 * @nr: how many
 * @since: when @nr last became 1, in jiffies; set after @nr, so it may be outdated for a moment
 */
struct ue_untold {
	atomic_long_t nr;
	unsigned long since;
};

/**
 * struct ue_program - a process
 * @node: entry in a list of the limit
 * @process: the number of the process
 * @bucket: the tokens, if each process has a bucket; else only its @filled is used:
 *	when the process last began to have suppressed payloads
 * @untold: its suppressed payloads
 * @rcu: frees the memory
 */
struct ue_program {
	struct hlist_node node;
	pid_t process;
	struct ue_bucket bucket;
	struct ue_untold untold;
	struct rcu_head rcu;
};

/**
 * struct ue_limit - a limit
 * @terms: what it allows
 * @countdown: on each CPU, how many payloads are left out before the next one that is recorded;
 *	NULL without sampling
 * @bucket: the tokens of all programs, or of the processes for which no bucket could be allocated
 * @suppressed: how many payloads have found no token
 * @untold: those of processes without a struct ue_program
 * @collected: when ue_limit_collect() was called last, in jiffies
 * @key: of the hash of @programs: which processes are in one list cannot be chosen
 * @purged: the list from which idle processes were removed last
 * @lock: serializes changes of @programs and @purged
 * @rcu: frees the memory
 * @programs: of struct ue_program, by a hash of the number; read under RCU-sched. If each
 *	process has a bucket, all processes that write; otherwise those that have suppressed
 *	payloads. Without a rate there are no lists.
 */
struct ue_limit {
	struct ue_rule_limit terms;
	u32 __percpu *countdown;
	struct ue_bucket bucket;
	atomic_long_t suppressed;
	struct ue_untold untold;
	unsigned long collected;
	u32 key;
	u8 purged;
	raw_spinlock_t lock;
	struct rcu_head rcu;
	struct hlist_head programs[];
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

static void ue_limit_free_rcu(struct rcu_head *rcu)
{
	struct ue_limit *limit = container_of(rcu, struct ue_limit, rcu);
	struct ue_program *program;
	struct hlist_node *next;

	for (int i = 0; limit->terms.rate && i < 1 << UE_PROGRAM_BITS; i++) {
		hlist_for_each_entry_safe(program, next, &limit->programs[i], node)
			kfree(program);
	}
	free_percpu(limit->countdown);
	kfree(limit);
	ue_debug_count(UE_COUNT_LIMITS, -1);
}

void ue_limit_put(struct ue_limit *limit)
{
	if (limit)
		call_rcu(&limit->rcu, ue_limit_free_rcu);
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

int ue_limit_create(const struct ue_rule_limit *terms, struct ue_limit **result)
{
	const size_t lists = terms->rate ? 1 << UE_PROGRAM_BITS : 0;
	struct ue_limit *limit;

	*result = NULL;
	if (!terms->rate && !terms->sample)
		return 0;
	limit = kzalloc(struct_size(limit, programs, lists), GFP_KERNEL);
	if (!limit)
		return -ENOMEM;
	limit->terms = *terms;
	if (ue_limit_begin_sampling(limit)) {
		kfree(limit);
		return -ENOMEM;
	}
	limit->key = get_random_u32();
	raw_spin_lock_init(&limit->lock);
	ue_bucket_init(&limit->bucket, terms->rate, jiffies);
	limit->collected = jiffies;
	ue_debug_count(UE_COUNT_LIMITS, 1);
	*result = limit;
	return 0;
}

static struct hlist_head *ue_programs_of(struct ue_limit *limit, pid_t process)
{
	return &limit->programs[hash_32(process ^ limit->key, UE_PROGRAM_BITS)];
}

static struct ue_program *ue_program_find(struct ue_limit *limit, pid_t process)
{
	struct ue_program *program;

	hlist_for_each_entry_rcu(program, ue_programs_of(limit, process), node,
				 rcu_read_lock_any_held()) {
		if (program->process == process)
			return program;
	}
	return NULL;
}

/* An idle bucket is as full as a new one. A task may have found this one just before. */
static void ue_program_end_if_idle(struct ue_program *program)
{
	if (time_before(jiffies, READ_ONCE(program->bucket.filled) + HZ) ||
	    atomic_long_read(&program->untold.nr))
		return;
	hlist_del_rcu(&program->node);
	kfree_rcu(program, rcu);
}

/* Each process that is added purges another list, so that none stays long. */
static void ue_programs_purge(struct ue_limit *limit)
{
	struct ue_program *program;
	struct hlist_node *next;

	limit->purged = (limit->purged + 1) % (1 << UE_PROGRAM_BITS);
	hlist_for_each_entry_safe(program, next, &limit->programs[limit->purged], node)
		ue_program_end_if_idle(program);
}

/* Return: @new, or the bucket that another thread has added. */
static struct ue_program *ue_program_insert(struct ue_limit *limit,
					    struct ue_program *new)
{
	struct ue_program *found;

	raw_spin_lock(&limit->lock);
	found = ue_program_find(limit, new->process);
	if (!found) {
		ue_programs_purge(limit);
		hlist_add_head_rcu(&new->node, ue_programs_of(limit, new->process));
	}
	raw_spin_unlock(&limit->lock);
	return found ?: new;
}

/* Return: NULL if memory is short. With PREEMPT_RT nothing can be allocated here. */
static noinline struct ue_program *ue_program_add(struct ue_limit *limit)
{
	struct ue_program *new = IS_ENABLED(CONFIG_PREEMPT_RT) ? NULL :
		kzalloc(sizeof(*new), GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN);
	struct ue_program *program;

	if (!new)
		return NULL;
	new->process = current->tgid;
	ue_bucket_init(&new->bucket, limit->terms.rate, jiffies);
	program = ue_program_insert(limit, new);
	if (program != new)
		kfree(new);
	return program;
}

/* Return: the current process; NULL if memory is short. */
static struct ue_program *ue_program_get(struct ue_limit *limit)
{
	struct ue_program *program = ue_program_find(limit, current->tgid);

	return likely(program) ? program : ue_program_add(limit);
}

static noinline enum ue_verdict ue_limit_suppress(struct ue_limit *limit)
{
	struct ue_program *program = ue_program_get(limit);
	struct ue_untold *untold = program ? &program->untold : &limit->untold;

	atomic_long_inc(&limit->suppressed);
	if (atomic_long_inc_return(&untold->nr) > 1)
		return UE_SUPPRESSED;
	WRITE_ONCE(untold->since, jiffies);
	if (program && !limit->terms.each_process)
		WRITE_ONCE(program->bucket.filled, jiffies);
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
	       UE_ADMITTED : ue_limit_suppress(limit);
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
	struct ue_program *program;

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
						     ue_limit_suppress(limit);
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

	if (!atomic_long_read(&untold->nr))
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
	struct ue_program *program;
	unsigned int nr = 0;

	limit->collected = jiffies;
	rcu_read_lock();
	for (int i = 0; limit->terms.rate && i < 1 << UE_PROGRAM_BITS; i++) {
		hlist_for_each_entry_rcu(program, &limit->programs[i], node) {
			one = ue_untold_take(&program->untold, program->process, least);
			if (one.nr && nr < max - 1)
				suppressed[nr++] = one;
			else if (one.nr)
				ue_suppressed_add(&others, &one);
		}
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
