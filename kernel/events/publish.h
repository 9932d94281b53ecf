/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds events to the kernel's tracing, and removes them from it.
 */
#ifndef UE_PUBLISH_H
#define UE_PUBLISH_H

#include <linux/list.h>

struct ue_event;

/**
 * struct ue_retired - the retired events of an owner of events
 * @events: by @dynamic, the oldest first. Each has a reference to its owner.
 * @nr: how many
 * @max: with so many, a new event takes over the number of one of these; set before each
 *	ue_event_publish()
 * @system: the tracing system of the owner's events. Two owners with the same one, of which
 *	one was removed, are the same owner.
 * @node: entry in the list of all owners that have some
 *
 * Protected by event_mutex.
 */
struct ue_retired {
	struct list_head events;
	unsigned int nr;
	unsigned int max;
	const char *system;
	struct list_head node;
};

/**
 * ue_event_publish() - add an event to the kernel's tracing
 * @event: the event, which stays unavailable
 *
 * Context: event_mutex held; may sleep.
 * Return: 0; -ENOMEM; -ENODEV if tracing has no type number left.
 */
int ue_event_publish(struct ue_event *event);

/**
 * ue_event_unpublish() - remove a claimed event from the kernel's tracing
 * @event: the event
 *
 * Context: event_mutex held; may sleep.
 */
void ue_event_unpublish(struct ue_event *event);

/**
 * ue_event_unpublish_at_unload() - unpublish an event and put its first reference
 * @event: a published event without users
 *
 * If tracing still refers to the event, its memory is abandoned instead.
 *
 * Context: event_mutex held; may sleep; module exit.
 */
void ue_event_unpublish_at_unload(struct ue_event *event);

/**
 * ue_publish_exit() - free the events that were kept after their removal
 *
 * Frees retired events, and events whose tracefs files were open. Waits until
 * the memory is freed.
 *
 * Context: module exit, with no event published; may sleep.
 */
void ue_publish_exit(void);

#endif /* UE_PUBLISH_H */
