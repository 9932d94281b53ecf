/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write indexes that one open file has assigned. The table is a user of
 * each event in it.
 */
#ifndef UE_INDEX_TABLE_H
#define UE_INDEX_TABLE_H

#include <linux/mutex.h>
#include <linux/types.h>

struct ue_event;

/**
 * struct ue_index_array - index -> event
 * @outgrown: the smaller array that this one has replaced
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
 * @lock: held to change the table; no other lock is taken inside it
 * @array: index -> event; read without a lock. Replaced arrays are kept until
 *	the table is destroyed, so that replacing one need not wait for readers.
 * @buckets: event -> index: a hash table with more than twice as many buckets
 *	as @array has elements; a bucket holds an index plus one, or 0. NULL
 *	while the table has few events.
 */
struct ue_index_table {
	struct mutex lock;
	struct ue_index_array *array;
	u16 *buckets;
};

/**
 * ue_index_table_init() - initialize an empty table
 * @table: the table
 *
 * Context: any.
 */
void ue_index_table_init(struct ue_index_table *table);

/**
 * ue_index_table_destroy() - put all events and free the memory
 * @table: the table, which no other task uses
 *
 * Context: may sleep; event_mutex not held.
 */
void ue_index_table_destroy(struct ue_index_table *table);

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
 * Return: 0; -EAGAIN if the index was assigned to another event since then;
 * -ENOMEM.
 */
int ue_index_assign(struct ue_index_table *table, struct ue_event *event,
		    u32 index);

/**
 * ue_index_event() - look up the event of an index
 * @table: the table, which is a user of the event until it is destroyed
 * @index: as passed by a program, not negative
 *
 * Context: any.
 * Return: the event, or NULL if the index was never assigned.
 */
static inline struct ue_event *ue_index_event(struct ue_index_table *table,
					      u32 index)
{
	/* Pairs with ue_index_grow(). */
	struct ue_index_array *array = smp_load_acquire(&table->array);

	/* Pairs with ue_index_add(): the event is written before @nr. */
	if (likely(array && index < smp_load_acquire(&array->nr)))
		return array->events[index];
	return NULL;
}

#endif /* UE_INDEX_TABLE_H */
