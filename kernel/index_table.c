// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write indexes of an open file: an array for those who write, who look
 * an event up with every record, and for those who register a map from events,
 * once there are too many to look through.
 */
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "event.h"
#include "index_table.h"

#define UE_INDEX_ARRAY_FIRST	8

/* Up to so many events are looked through. */
#define UE_INDEX_SEARCHED	16

void ue_index_table_init(struct ue_index_table *table)
{
	mutex_init(&table->lock);
	table->array = NULL;
	xa_init(&table->by_event);
}

void ue_index_table_destroy(struct ue_index_table *table)
{
	struct ue_index_array *array = table->array, *outgrown;

	/*
	 * The newest first: to take an event away, tracing looks for it on
	 * lists that begin with the newest.
	 */
	for (u32 i = array ? array->nr : 0; i; i--)
		ue_event_put(array->events[i - 1]);
	for (; array; array = outgrown) {
		outgrown = array->outgrown;
		kvfree(array);
	}
	xa_destroy(&table->by_event);
	mutex_destroy(&table->lock);
}

static u32 ue_index_search(const struct ue_index_array *array,
			   const struct ue_event *event)
{
	u32 index = 0;

	while (index < array->nr && array->events[index] != event)
		index++;
	return index;
}

/* The index that @event has, or the number of those given out. */
static u32 ue_index_of(struct ue_index_table *table,
		       const struct ue_event *event)
{
	struct ue_index_array *array = table->array;
	void *index;

	lockdep_assert_held(&table->lock);
	if (!array)
		return 0;
	if (array->nr <= UE_INDEX_SEARCHED)
		return ue_index_search(array, event);
	index = xa_load(&table->by_event, event->serial);
	return index ? xa_to_value(index) : array->nr;
}

/*
 * With the first event too many to be looked through, all of them come into
 * the map. What is there already when memory ends is right, and not looked at.
 */
static int ue_index_map(struct ue_index_table *table,
			const struct ue_event *event)
{
	struct ue_index_array *array = table->array;
	u32 first = array->nr == UE_INDEX_SEARCHED ? 0 : array->nr;
	int err = 0;

	if (array->nr < UE_INDEX_SEARCHED)
		return 0;
	for (u32 i = first; !err && i <= array->nr; i++) {
		const struct ue_event *ith = i < array->nr ? array->events[i] :
							     event;

		err = xa_err(xa_store(&table->by_event, ith->serial,
				      xa_mk_value(i), GFP_KERNEL_ACCOUNT));
	}
	return err;
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
	struct ue_index_array *old = table->array, *new;
	u32 nr = old ? old->nr : 0;
	u32 capacity = nr ? 2 * nr : UE_INDEX_ARRAY_FIRST;

	if (old && nr < old->capacity)
		return old;
	new = kvmalloc(struct_size(new, events, capacity), GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	new->outgrown = old;
	new->nr = nr;
	new->capacity = capacity;
	if (old)
		memcpy(new->events, old->events, nr * sizeof(*old->events));
	/* Pairs with ue_index_event(). */
	smp_store_release(&table->array, new);
	return new;
}

static int ue_index_add(struct ue_index_table *table, struct ue_event *event)
{
	struct ue_index_array *array = ue_index_grow(table);
	int err;

	if (!array)
		return -ENOMEM;
	err = ue_index_map(table, event);
	if (err)
		return err;
	ue_event_get(event);
	array->events[array->nr] = event;
	/* Pairs with ue_index_event(). */
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
	else if (!table->array || index == table->array->nr)
		err = ue_index_add(table, event);
	mutex_unlock(&table->lock);
	return err;
}
