// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells in the buffer of an instance what the limits there have suppressed.
 *
 * Events that have something to tell are in a list. A second after the first one was added, a
 * work item takes them all. So a process has such a record about once a second.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/llist.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/trace_events.h>
#include <linux/workqueue.h>
#include <uapi/linux/user_events.h>

#include "events/event.h"
#include "events/limit.h"
#include "events/record.h"
#include "events/recorder.h"
#include "format/format.h"
#include "format/group_parse.h"
#include "port/compat.h"
#include "port/kernel_symbols.h"
#include "registry/rule_action.h"
#include "registry/suppression.h"

/* How long the work item runs, and pauses if it is not done. */
#define UE_TELL_TIME		(2 * NSEC_PER_MSEC)
#define UE_TELL_PAUSE		msecs_to_jiffies(20)

/* How many records a limit gets at most. The last one, for process 0, has the rest. */
#define UE_TOLD_MAX		64

/* A system, and the name of an event, which is shorter than its command. */
#define UE_TOLD_NAME_MAX \
	(sizeof("user_events__multi:") + UE_GROUP_NAME_MAX + UE_COMMAND_MAX)

/**
 * struct ue_suppressed_payload - see UE_SUPPRESSED_COMMAND
 * @process: number of the process; 0 for several
 * @milliseconds: how long ago the first of these payloads was written
 * @count: how many there were
 * @location: of @event
 * @event: system and name
 */
struct ue_suppressed_payload {
	u32 process;
	u32 milliseconds;
	u64 count;
	u32 location;
	char event[UE_TOLD_NAME_MAX];
} __packed;

/* A record that is being made. Protected by event_mutex. */
static struct {
	struct trace_entry header;
	struct ue_suppressed_payload payload;
	u64 padding;
} __packed __aligned(8) ue_told;

/*
 * user_limit:suppressed; NULL if there is none yet, or no longer. Protected by event_mutex, except
 * at module exit.
 */
static struct ue_event *ue_suppressed_event;

/* By @suppression_node, with a reference to each. */
static LLIST_HEAD(ue_suppressing);

/* What the work item has taken from the list and not told of; used by it alone. */
static struct llist_node *ue_suppressions_left;

static void ue_suppressions_work(struct work_struct *work);

static DECLARE_DELAYED_WORK(ue_suppressions_delayed, ue_suppressions_work);

void ue_suppression_begin(struct ue_event *event)
{
	/*
	 * The caller has counted the payload before this test. So a work item that clears the flag
	 * after the test finds the count.
	 */
	if (atomic_read(&event->queued) & UE_QUEUED_SUPPRESSION ||
	    atomic_fetch_or(UE_QUEUED_SUPPRESSION, &event->queued) & UE_QUEUED_SUPPRESSION)
		return;
	ue_event_ref(event);
	if (llist_add(&event->suppression_node, &ue_suppressing))
		queue_delayed_work(ue_unbound_wq, &ue_suppressions_delayed, HZ);
}

static void ue_suppression_record(struct trace_event_file *file,
				  const struct ue_event *event,
				  const struct ue_suppressed *suppressed)
{
	struct ue_suppressed_payload *payload = &ue_told.payload;
	const int length = scnprintf(payload->event, UE_TOLD_NAME_MAX, "%s:%s",
				     event->class.system,
				     ue_format_name(event->format)) + 1;

	payload->process = suppressed->process;
	payload->milliseconds = jiffies_to_msecs(jiffies - suppressed->since);
	payload->count = suppressed->nr;
	payload->location = DYN_LOC(0, length);
	ue_record_in(ue_suppressed_event, file, &ue_told,
		     offsetof(struct ue_suppressed_payload, event) + length);
}

void ue_suppressions_tell(struct ue_event *event)
{
	static struct ue_suppressed suppressed[UE_TOLD_MAX];
	struct ue_recorder *recorder;

	lockdep_assert_held(ue_event_mutex);
	list_for_each_entry(recorder, &event->recorders.list, node) {
		struct ue_limit *limit =
			rcu_dereference_protected(recorder->limit,
						  lockdep_is_held(ue_event_mutex));
		const unsigned int nr = limit && ue_suppressed_event ?
			ue_limit_collect(limit, suppressed, UE_TOLD_MAX) : 0;
		struct trace_event_file *file = nr ?
			ue_instance_file(recorder->file->tr, &ue_suppressed_event->call) : NULL;

		/* Without a file, the counts are dropped, so that idle processes can be freed. */
		for (unsigned int i = 0; file && i < nr; i++)
			ue_suppression_record(file, event, &suppressed[i]);
	}
}

/* Return: false if there is no event left. */
static bool ue_suppressions_tell_of_one(void)
{
	struct ue_event *event;

	if (!ue_suppressions_left)
		return false;
	event = llist_entry(ue_suppressions_left, struct ue_event, suppression_node);
	ue_suppressions_left = ue_suppressions_left->next;
	atomic_fetch_andnot(UE_QUEUED_SUPPRESSION, &event->queued);
	mutex_lock(ue_event_mutex);
	ue_suppressions_tell(event);
	mutex_unlock(ue_event_mutex);
	ue_event_unref(event);
	cond_resched();
	return true;
}

/*
 * With very many events, the work item takes a tenth of a processor. If the work item is already
 * queued when an event is added, the event waits for up to a second.
 */
static void ue_suppressions_work(struct work_struct *work)
{
	const u64 start = local_clock();

	if (!ue_suppressions_left)
		ue_suppressions_left = llist_del_all(&ue_suppressing);
	while (local_clock() - start < UE_TELL_TIME &&
	       ue_suppressions_tell_of_one())
		;
	if (ue_suppressions_left)
		queue_delayed_work(ue_unbound_wq, &ue_suppressions_delayed, UE_TELL_PAUSE);
	else if (!llist_empty(&ue_suppressing))
		queue_delayed_work(ue_unbound_wq, &ue_suppressions_delayed, HZ);
}

void ue_suppressions_init(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	ue_suppressed_event = event;
}

void ue_suppressions_exit(void)
{
	cancel_delayed_work_sync(&ue_suppressions_delayed);
	/* Drops the references of what it would have told. */
	do {
		while (ue_suppressions_tell_of_one())
			;
		ue_suppressions_left = llist_del_all(&ue_suppressing);
	} while (ue_suppressions_left);
	ue_suppressed_event = NULL;
}
