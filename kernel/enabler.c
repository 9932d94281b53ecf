// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of enablers: find, insert, erase.
 */
#include <linux/slab.h>

#include "enabler.h"
#include "event.h"

/* Protects all enablers, sets of them and address spaces; see enabler.h. */
DEFINE_MUTEX(ue_enabler_mutex);

struct ue_enabler_set *ue_enabler_set_create(void)
{
	struct ue_enabler_set *set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);

	if (set) {
		set->enablers = RB_ROOT;
		INIT_LIST_HEAD(&set->processes);
	}
	return set;
}

void ue_enabler_set_free(struct ue_enabler_set *set)
{
	struct ue_enabler *enabler, *next;

	lockdep_assert_held(&ue_enabler_mutex);
	rbtree_postorder_for_each_entry_safe(enabler, next, &set->enablers,
					     in_set) {
		if (enabler->event)
			ue_event_put_later(ue_enabler_end(enabler));
		ue_enabler_free(enabler);
	}
	kfree(set);
}

struct ue_enabler *ue_enabler_create(const struct ue_user_bit *word)
{
	struct ue_enabler *enabler = kzalloc(sizeof(*enabler),
					     GFP_KERNEL_ACCOUNT);

	if (enabler)
		enabler->word = *word;
	return enabler;
}

void ue_enabler_free(struct ue_enabler *enabler)
{
	kfree(enabler);
}

static int ue_compare_key(unsigned long address, int bit,
			  const struct ue_enabler *enabler)
{
	if (address != enabler->word.address)
		return address < enabler->word.address ? -1 : 1;
	return bit - enabler->word.bit;
}

struct ue_enabler *ue_enabler_find(const struct ue_enabler_set *set,
				   unsigned long address, u8 bit)
{
	struct rb_node *node = set->enablers.rb_node;

	while (node) {
		struct ue_enabler *enabler =
			rb_entry(node, struct ue_enabler, in_set);
		int order = ue_compare_key(address, bit, enabler);

		if (!order)
			return enabler;
		node = order < 0 ? node->rb_left : node->rb_right;
	}
	return NULL;
}

struct ue_enabler *ue_enabler_after(const struct ue_enabler_set *set,
				    unsigned long address, int bit)
{
	struct rb_node *node = set->enablers.rb_node;
	struct ue_enabler *after = NULL;

	while (node) {
		struct ue_enabler *enabler =
			rb_entry(node, struct ue_enabler, in_set);

		if (ue_compare_key(address, bit, enabler) < 0) {
			after = enabler;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return after;
}

int ue_enabler_insert(struct ue_enabler_set *set, struct ue_enabler *enabler,
		      struct ue_event *event)
{
	struct rb_node **link = &set->enablers.rb_node, *parent = NULL;

	lockdep_assert_held(&ue_enabler_mutex);
	while (*link) {
		struct ue_enabler *other =
			rb_entry(*link, struct ue_enabler, in_set);
		int order = ue_compare_key(enabler->word.address,
					   enabler->word.bit, other);

		if (!order)
			return -EADDRINUSE;
		parent = *link;
		link = order < 0 ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&enabler->in_set, parent, link);
	rb_insert_color(&enabler->in_set, &set->enablers);
	set->nr++;
	enabler->set = set;

	ue_event_get(event);
	enabler->event = event;
	list_add_tail(&enabler->of_event, &event->enablers);
	return 0;
}

struct ue_event *ue_enabler_end(struct ue_enabler *enabler)
{
	struct ue_event *event = enabler->event;

	lockdep_assert_held(&ue_enabler_mutex);
	list_del(&enabler->of_event);
	enabler->event = NULL;
	return event;
}

void ue_enabler_erase(struct ue_enabler *enabler)
{
	struct ue_enabler_set *set = enabler->set;

	lockdep_assert_held(&ue_enabler_mutex);
	rb_erase(&enabler->in_set, &set->enablers);
	set->nr--;
	ue_enabler_free(enabler);
}
