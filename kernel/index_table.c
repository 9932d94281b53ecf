// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write indexes of an open file: an array for those who write, who look
 * an event up with every record, and for those who register a hash table of the
 * events, once there are too many to look through.
 */
#include <linux/hash.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "event.h"
#include "index_table.h"

/*
 * The size of the first array, bytes, and how much larger each further one is:
 * those that are outgrown stay, and are then a third of it in all.
 */
#define UE_INDEX_ARRAY_FIRST	32
#define UE_INDEX_GROWTH		4

/* Up to so many events are looked through. */
#define UE_INDEX_SEARCHED	16

void ue_index_table_init(struct ue_index_table *table)
{
	mutex_init(&table->lock);
	table->array = NULL;
	table->slots = NULL;
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
	kvfree(table->slots);
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

/* A power of two, which is what kmalloc() would make of any size. */
static size_t ue_index_array_size(const struct ue_index_array *array)
{
	return struct_size(array, events, array->capacity);
}

/* A power of two as well. */
static u32 ue_index_nr_slots(const struct ue_index_array *array)
{
	return 2 * ue_index_array_size(array) / sizeof(*array->events);
}

/* The slot of @event, or the one that it would get; at least half are empty. */
static u16 *ue_index_slot(u16 *slots, const struct ue_index_array *array,
			  const struct ue_event *event)
{
	const u32 mask = ue_index_nr_slots(array) - 1;
	u32 at = hash_ptr(event, 32) & mask;

	while (slots[at] && array->events[slots[at] - 1] != event)
		at = (at + 1) & mask;
	return &slots[at];
}

/* The index that @event has, or the number of those given out. */
static u32 ue_index_of(struct ue_index_table *table,
		       const struct ue_event *event)
{
	struct ue_index_array *array = table->array;
	u16 slot;

	lockdep_assert_held(&table->lock);
	if (!array)
		return 0;
	if (!table->slots)
		return ue_index_search(array, event);
	slot = *ue_index_slot(table->slots, array, event);
	return slot ? slot - 1 : array->nr;
}

u32 ue_index_peek(struct ue_index_table *table, const struct ue_event *event)
{
	u32 index;

	mutex_lock(&table->lock);
	index = ue_index_of(table, event);
	mutex_unlock(&table->lock);
	return index;
}

/* For an array of which nobody knows yet. Return: NULL without memory. */
static u16 *ue_index_hash(const struct ue_index_array *array)
{
	u16 *slots = kvcalloc(ue_index_nr_slots(array), sizeof(*slots),
			      GFP_KERNEL_ACCOUNT);

	for (u32 i = 0; slots && i < array->nr; i++)
		*ue_index_slot(slots, array, array->events[i]) = i + 1;
	return slots;
}

static struct ue_index_array *ue_index_array_create(struct ue_index_array *old)
{
	size_t size = old ? UE_INDEX_GROWTH * ue_index_array_size(old) :
			    UE_INDEX_ARRAY_FIRST;
	u32 nr = old ? old->nr : 0;
	struct ue_index_array *new;

	new = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	new->outgrown = old;
	new->nr = nr;
	new->capacity = (size - sizeof(*new)) / sizeof(*new->events);
	if (old)
		memcpy(new->events, old->events, nr * sizeof(*old->events));
	return new;
}

/* An array with room for one more, in place of a full one. */
static struct ue_index_array *ue_index_grow(struct ue_index_table *table)
{
	struct ue_index_array *array = table->array;
	u16 *slots = NULL;

	if (array && array->nr < array->capacity)
		return array;
	array = ue_index_array_create(array);
	if (!array)
		return NULL;
	if (array->capacity > UE_INDEX_SEARCHED) {
		slots = ue_index_hash(array);
		if (!slots) {
			kvfree(array);
			return NULL;
		}
	}
	kvfree(table->slots);
	table->slots = slots;
	/* Pairs with ue_index_event(). */
	smp_store_release(&table->array, array);
	return array;
}

static int ue_index_add(struct ue_index_table *table, struct ue_event *event)
{
	struct ue_index_array *array = ue_index_grow(table);

	/* There can't be so many: tracing has no numbers for them. */
	if (!array || WARN_ON_ONCE(array->nr == U16_MAX))
		return -ENOMEM;
	ue_event_get(event);
	if (table->slots)
		*ue_index_slot(table->slots, array, event) = array->nr + 1;
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
