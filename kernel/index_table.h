/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The write indexes that one open file has given out. The table is a user of
 * each event in it.
 */
#ifndef UE_INDEX_TABLE_H
#define UE_INDEX_TABLE_H

#include <linux/mutex.h>
#include <linux/types.h>

struct ue_event;

/* Entries below @nr never change; a full array is replaced by a larger. */
struct ue_index_array {
	struct ue_index_array *outgrown;
	u32 nr;
	u32 capacity;
	struct ue_event *events[];
};

/**
 * struct ue_index_table - the indexes of an open file
 * @lock: held to change the table; nothing is taken inside it
 * @array: index -> event; read without a lock. Arrays that were outgrown stay
 *	until the table is destroyed, so that readers need not be waited for.
 * @slots: a hash table of the events, which has their indexes plus one, and more
 *	than twice as many slots as @array has room for; NULL as long as there are
 *	few
 */
struct ue_index_table {
	struct mutex lock;
	struct ue_index_array *array;
	u16 *slots;
};

void ue_index_table_init(struct ue_index_table *table);

/* ue_index_table_destroy() - let go of all events. May take event_mutex. */
void ue_index_table_destroy(struct ue_index_table *table);

/**
 * ue_index_peek() - the index that an event has, or would get next
 * @table: the table
 * @event: the caller is a user of it
 *
 * Context: may sleep.
 */
u32 ue_index_peek(struct ue_index_table *table, const struct ue_event *event);

/**
 * ue_index_claim() - give an event the index that was peeked
 * @table: the table; becomes a user of the event, if it is not yet
 * @event: the caller is a user of it
 * @index: from ue_index_peek()
 *
 * Context: may sleep.
 * Return: 0; -EAGAIN when another event has got the index since; -ENOMEM.
 */
int ue_index_claim(struct ue_index_table *table, struct ue_event *event,
		   u32 index);

/**
 * ue_index_event() - the event of an index
 * @table: the table, which keeps the event until it is destroyed
 * @index: as a program gave it, not negative
 *
 * Context: any.
 * Return: the event, or NULL for an index never given out.
 */
static inline struct ue_event *ue_index_event(struct ue_index_table *table,
					      u32 index)
{
	/* Pairs with ue_index_grow(). */
	struct ue_index_array *array = smp_load_acquire(&table->array);

	/* Pairs with ue_index_add(): who sees the index sees its event. */
	if (likely(array && index < smp_load_acquire(&array->nr)))
		return array->events[index];
	return NULL;
}

#endif /* UE_INDEX_TABLE_H */
