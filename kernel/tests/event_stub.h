/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that only count their users, in place of event.c. The code under test uses no
 * callback of an event's owner, and of the event's tracing only whether it is enabled.
 */
#ifndef UE_EVENT_STUB_H
#define UE_EVENT_STUB_H

#include <kunit/test.h>

#include "events/event.h"

/**
 * ue_stub_events() - create events without users
 * @test: frees the events when it ends
 * @nr: number of events
 *
 * Return: the array of events. If memory is short, the test ends.
 */
struct ue_event *ue_stub_events(struct kunit *test, int nr);

/**
 * ue_stub_users() - count the users of an event
 * @event: the event
 *
 * Return: the number of users.
 */
static inline int ue_stub_users(const struct ue_event *event)
{
	return atomic_long_read(&event->users);
}

/**
 * ue_stub_enable() - enable or disable an event
 * @event: the event
 * @enable: whether to enable it
 *
 * Context: event_mutex held.
 */
void ue_stub_enable(struct ue_event *event, bool enable);

/**
 * ue_stub_order() - get one of the permutations of 0 to @count - 1
 * @nr: number of the permutation, below the factorial of @count
 * @count: number of elements
 * @order: set to the permutation
 */
void ue_stub_order(int nr, int count, int *order);

/**
 * ue_stub_kill() - make the current kernel thread have a pending SIGKILL
 */
void ue_stub_kill(void);

/**
 * ue_stub_revive() - undo ue_stub_kill()
 */
void ue_stub_revive(void);

#endif /* UE_EVENT_STUB_H */
