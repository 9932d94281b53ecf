// SPDX-License-Identifier: GPL-2.0-only
/*
 * One event: users, references, recorders, and the callbacks of the
 * trace_event_call.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "events/event.h"
#include "format/format.h"
#include "format/print.h"
#include "port/debug_counter.h"
#include "port/kernel_symbols.h"

/* Events that may have lost their last user, with a reference for each. */
static LLIST_HEAD(ue_events_to_check);

static void ue_events_check_unused(struct work_struct *work)
{
	struct ue_event *event, *next;

	llist_for_each_entry_safe(event, next,
				  llist_del_all(&ue_events_to_check),
				  check_node) {
		/*
		 * Clear the flag before calling the owner. If the last user
		 * puts the event after this, ue_event_put_later() queues the
		 * event again. If the last user has put it before, the owner
		 * finds no users.
		 */
		atomic_fetch_andnot(UE_QUEUED_CHECK, &event->queued);
		mutex_lock(ue_event_mutex);
		event->owner->unused(event);
		mutex_unlock(ue_event_mutex);
		ue_event_unref(event);
		cond_resched();
	}
}

static DECLARE_WORK(ue_check_work, ue_events_check_unused);

void ue_events_flush(void)
{
	flush_work(&ue_check_work);
}

bool ue_event_tryget(struct ue_event *event)
{
	return atomic_long_inc_unless_negative(&event->users);
}

/*
 * The count reaches zero with event_mutex held, so that no other task can
 * remove the event before the owner is called.
 */
void ue_event_put(struct ue_event *event)
{
	if (atomic_long_add_unless(&event->users, -1, 1))
		return;
	mutex_lock(ue_event_mutex);
	if (atomic_long_dec_and_test(&event->users))
		event->owner->unused(event);
	mutex_unlock(ue_event_mutex);
}

/*
 * The number of users may reach zero here, and another task may then remove the
 * event at once. RCU keeps the memory until this function has a reference. If
 * there is no reference to copy any more, the event has been removed.
 */
void ue_event_put_later(struct ue_event *event)
{
	rcu_read_lock();
	if (atomic_long_dec_and_test(&event->users) &&
	    refcount_inc_not_zero(&event->references)) {
		if (!(atomic_fetch_or(UE_QUEUED_CHECK, &event->queued) &
		      UE_QUEUED_CHECK)) {
			llist_add(&event->check_node, &ue_events_to_check);
			schedule_work(&ue_check_work);
		} else {
			/* The work item has yet to clear the flag. */
			ue_event_unref(event);
		}
	}
	rcu_read_unlock();
}

bool ue_event_claim(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	if (atomic_read(&event->call.refcnt))
		return false;
	return !atomic_long_cmpxchg(&event->users, 0, UE_EVENT_UNAVAILABLE);
}

void ue_event_unclaim(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	/* Pairs with ue_event_tryget(), as ue_event_make_available() does. */
	atomic_long_set_release(&event->users, 0);
}

/* Tells the owner after a recorder was added or removed. */
static void ue_event_recorder_changed(struct ue_event *event,
				      enum ue_recorder_kind kind)
{
	if (kind == UE_RECORDER_FTRACE)
		event->owner->all_changed(event);
	else if (kind == UE_RECORDER_SCOPED)
		event->owner->scopes_changed(event,
					     ue_recorders_scopes(&event->recorders));
}

/* The new scopes are added before the old ones end, so that no record is missed. */
void ue_event_set_scopes(struct ue_event *event, struct trace_event_file *file,
			 u64 scopes)
{
	struct ue_recorders *recorders = &event->recorders;
	bool all;

	event->owner->scopes_changed(event, ue_recorders_scopes(recorders) | scopes);
	all = ue_recorder_set_scopes(recorders, file, scopes);
	if (all)
		event->owner->all_changed(event);
	event->owner->scopes_changed(event, ue_recorders_scopes(recorders));
}

