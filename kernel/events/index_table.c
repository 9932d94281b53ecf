// SPDX-License-Identifier: GPL-2.0-only
/*
 * The write indexes of an open file. Every write looks an event up in an array.
 * Registering looks an index up in a hash table, once there are too many events
 * to search the array.
 *
 * A table that shares the indexes of another one, its source, has a pointer to
 * the source's array. So a write costs the same with and without a source, and
 * does not touch the source, which the registrations of other threads change.
 */
#include <linux/hash.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "events/event.h"
#include "events/index_table.h"
#include "port/debug_counter.h"

/*
 * The size of the first array, in bytes, and the growth factor. With this
 * factor, all replaced arrays together have a third of the current one's size.
 */
#define UE_INDEX_ARRAY_FIRST	32
#define UE_INDEX_GROWTH		4

/* Arrays of up to this capacity are searched, and need no hash table. */
#define UE_INDEX_SEARCHED	16

/*
 * Protects which table has which source, and that no source has a source. Taken
 * inside the lock of the table that gets a source; no lock is taken inside it.
 */
static DEFINE_SPINLOCK(ue_index_source_lock);

struct ue_index_table *ue_index_table_create(size_t size)
{
	struct ue_index_table *table = kzalloc(size, GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	mutex_init(&table->lock);
	refcount_set(&table->references, 1);
	ue_debug_count(UE_COUNT_INDEX_TABLES, 1);
	return table;
}

static void ue_index_array_free(struct ue_index_array *array)
{
	struct ue_index_array *outgrown;

	/*
	 * Put the newest event first: to remove an event, tracing searches
	 * lists that start with the newest.
	 */
	for (u32 i = array ? array->nr : 0; i; i--) {
		ue_event_put(array->events[i - 1]);
		cond_resched();
	}
	for (; array; array = outgrown) {
		outgrown = array->outgrown;
		kvfree(array);
	}
}

void ue_index_table_put(struct ue_index_table *table)
{
	while (table && refcount_dec_and_test(&table->references)) {
		struct ue_index_table *source = table->source;

		if (!source)
			ue_index_array_free(table->array);
		kvfree(table->buckets);
		mutex_destroy(&table->lock);
		kfree(table);
		ue_debug_count(UE_COUNT_INDEX_TABLES, -1);
		table = source;
	}
}

static int ue_index_set_source(struct ue_index_table *table,
			       struct ue_index_table *from)
{
	int err = -EBUSY;

	lockdep_assert_held(&table->lock);
	spin_lock(&ue_index_source_lock);
	if (refcount_read(&table->references) == 1) {
		from = from->source ?: from;
		refcount_inc(&from->references);
		/* Pairs with ue_index_event_of_source(). */
		smp_store_release(&table->source, from);
		err = 0;
	}
	spin_unlock(&ue_index_source_lock);
	return err;
}

int ue_index_table_share(struct ue_index_table *table,
			 struct ue_index_table *from)
{
	int err = -EBUSY;

	mutex_lock(&table->lock);
	if (!table->source && !table->array)
		err = ue_index_set_source(table, from);
	mutex_unlock(&table->lock);
	return err;
}

struct ue_event *ue_index_event_of_source(struct ue_index_table *table,
					  u32 index)
{
	/* Pairs with ue_index_set_source(). */
	struct ue_index_table *source = smp_load_acquire(&table->source);
	struct ue_index_array *array;
	struct ue_event *event;

	if (!source)
		return NULL;
	/* Pairs with ue_index_grow(). */
	array = smp_load_acquire(&source->array);
	if (!array || !ue_index_element(array, index, &event))
		return NULL;
	/*
	 * Pairs with ue_index_event(). Another task may have just stored a
	 * newer array. It is stored again at the next index that the older
	 * array lacks.
	 */
	smp_store_release(&table->array, array);
	return event;
}

/* Locks a table, or its source. Return: the locked table, without a source. */
static struct ue_index_table *ue_index_lock(struct ue_index_table *table)
{
	struct ue_index_table *source;

