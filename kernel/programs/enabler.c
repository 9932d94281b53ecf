// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of enablers, as red-black trees by address and number of the bit.
 */
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/semaphore.h>
#include <linux/slab.h>

#include "events/event.h"
#include "port/debug_counter.h"
#include "programs/enabler.h"
#include "programs/user.h"

DEFINE_MUTEX(ue_enabler_mutex);

u64 ue_enabler_last_id;

/*
 * With kmalloc(), enablers and sets would take 8 and 16 bytes more. kfree()
 * frees objects of any cache, in fewer instructions than kmem_cache_free().
 * (Before 6.4 not with SLOB, for which the module is not built.)
 */
static struct kmem_cache *ue_enabler_cache, *ue_set_cache;

/*
 * One for each share, held by the task of that share that waits for
 * ue_enabler_mutex or has it. Semaphores, since a task can wait for one with a time limit.
 */
static struct semaphore ue_turns[UE_NR_SHARES];

/*
 * The turn that is held together with ue_enabler_mutex, or NULL. Protected by
 * the mutex.
 */
static struct semaphore *ue_held_turn;

/*
 * How long a task looks for the mutex before it sleeps. The mutex is mostly held for less,
 * and by a task that runs.
 */
#define UE_SPIN_TIME		(20 * NSEC_PER_USEC)

/* How long a task sleeps before it looks again, in microseconds; doubled each time. */
#define UE_SLEEP_LEAST		20
#define UE_SLEEP_MOST		640

/*
 * How long a task waits for its turn before it looks for the mutex: the task that has
 * the turn may not run.
 */
#define UE_TURN_WAIT		msecs_to_jiffies(5)

/* On success, preemption is disabled, except on PREEMPT_RT. */
static __always_inline bool ue_enabler_try(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	if (mutex_trylock(&ue_enabler_mutex))
		return true;
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	return false;
}

static bool ue_enabler_spin(void)
{
	const u64 start = local_clock();

	do {
		if (!mutex_is_locked(&ue_enabler_mutex) && ue_enabler_try())
			return true;
		cpu_relax();
	} while (!need_resched() && local_clock() - start < UE_SPIN_TIME);
	return false;
}

/*
 * Tasks of programs do not wait in the mutex's queue. There, a task may be given the
 * mutex while it does not run, and others would wait for as long as its program is
 * throttled, or waits for a CPU. Instead they look now and then, at most one of each
 * share. (A queue that wakes one task may choose a throttled one, which then does not
 * run. A queue that wakes all tasks wakes most of them in vain.) On PREEMPT_RT, the mutex
 * has priority inheritance.
 */
static void ue_enabler_look(void)
{
	unsigned int sleep = UE_SLEEP_LEAST;

	while (!ue_enabler_spin()) {
		usleep_range(sleep, 2 * sleep);
		sleep = min(2 * sleep, UE_SLEEP_MOST);
	}
}

static noinline void ue_enabler_wait(void)
{
	struct semaphore *turn = &ue_turns[ue_share_of_cred(current_cred())];

	while (down_timeout(turn, UE_TURN_WAIT)) {
		if (ue_enabler_trylock())
			return;
	}
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		mutex_lock(&ue_enabler_mutex);
	else
		ue_enabler_look();
	ue_held_turn = turn;
}

/* A task that finds the mutex free needs no turn. */
void ue_enabler_lock(void)
{
	might_lock(&ue_enabler_mutex);
	if (ue_enabler_try())
		ue_held_turn = NULL;
	else
		ue_enabler_wait();
}

bool ue_enabler_trylock(void)
{
	if (!ue_enabler_try())
		return false;
	ue_held_turn = NULL;
	return true;
}

