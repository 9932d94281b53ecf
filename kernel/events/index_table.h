/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write indexes that one open file, or several, have assigned. The table is
 * a user of each event in it.
 */
#ifndef UE_INDEX_TABLE_H
#define UE_INDEX_TABLE_H

#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct ue_event;

/**
 * struct ue_index_array - index -> event
 * @outgrown: the smaller array that was replaced by this array
 * @nr: number of indexes assigned
 * @capacity: number of elements of @events
 * @events: the events; elements below @nr never change
 */
struct ue_index_array {
	struct ue_index_array *outgrown;
	u32 nr;
	u32 capacity;
	struct ue_event *events[];
};

/**
 * struct ue_index_table - the indexes of an open file
 * @lock: held to change the table
 * @array: index -> event; read without a lock. Replaced arrays are kept until
 *	the table is freed, so that replacing one need not wait for readers.
 *	In a table with a source, an array of the source, maybe a replaced one.
 * @buckets: event -> index: a hash table with more than twice as many buckets
 *	as @array has elements; a bucket holds an index plus one, or 0. NULL
 *	while the table has few events.
 * @source: the table that has the indexes, or NULL if this table has them. Set
 *	once, with @lock held. A source has no source itself.
 * @references: the open file, and the tables that have this table as @source
 *
 * 64 bytes, unless the kernel checks mutexes: a size of kmalloc().
 */
struct ue_index_table {
	struct mutex lock;
	struct ue_index_array *array;
	u16 *buckets;
	struct ue_index_table *source;
	refcount_t references;
};

/**
 * ue_index_table_create() - create an empty table
 * @size: bytes to allocate, for the table or for a structure that begins with it.
 *	They are zero except for the table.
 *
 * Context: may sleep.
 * Return: the table, with one reference; NULL without memory.
 */
struct ue_index_table *ue_index_table_create(size_t size);

/**
 * ue_index_table_put() - drop a reference
 * @table: the table. The last put puts all events and frees the memory.
 *
 * Context: may sleep; event_mutex not held.
 */
void ue_index_table_put(struct ue_index_table *table);

/**
 * ue_index_table_share() - let a table have the indexes of another one
 * @table: a table without indexes
 * @from: another table. If it has a source, @table gets that source.
 *
 * An index that is assigned in one of the tables later is valid in all of them.
 * Another task may assign an index in @table at the same time: that task gets
 * an index of @from, or this function fails.
 *
 * Context: may sleep; the caller has references to both tables.
 * Return: 0; -EBUSY if @table has indexes or a source, or is a source.
 */
int ue_index_table_share(struct ue_index_table *table,
			 struct ue_index_table *from);

/**
 * ue_index_peek() - get the index that an event has or would be assigned
 * @table: the table
 * @event: the event, of which the caller is a user
 *
 * Context: may sleep.
 * Return: the index.
 */
u32 ue_index_peek(struct ue_index_table *table, const struct ue_event *event);

/**
 * ue_index_assign() - assign the index that ue_index_peek() returned
 * @table: the table; becomes a user of the event unless it is one already
 * @event: the event, of which the caller is a user
 * @index: from ue_index_peek()
 *
 * Context: may sleep.
 * Return: 0; -EAGAIN if the event has got another index since then, or another
 * event this index; -ENOMEM.
 */
int ue_index_assign(struct ue_index_table *table, struct ue_event *event,
		    u32 index);

/**
 * ue_index_event_of_source() - look up an event in the table's source
 * @table: the table
 * @index: as passed by a program, not negative
 *
 * Context: any.
 * Return: the event, or NULL if there is no source, or the index was never
 * assigned.
 */
struct ue_event *ue_index_event_of_source(struct ue_index_table *table,
					  u32 index);

/**
 * ue_index_element() - look up the event of an index in an array
 * @array: the array
 * @index: as passed by a program, not negative
 * @event: set to the event, if the index is assigned. A processor that guesses that the index is
 *	assigned reads no memory behind the assigned elements (Spectre variant 1).
 *
 * Context: any.
 * Return: whether the array has the index.
 */
static __always_inline bool ue_index_element(const struct ue_index_array *array, u32 index,
					     struct ue_event **event)
{
	/* Pairs with ue_index_add(): the event is written before @nr. */
	const u32 nr = smp_load_acquire(&array->nr);

	if (unlikely(index >= nr))
		return false;
	*event = array->events[array_index_nospec(index, nr)];
	return true;
}

/**
 * ue_index_event() - look up the event of an index
 * @table: the table, which is a user of the event until it is freed
 * @index: as passed by a program, not negative
 * @event: set to the event; NULL if the index was never assigned
 *
 * Every write comes here: the usual case has no test whether @event is NULL.
 *
 * Context: any.
 * Return: whether the index was assigned.
 */
static inline bool ue_index_event(struct ue_index_table *table, u32 index,
				  struct ue_event **event)
{
	/* Pairs with ue_index_grow() and ue_index_event_of_source(). */
	struct ue_index_array *array = smp_load_acquire(&table->array);

	if (likely(array && ue_index_element(array, index, event)))
		return true;
	*event = ue_index_event_of_source(table, index);
	return *event;
}

#endif /* UE_INDEX_TABLE_H */