	mutex_lock(&table->lock);
	source = table->source;
	if (source) {
		mutex_unlock(&table->lock);
		mutex_lock(&source->lock);
		table = source;
	}
	return table;
}

static u32 ue_index_search(const struct ue_index_array *array,
			   const struct ue_event *event)
{
	u32 index = 0;

	while (index < array->nr && array->events[index] != event)
		index++;
	return index;
}

/*
 * Return: bytes, a power of two, because kmalloc() rounds up to a power of two.
 */
static size_t ue_index_array_size(const struct ue_index_array *array)
{
	return struct_size(array, events, array->capacity);
}

/* Return: the number of buckets, also a power of two. */
static u32 ue_index_nr_buckets(const struct ue_index_array *array)
{
	return 2 * ue_index_array_size(array) / sizeof(*array->events);
}

/*
 * Return: the bucket of @event, or the empty one where it would be added. The
 * search ends because at least half of the buckets are empty.
 */
static u16 *ue_index_bucket(u16 *buckets, const struct ue_index_array *array,
			    const struct ue_event *event)
{
	const u32 mask = ue_index_nr_buckets(array) - 1;
	u32 at = hash_ptr(event, 32) & mask;

	while (buckets[at] && array->events[buckets[at] - 1] != event)
		at = (at + 1) & mask;
	return &buckets[at];
}

/* Return: the index of @event, or the next unassigned one. */
static u32 ue_index_of(struct ue_index_table *table,
		       const struct ue_event *event)
{
	struct ue_index_array *array = table->array;
	u16 bucket;

	lockdep_assert_held(&table->lock);
	if (!array)
		return 0;
	if (!table->buckets)
		return ue_index_search(array, event);
	bucket = *ue_index_bucket(table->buckets, array, event);
	return bucket ? bucket - 1 : array->nr;
}

u32 ue_index_peek(struct ue_index_table *table, const struct ue_event *event)
{
	u32 index;

	table = ue_index_lock(table);
	index = ue_index_of(table, event);
	mutex_unlock(&table->lock);
	return index;
}

/* Return: the hash table for a new array; NULL without memory. */
static u16 *ue_index_hash(const struct ue_index_array *array)
{
	u16 *buckets = kvcalloc(ue_index_nr_buckets(array), sizeof(*buckets),
			      GFP_KERNEL_ACCOUNT);

	for (u32 i = 0; buckets && i < array->nr; i++)
		*ue_index_bucket(buckets, array, array->events[i]) = i + 1;
	return buckets;
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

/* Replaces a full array. Return: the current array; NULL without memory. */
static struct ue_index_array *ue_index_grow(struct ue_index_table *table)
{
	struct ue_index_array *array = table->array;
	u16 *buckets = NULL;

	if (array && array->nr < array->capacity)
		return array;
	array = ue_index_array_create(array);
	if (!array)
		return NULL;
	if (array->capacity > UE_INDEX_SEARCHED) {
		buckets = ue_index_hash(array);
		if (!buckets) {
			kvfree(array);
			return NULL;
		}
	}
	kvfree(table->buckets);
	table->buckets = buckets;
	/* Pairs with ue_index_event(). */
	smp_store_release(&table->array, array);
	return array;
}

static int ue_index_add(struct ue_index_table *table, struct ue_event *event)
{
	struct ue_index_array *array = ue_index_grow(table);

	/* Can't happen: tracing has fewer type numbers. */
	if (!array || WARN_ON_ONCE(array->nr == U16_MAX))
		return -ENOMEM;
	ue_event_get(event);
	if (table->buckets)
		*ue_index_bucket(table->buckets, array, event) = array->nr + 1;
	array->events[array->nr] = event;
	/* Pairs with ue_index_event(). */
	smp_store_release(&array->nr, array->nr + 1);
	return 0;
}

int ue_index_assign(struct ue_index_table *table, struct ue_event *event,
		    u32 index)
{
	int err = 0;

	table = ue_index_lock(table);
	if (ue_index_of(table, event) != index)
		err = -EAGAIN;
	else if (!table->array || index == table->array->nr)
		err = ue_index_add(table, event);
	mutex_unlock(&table->lock);
	return err;
}
