/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that only count their users, in place of event.c: what the suites
 * test knows no more of an event than that, its serial and whether it is
 * enabled.
 */
#ifndef UE_EVENT_STUB_H
#define UE_EVENT_STUB_H

#include <kunit/test.h>

#include "../event.h"

/* ue_stub_events() - @nr events without users, freed with the test. */
struct ue_event *ue_stub_events(struct kunit *test, int nr);

/* ue_stub_users() - how many use the event. */
static inline int ue_stub_users(const struct ue_event *event)
{
	return atomic_long_read(&event->users);
}

/* ue_stub_enable() - enable or disable the event, event_mutex held. */
void ue_stub_enable(struct ue_event *event, bool enable);

/*
 * ue_stub_order() - the @nr-th of the orders in which @count things can come,
 * of which there are count!
 */
void ue_stub_order(int nr, int count, int *order);

/* ue_stub_kill() - the current kernel thread is being killed from here on. */
void ue_stub_kill(void);

/* ue_stub_revive() - it is not any more. */
void ue_stub_revive(void);

#endif /* UE_EVENT_STUB_H */
