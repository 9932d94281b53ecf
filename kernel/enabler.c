// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of enablers, as red-black trees by address and number of the bit.
 */
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "debug_counter.h"
#include "enabler.h"
#include "event.h"

/* How many to create, copy or free before other tasks may run. */
#define UE_ENABLERS_AT_ONCE	1024

DEFINE_MUTEX(ue_enabler_mutex);

struct ue_enabler *ue_enabler_create(gfp_t gfp)
{
	struct ue_enabler *enabler = kzalloc(sizeof(*enabler), gfp);

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
	struct ue_enabler_set *set = kzalloc(sizeof(*set), gfp);

	if (set) {
		ue_debug_count(UE_COUNT_SETS, 1);
		set->enablers = RB_ROOT;
		atomic_set(&set->references, 1);
	}
	return set;
}

/* There may be very many: lets other tasks have the mutex now and then. */
static void ue_enabler_yield(unsigned int nr)
{
	if (nr % UE_ENABLERS_AT_ONCE)
		return;
	mutex_unlock(&ue_enabler_mutex);
	cond_resched();
	mutex_lock(&ue_enabler_mutex);
}

void ue_enabler_set_free(struct ue_enabler_set *set)
{
	struct ue_enabler *enabler, *next;
	unsigned int nr = 0;

	lockdep_assert_held(&ue_enabler_mutex);
	rbtree_postorder_for_each_entry_safe(enabler, next, &set->enablers,
					     in_set) {
		list_del(&enabler->of_event);
		ue_event_put_later(enabler->event);
		ue_enabler_free(enabler);
		/* The rest can be found through events, but has no address space. */
		ue_enabler_yield(++nr);
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
	mutex_lock(&ue_enabler_mutex);
	ue_enabler_set_put_locked(set);
	mutex_unlock(&ue_enabler_mutex);
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

int ue_enabler_insert(struct ue_enabler_set *set, struct ue_enabler *enabler,
		      const struct ue_user_bit *bit, struct ue_event *event,
		      u64 id)
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
		ue_enabler_insert(to, copy, &enabler->bit, enabler->event,
				  enabler->id);
		/* An update that has not reached the original yet must reach the copy. */
		if (enabler->update != enabler->event->update) {
			copy->update = enabler->update;
			list_move(&copy->of_event, &enabler->event->enablers);
		}
		ue_enabler_yield(to->nr);
	}
}

struct ue_enabler_set *ue_enabler_set_copy(const struct ue_enabler_set *set,
					   gfp_t gfp)
{
	struct ue_enabler_set *copy = ue_enabler_set_create(gfp);
	LIST_HEAD(blank);
	int err;

	if (!copy)
		return NULL;
	err = ue_enablers_create(&blank, set->nr, gfp);
	mutex_lock(&ue_enabler_mutex);
	if (err) {
		ue_enabler_set_free(copy);
		copy = NULL;
	} else {
		ue_enablers_insert_copies(copy, set, &blank);
	}
	mutex_unlock(&ue_enabler_mutex);
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
	ue_enabler_free(enabler);
	return event;
}