/* The owner is told, as programs may have been beyond the old limit. */
void ue_event_set_limit(struct ue_event *event, struct trace_event_file *file,
			struct ue_limit *limit)
{
	struct ue_recorders *recorders = &event->recorders;

	ue_recorder_set_limit(recorders, file, limit);
	event->owner->scopes_changed(event, ue_recorders_scopes(recorders));
}

static int ue_event_add_recorder(struct ue_event *event,
				 struct trace_event_file *file)
{
	const bool first = !ue_event_enabled(event);
	enum ue_recorder_kind kind;
	int err;

	/* Fails while the module is being unloaded. */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	err = ue_recorder_add(&event->recorders, file, &kind);
	if (err) {
		module_put(THIS_MODULE);
		return err;
	}
	ue_event_get(event);
	if (first)
		event->owner->state_changed(event);
	if (file)
		event->has_records = true;
	ue_event_recorder_changed(event, kind);
	return 0;
}

/*
 * When an event is removed that was ever enabled in an instance, the kernel
 * marks the instance. The next removal of any dynamic event then clears the
 * buffers of the instance, because another event could get the type number.
 * Events of this module keep their numbers (see publish.c), so nothing has to
 * be cleared.
 */
static void ue_event_keep_records(struct trace_event_file *file)
{
	if (ue_trace_event_sem)
		clear_bit(EVENT_FILE_FL_WAS_ENABLED_BIT, &file->flags);
}

/*
 * After module_put() the module can be unloaded. Its exit function takes
 * event_mutex, which the caller holds, and so waits for the caller.
 */
static int ue_event_remove_recorder(struct ue_event *event,
				    struct trace_event_file *file)
{
	const enum ue_recorder_kind kind =
		ue_recorder_remove(&event->recorders, file);

	if (!ue_event_enabled(event))
		event->owner->state_changed(event);
	if (file)
		ue_event_keep_records(file);
	ue_event_recorder_changed(event, kind);
	ue_event_put_later(event);
	module_put(THIS_MODULE);
	return 0;
}

/* Called by the kernel's tracing, with event_mutex held. */
static int ue_event_reg(struct trace_event_call *call, enum trace_reg type,
			void *data)
{
	struct ue_event *event = container_of(call, struct ue_event, call);

	switch (type) {
	case TRACE_REG_REGISTER:
		return ue_event_add_recorder(event, data);
	case TRACE_REG_UNREGISTER:
		return ue_event_remove_recorder(event, data);
	case TRACE_REG_PERF_REGISTER:
		return ue_event_add_recorder(event, NULL);
	case TRACE_REG_PERF_UNREGISTER:
		return ue_event_remove_recorder(event, NULL);
	case TRACE_REG_PERF_OPEN:
		event->owner->perf_opened(event, data);
		return 0;
	case TRACE_REG_PERF_CLOSE:
		event->owner->perf_closed(event, data);
		return 0;
	default:
		return 0;
	}
}

/* Called by tracing, with trace_event_sem or a raw spinlock held. */
static enum print_line_t ue_event_print(struct trace_iterator *iter, int flags,
					struct trace_event *trace_event)
{
	const struct ue_event *event =
		container_of(trace_event, struct ue_event, call.event);

	return ue_print_record(iter, ue_event_name(event), event->format);
}

static struct trace_event_functions ue_event_functions = {
	.trace = ue_event_print,
};

/* How much kmalloc() returns for an event, and the part that is @inline_data. */
#define UE_EVENT_BYTES	roundup_pow_of_two(sizeof(struct ue_event))
#define UE_EVENT_INLINE_SIZE \
	(UE_EVENT_BYTES - offsetof(struct ue_event, inline_data))

/*
 * Moves @memory, from kmalloc(), into the event if it fits there.
 * Return: where the bytes are now: in the event, or at @memory.
 */
