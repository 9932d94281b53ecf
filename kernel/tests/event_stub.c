// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that only count their users.
 */
#include <linux/bug.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

#include "event_stub.h"
#include "port/compat.h"
#include "programs/enabler.h"
#include "programs/user.h"

static DEFINE_MUTEX(ue_stub_event_mutex);
struct mutex *ue_event_mutex = &ue_stub_event_mutex;

static const struct ue_event_owner ue_stub_owner = { .users = &ue_default_users };

struct ue_event *ue_stub_events(struct kunit *test, int nr)
{
	struct ue_event *events = kunit_kcalloc(test, nr, sizeof(*events),
						GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, events);
	for (int i = 0; i < nr; i++) {
		events[i].serial = i;
		events[i].owner = &ue_stub_owner;
		INIT_LIST_HEAD(&events[i].enablers);
		refcount_set(&events[i].references, 1);
	}
	return events;
}

/* An event is enabled while it has a recorder of all programs. */
void ue_stub_enable(struct ue_event *event, bool enable)
{
	lockdep_assert_held(ue_event_mutex);
	event->recorders.nr[UE_RECORDER_FTRACE] = enable;
}

DEFINE_STATIC_CALL_RET0(ue_get_task_exe_file, get_task_exe_file);
DEFINE_STATIC_CALL_RET0(ue_d_absolute_path, d_absolute_path);

void ue_event_put(struct ue_event *event)
{
	WARN_ON_ONCE(atomic_long_dec_return(&event->users) < 0);
}

void ue_event_put_later(struct ue_event *event)
{
	ue_event_put(event);
}

void ue_event_unref(struct ue_event *event)
{
	refcount_dec(&event->references);
}

void ue_stub_order(int nr, int count, int *order)
{
	for (int i = 0; i < count; i++)
		order[i] = i;
	/* Digits of @nr, of decreasing base, choose the next element. */
	for (int i = 0; i < count; i++) {
		int chosen = i + nr % (count - i);
		int one = order[chosen];

		nr /= count - i;
		order[chosen] = order[i];
		order[i] = one;
	}
}

MODULE_DESCRIPTION("user_events: unit tests");
MODULE_LICENSE("GPL");
ue_import_ns(EXPORTED_FOR_KUNIT_TESTING);

void ue_stub_kill(void)
{
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
}

void ue_stub_revive(void)
{
	flush_signals(current);
	disallow_signal(SIGKILL);
}