void ue_enabler_unlock(void)
{
	struct semaphore *turn = ue_held_turn;

	mutex_unlock(&ue_enabler_mutex);
	if (turn)
		up(turn);
	/* Last: else the task might be preempted before it releases the mutex. */
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/*
 * The kernel warns of two caches with one name. The module of the unit tests has this
 * code too, and both are loaded at the same time.
 */
struct kmem_cache *ue_cache_create(const char *what, size_t size)
{
	char name[MODULE_NAME_LEN + 16];

	snprintf(name, sizeof(name), "%s_%s", THIS_MODULE->name, what);
	return kmem_cache_create(name, size, 0, SLAB_ACCOUNT, NULL);
}

int ue_enablers_init(void)
{
	ue_enabler_cache = ue_cache_create("enabler",
					   sizeof(struct ue_enabler));
	ue_set_cache = ue_cache_create("set", sizeof(struct ue_enabler_set));
	if (!ue_enabler_cache || !ue_set_cache) {
		ue_enablers_exit();
		return -ENOMEM;
	}
	ue_shares_init();
	for (int i = 0; i < UE_NR_SHARES; i++)
		sema_init(&ue_turns[i], 1);
	return 0;
}

void ue_enablers_exit(void)
{
	kmem_cache_destroy(ue_set_cache);
	kmem_cache_destroy(ue_enabler_cache);
}

struct ue_enabler *ue_enabler_create(gfp_t gfp)
{
	struct ue_enabler *enabler = kmem_cache_zalloc(ue_enabler_cache, gfp);

	if (enabler)
		ue_debug_count(UE_COUNT_ENABLERS, 1);
	return enabler;
}

void ue_enabler_free(struct ue_enabler *enabler)
{
	ue_debug_count(UE_COUNT_ENABLERS, -1);
	kfree(enabler);
}

struct ue_enabler_set *ue_enabler_set_create(gfp_t gfp)
{
	struct ue_enabler_set *set = kmem_cache_zalloc(ue_set_cache, gfp);

	if (!set)
		return NULL;
	ue_debug_count(UE_COUNT_SETS, 1);
	set->enablers = RB_ROOT;
	atomic_set(&set->references, 1);
	return set;
}

void ue_enabler_yield(unsigned int nr)
{
	if (nr % UE_ENABLERS_AT_ONCE)
		return;
	ue_enabler_unlock();
	cond_resched();
	ue_enabler_lock();
}

void ue_enabler_set_free(struct ue_enabler_set *set)
{
	struct ue_enabler *enabler, *next;
	unsigned int nr = 0;

	lockdep_assert_held(&ue_enabler_mutex);
	/* The set has no address space, so all walks are complete. */
	while (!hlist_empty(&set->walks))
		hlist_del_init(set->walks.first);
	rbtree_postorder_for_each_entry_safe(enabler, next, &set->enablers,
					     in_set) {
		list_del(&enabler->of_event);
		ue_event_put_later(enabler->event);
		ue_enabler_free(enabler);
		/*
		 * Other enablers of the set can be found through events, but
		 * the set has no address space.
		 */
		ue_enabler_yield(++nr);
	}
	while (set->accounts) {
		struct ue_account *account = set->accounts;

		set->accounts = account->next;
		ue_account_free(account);
	}
	ue_debug_count(UE_COUNT_SETS, -1);
	kfree(set);
}

void ue_enabler_set_put_locked(struct ue_enabler_set *set)
{
	bool had_enablers;

	lockdep_assert_held(&ue_enabler_mutex);
	if (!atomic_dec_and_test(&set->references))
		return;
	had_enablers = set->nr;
	ue_enabler_set_free(set);
	/* Last: after this, unloading may begin and remove the events. */
	if (had_enablers)
		module_put(THIS_MODULE);
}

void ue_enabler_set_put(struct ue_enabler_set *set)
{
	ue_enabler_lock();
	ue_enabler_set_put_locked(set);
	ue_enabler_unlock();
}

/* Return: false if the current task was killed, and @gfp allows failure. */
static bool ue_enablers_continue(unsigned int nr, gfp_t gfp)
{
	if (nr % UE_ENABLERS_AT_ONCE)
		return true;
	cond_resched();
	return (gfp & __GFP_NOFAIL) || !fatal_signal_pending(current);
}

int ue_enablers_create(struct list_head *list, unsigned int nr, gfp_t gfp)
{
	LIST_HEAD(created);

	while (nr--) {
		struct ue_enabler *enabler = NULL;

		if (ue_enablers_continue(nr, gfp))
			enabler = ue_enabler_create(gfp);
		if (!enabler) {
			ue_enablers_free(&created);
			return -ENOMEM;
		}
		list_add(&enabler->of_event, &created);
	}
	list_splice(&created, list);
	return 0;
}

void ue_enablers_free(struct list_head *list)
{
	struct ue_enabler *enabler, *next;
	unsigned int nr = 0;

	list_for_each_entry_safe(enabler, next, list, of_event) {
		ue_enabler_free(enabler);
		if (++nr % UE_ENABLERS_AT_ONCE == 0)
			cond_resched();
	}
	INIT_LIST_HEAD(list);
}

static int ue_compare_key(unsigned long address, int nr,
			  const struct ue_enabler *enabler)
{
	if (address != enabler->bit.address)
		return address < enabler->bit.address ? -1 : 1;
	return nr - enabler->bit.nr;
}

struct ue_enabler *ue_enabler_find(const struct ue_enabler_set *set,
				   unsigned long address, u8 nr)
{
	struct rb_node *node = set->enablers.rb_node;

	while (node) {
		struct ue_enabler *enabler =
			rb_entry(node, struct ue_enabler, in_set);
		int order = ue_compare_key(address, nr, enabler);

		if (!order)
			return enabler;
		node = order < 0 ? node->rb_left : node->rb_right;
	}
	return NULL;
}

struct ue_enabler *ue_enabler_after(const struct ue_enabler_set *set,
				    unsigned long address, int nr)
{
	struct rb_node *node = set->enablers.rb_node;
	struct ue_enabler *after = NULL;

	while (node) {
		struct ue_enabler *enabler =
			rb_entry(node, struct ue_enabler, in_set);

		if (ue_compare_key(address, nr, enabler) < 0) {
			after = enabler;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return after;
}

/* Inserts an enabler that counts for the user already. */
static int ue_enabler_link(struct ue_enabler_set *set,
			   struct ue_enabler *enabler,
			   const struct ue_user_bit *bit,
			   struct ue_event *event, u64 id)
{
	struct rb_node **link = &set->enablers.rb_node, *parent = NULL;

	lockdep_assert_held(&ue_enabler_mutex);
	while (*link) {
		struct ue_enabler *other =
			rb_entry(*link, struct ue_enabler, in_set);
		int order = ue_compare_key(bit->address, bit->nr, other);

		if (!order)
			return -EADDRINUSE;
		parent = *link;
		link = order < 0 ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&enabler->in_set, parent, link);
	rb_insert_color(&enabler->in_set, &set->enablers);
	set->nr++;

	ue_event_get(event);
	enabler->bit = *bit;
	enabler->event = event;
	enabler->set = set;
	enabler->id = id;
	enabler->update = event->update;
	list_add_tail(&enabler->of_event, &event->enablers);
	return 0;
}

struct ue_account *ue_enabler_set_account(const struct ue_enabler_set *set,
					  const struct ue_users *users)
{
	struct ue_account *account = set->accounts;

	while (account && account->user->users != users)
		account = account->next;
	return account;
}

void ue_enabler_set_add_account(struct ue_enabler_set *set,
				struct ue_account *account)
{
	lockdep_assert_held(&ue_enabler_mutex);
	account->next = set->accounts;
	set->accounts = account;
}

int ue_enabler_insert(struct ue_enabler_set *set, struct ue_enabler *enabler,
		      const struct ue_user_bit *bit, struct ue_event *event,
		      u64 id)
{
	int err = ue_enabler_link(set, enabler, bit, event, id);

	if (!err)
		ue_account_add(ue_enabler_set_account(set, event->owner->users), 1);
	return err;
}

/* Inserts a copy of each enabler of @from into @to; takes them from @blank. */
static void ue_enablers_insert_copies(struct ue_enabler_set *to,
				      const struct ue_enabler_set *from,
				      struct list_head *blank)
{
	struct rb_node *node;

	lockdep_assert_held(&ue_enabler_mutex);
	for (node = rb_first(&from->enablers); node; node = rb_next(node)) {
		struct ue_enabler *enabler =
			rb_entry(node, struct ue_enabler, in_set);
		struct ue_enabler *copy =
			list_first_entry(blank, struct ue_enabler, of_event);

		list_del(&copy->of_event);
		ue_enabler_link(to, copy, &enabler->bit, enabler->event,
				enabler->id);
		/*
		 * An update has not reached the original yet. It will not
		 * reach the copy: ue_enabler_link() adds that to the end of
		 * the list, marked as up to date. Copies at the front would
		 * keep the update from the bits of others. So the caller
		 * updates the copy.
		 */
		if (enabler->update != enabler->event->update)
			to->changes++;
		ue_enabler_yield(to->nr);
	}
}

/*
 * Copies count before memory is allocated for them: else copies that are made at
 * the same time would together exceed the limit.
 */
static int ue_enabler_set_copy_account(struct ue_enabler_set *copy,
				       const struct ue_account *account,
				       unsigned int times, gfp_t gfp)
{
	struct ue_account *new = ue_account_create(account->user->users, gfp);
	int err = 0;

	if (!new)
		return -ENOMEM;
	ue_enabler_lock();
	if (ue_account_may_grow(new, account->nr, times))
		ue_account_add(new, account->nr);
	else
		err = -EMFILE;
	ue_enabler_set_add_account(copy, new);
	ue_enabler_unlock();
	return err;
}

struct ue_enabler_set *ue_enabler_set_copy(const struct ue_enabler_set *set,
					   unsigned int times, gfp_t gfp)
{
	struct ue_enabler_set *copy = ue_enabler_set_create(gfp);
	LIST_HEAD(blank);
	int err = 0;

	if (!copy)
		return ERR_PTR(-ENOMEM);
	for (struct ue_account *account = set->accounts; account && !err;
	     account = account->next)
		err = ue_enabler_set_copy_account(copy, account, times, gfp);
	if (!err)
		err = ue_enablers_create(&blank, set->nr, gfp);
	if (err) {
		ue_enabler_set_put(copy);
		return ERR_PTR(err);
	}
	ue_enabler_lock();
	ue_enablers_insert_copies(copy, set, &blank);
	ue_enabler_unlock();
	return copy;
}

struct ue_event *ue_enabler_erase(struct ue_enabler *enabler)
{
	struct ue_enabler_set *set = enabler->set;
	struct ue_event *event = enabler->event;

	lockdep_assert_held(&ue_enabler_mutex);
	list_del(&enabler->of_event);
	rb_erase(&enabler->in_set, &set->enablers);
	set->nr--;
	ue_account_add(ue_enabler_set_account(set, event->owner->users), -1);
	ue_enabler_free(enabler);
	return event;
}