static void *ue_event_move_inline(struct ue_event *event, void *memory,
				  size_t size)
{
	void *copy = (void *)event->inline_data + event->inline_used;

	if (size > UE_EVENT_INLINE_SIZE - event->inline_used)
		return memory;
	event->inline_used += ALIGN(size, sizeof(*event->inline_data));
	memcpy(copy, memory, size);
	kfree(memory);
	return copy;
}

/* Frees what ue_event_move_inline() returned, unless it is in the event. */
static void ue_event_free_member(const struct ue_event *event,
				 const void *memory)
{
	if (memory < (void *)event || memory >= (void *)event + UE_EVENT_BYTES)
		kfree(memory);
}

/* The event is freed, or its memory is abandoned. */
static void ue_event_let_go(const struct ue_event *event)
{
	ue_debug_count(UE_COUNT_EVENTS, -1);
	if (event->owner->freed)
		event->owner->freed(event->owner);
}

static void ue_event_free_rcu(struct rcu_head *rcu)
{
	struct ue_event *event = container_of(rcu, struct ue_event, rcu);

	ue_event_let_go(event);
	if (event->tracepoint.name != ue_format_name(event->format))
		kfree(event->tracepoint.name);
	ue_event_free_member(event, event->call.print_fmt);
	ue_event_free_member(event, event->format);
	kfree(event);
}

void ue_event_unref(struct ue_event *event)
{
	if (refcount_dec_and_test(&event->references))
		call_rcu(&event->rcu, ue_event_free_rcu);
}

static void ue_event_init_call(struct ue_event *event, const char *system)
{
	struct trace_event_call *call = &event->call;
	struct trace_event_class *class = &event->class;

	class->system = system;
	class->reg = ue_event_reg;
	INIT_LIST_HEAD(&class->fields);

	call->class = class;
	call->tp = &event->tracepoint;
	call->event.funcs = &ue_event_functions;
	/*
	 * DYNAMIC: tracing counts its references in the call instead of the
	 * module. TRACEPOINT: BPF programs can attach.
	 */
	call->flags = TRACE_EVENT_FL_TRACEPOINT | TRACE_EVENT_FL_DYNAMIC;
}

struct ue_event *ue_event_create(struct ue_format *format, char *name,
				 const char *print_fmt, const char *system,
				 const struct ue_event_owner *owner)
{
	struct ue_event *event = kzalloc(UE_EVENT_BYTES, GFP_KERNEL_ACCOUNT);
	char *text = print_fmt ? kstrdup(print_fmt, GFP_KERNEL_ACCOUNT) :
				 ue_format_print_fmt(format);

	if (!event || !text) {
		kfree(event);
		kfree(text);
		return NULL;
	}
	event->format = ue_event_move_inline(event, format, format->bytes);
	event->call.print_fmt = ue_event_move_inline(event, text,
						     strlen(text) + 1);
	event->tracepoint.name = name ?: ue_format_name(event->format);
	event->owner = owner;
	atomic_long_set(&event->users, UE_EVENT_UNAVAILABLE);
	refcount_set(&event->references, 1);
	INIT_LIST_HEAD(&event->enablers);
	INIT_LIST_HEAD(&event->dynamic.list);
	ue_recorders_init(&event->recorders);
	ue_event_init_call(event, system);
	ue_debug_count(UE_COUNT_EVENTS, 1);
	return event;
}

void ue_event_abandon(struct ue_event *event)
{
	/*
	 * The functions are NULL if the event is abandoned already, for a probe
	 * or an open file.
	 */
	if (event->call.event.funcs) {
		/* The name is in the memory of the owner, or of the module. */
		event->class.system = kstrdup(event->class.system,
					      GFP_KERNEL | __GFP_NOFAIL);
		ue_event_let_go(event);
	}
	event->class.reg = trace_event_reg;
	event->class.raw_init = NULL;
	event->call.perf_perm = NULL;
	event->class.fields_array = NULL;
	event->call.event.funcs = NULL;
}
