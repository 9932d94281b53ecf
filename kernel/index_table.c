// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write indexes of an open file: an array for those who write, who look
 * an event up with every record, and a map from events for those who
 * register.
 */
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "event.h"
#include "index_table.h"

#define UE_INDEX_ARRAY_FIRST	8

/* Entries below @nr never change; a full array is replaced by a larger. */
struct ue_index_array {
	struct rcu_head rcu;
	u32 nr;
	u32 capacity;
	struct ue_event *events[];
};

void ue_index_table_init(struct ue_index_table *table)
{
	mutex_init(&table->lock);
	RCU_INIT_POINTER(table->array, NULL);
	xa_init(&table->by_event);
}

static struct ue_index_array *ue_index_array(struct ue_index_table *table)
{
	return rcu_dereference_protected(table->array,
					 lockdep_is_held(&table->lock));
}

void ue_index_table_destroy(struct ue_index_table *table)
{
	struct ue_index_array *array = rcu_dereference_raw(table->array);

	/*
	 * The newest first: to take an event away, tracing looks for it on
	 * lists that begin with the newest.
	 */
	for (u32 i = array ? array->nr : 0; i; i--)
		ue_event_put(array->events[i - 1]);
	kvfree(array);
	xa_destroy(&table->by_event);
	mutex_destroy(&table->lock);
}

static u32 ue_index_of(struct ue_index_table *table,
		       const struct ue_event *event)
{
	void *index = xa_load(&table->by_event, event->serial);
	struct ue_index_array *array = ue_index_array(table);

	if (index)
		return xa_to_value(index);
	return array ? array->nr : 0;
}

u32 ue_index_peek(struct ue_index_table *table, const struct ue_event *event)
{
	u32 index;

	mutex_lock(&table->lock);
	index = ue_index_of(table, event);
	mutex_unlock(&table->lock);
	return index;
}

/* An array with room for one more, in place of a full one. */
static struct ue_index_array *ue_index_grow(struct ue_index_table *table)
{
	struct ue_index_array *old = ue_index_array(table), *new;
	u32 nr = old ? old->nr : 0;
	u32 capacity = nr ? 2 * nr : UE_INDEX_ARRAY_FIRST;

	if (old && nr < old->capacity)
		return old;
	new = kvmalloc(struct_size(new, events, capacity), GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	new->nr = nr;
	new->capacity = capacity;
	if (old)
		memcpy(new->events, old->events, nr * sizeof(*old->events));
	rcu_assign_pointer(table->array, new);
	if (old)
		kvfree_rcu(old, rcu);
	return new;
}

static int ue_index_add(struct ue_index_table *table, struct ue_event *event)
{
	struct ue_index_array *array = ue_index_grow(table);
	int err;

	if (!array)
		return -ENOMEM;
	err = xa_err(xa_store(&table->by_event, event->serial,
			      xa_mk_value(array->nr), GFP_KERNEL_ACCOUNT));
	if (err)
		return err;
	ue_event_get(event);
	array->events[array->nr] = event;
	/* Pairs with ue_index_event(): who sees the index sees its event. */
	smp_store_release(&array->nr, array->nr + 1);
	return 0;
}

int ue_index_claim(struct ue_index_table *table, struct ue_event *event,
		   u32 index)
{
	int err = 0;

	mutex_lock(&table->lock);
	if (ue_index_of(table, event) != index)
		err = -EAGAIN;
	else if (!xa_load(&table->by_event, event->serial))
		err = ue_index_add(table, event);
	mutex_unlock(&table->lock);
	return err;
}

struct ue_event *ue_index_event(struct ue_index_table *table, u32 index)
{
	struct ue_index_array *array;
	struct ue_event *event = NULL;

	rcu_read_lock();
	array = rcu_dereference(table->array);
	/* Pairs with ue_index_add(). */
	if (array && index < smp_load_acquire(&array->nr))
		event = array->events[index];
	rcu_read_unlock();
	return event;
}
