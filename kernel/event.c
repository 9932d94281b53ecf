// SPDX-License-Identifier: GPL-2.0-only
/*
 * One event: its references, its trace_event_call, how it comes and goes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "event.h"
#include "event_files.h"
#include "format.h"
#include "kernel_symbols.h"
#include "print.h"
#include "retired.h"
#include "tally.h"

/* What @users of an event is once it has been taken away. */
#define UE_EVENT_GONE	(LONG_MIN / 2)

static LLIST_HEAD(ue_later);

/*
 * Directories of tracefs are made and removed as the kernel, not as the
 * program, which may have been given the file and no access to tracefs.
 */
static struct cred *ue_kernel_cred;

static void ue_events_put_later(struct work_struct *work)
{
	struct ue_event *event, *next;

	llist_for_each_entry_safe(event, next, llist_del_all(&ue_later),
				  later) {
		/*
		 * From here on it may be queued again: who is the last user
		 * after this sees it, and who was it before is seen.
		 */
		atomic_xchg(&event->later_queued, 0);
		mutex_lock(ue_event_mutex);
		event->owner->idle(event);
		mutex_unlock(ue_event_mutex);
		ue_event_free(event);
	}
}

static DECLARE_WORK(ue_later_work, ue_events_put_later);

bool ue_event_tryget(struct ue_event *event)
{
	return atomic_long_inc_unless_negative(&event->users);
}

/*
 * The count reaches zero with event_mutex held, so that nobody can have taken
 * the event away by the time the owner is told.
 */
void ue_event_put(struct ue_event *event)
{
	if (atomic_long_add_unless(&event->users, -1, 1))
		return;
	mutex_lock(ue_event_mutex);
	if (atomic_long_dec_and_test(&event->users))
		event->owner->idle(event);
	mutex_unlock(ue_event_mutex);
}

/*
 * Here the count reaches zero without it, and another who puts the last
 * reference or deletes may take the event away at once: RCU keeps the memory
 * until a reference of our own does, or there is nothing left to do.
 */
void ue_event_put_later(struct ue_event *event)
{
	rcu_read_lock();
	if (atomic_long_dec_and_test(&event->users) &&
	    refcount_inc_not_zero(&event->references)) {
		if (!atomic_xchg(&event->later_queued, 1)) {
			llist_add(&event->later, &ue_later);
			schedule_work(&ue_later_work);
		} else {
			/* The list has one, unless it has just been worked off. */
			ue_event_free(event);
		}
	}
	rcu_read_unlock();
}

static int ue_event_attach(struct ue_event *event, enum ue_recorder_kind kind,
			   struct trace_event_file *file)
{
	bool first = !ue_event_enabled(event);
	int err;

	/* Fails while the module is being unloaded. */
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	err = ue_recorder_add(&event->recorders, kind, file);
	if (err) {
		module_put(THIS_MODULE);
		return err;
	}
	ue_event_get(event);
	if (kind == UE_RECORDER_FTRACE)
		event->recorded = true;
	if (first)
		event->owner->recorded(event);
	return 0;
}

/* Unloading takes event_mutex, so that it waits for the end of this. */
static void ue_event_detach(struct ue_event *event, enum ue_recorder_kind kind,
			    struct trace_event_file *file)
{
	ue_recorder_remove(&event->recorders, kind, file);
	if (!ue_event_enabled(event))
		event->owner->recorded(event);
	ue_event_put_later(event);
	module_put(THIS_MODULE);
}

/* Called by the kernel's tracing, with event_mutex held. */
static int ue_event_reg(struct trace_event_call *call, enum trace_reg type,
			void *data)
{
	struct ue_event *event = container_of(call, struct ue_event, call);

	switch (type) {
	case TRACE_REG_REGISTER:
		return ue_event_attach(event, UE_RECORDER_FTRACE, data);
	case TRACE_REG_UNREGISTER:
		ue_event_detach(event, UE_RECORDER_FTRACE, data);
		return 0;
	case TRACE_REG_PERF_REGISTER:
		return ue_event_attach(event, UE_RECORDER_PERF, NULL);
	case TRACE_REG_PERF_UNREGISTER:
		ue_event_detach(event, UE_RECORDER_PERF, NULL);
		return 0;
	default:
		return 0;
	}
}

static int ue_event_raw_init(struct trace_event_call *call)
{
	return register_trace_event(&call->event) ? 0 : -ENODEV;
}

/* What kmalloc() gives for an event, and how much of that is room. */
#define UE_EVENT_BYTES	roundup_pow_of_two(sizeof(struct ue_event))
#define UE_EVENT_ROOM	(UE_EVENT_BYTES - offsetof(struct ue_event, room))

/*
 * Has the event own memory from kmalloc(): what is small moves into its own.
 * Return: where it is now.
 */
static void *ue_event_take(struct ue_event *event, void *memory, size_t size)
{
	void *place = (void *)event->room + event->room_used;

	if (size > UE_EVENT_ROOM - event->room_used)
		return memory;
	event->room_used += ALIGN(size, sizeof(*event->room));
	memcpy(place, memory, size);
	kfree(memory);
	return place;
}

static void ue_event_drop(const struct ue_event *event, const void *memory)
{
	if (memory < (void *)event || memory >= (void *)event + UE_EVENT_BYTES)
		kfree(memory);
}

static void ue_event_free_memory(struct ue_event *event)
{
	if (event->tracepoint.name != ue_format_name(event->format))
		kfree(event->tracepoint.name);
	ue_event_drop(event, event->call.print_fmt);
	ue_event_drop(event, event->format);
	kfree(event);
}

static void ue_event_free_rcu(struct rcu_head *rcu)
{
	ue_tally(UE_TALLY_EVENTS, -1);
	ue_event_free_memory(container_of(rcu, struct ue_event, rcu));
}

void ue_event_free(struct ue_event *event)
{
	if (refcount_dec_and_test(&event->references))
		call_rcu(&event->rcu, ue_event_free_rcu);
}

static void ue_event_init_call(struct ue_event *event, const char *system)
{
	struct trace_event_call *call = &event->call;
	struct trace_event_class *class = &event->class;

	class->system = system;
	class->raw_init = ue_event_raw_init;
	class->reg = ue_event_reg;
	INIT_LIST_HEAD(&class->fields);

	call->class = class;
	call->tp = &event->tracepoint;
	call->event.funcs = &ue_print_functions;
	/*
	 * DYNAMIC: tracing counts its references in the call, not in the
	 * module. TRACEPOINT: BPF attaches to nothing less.
	 */
	call->flags = TRACE_EVENT_FL_TRACEPOINT | TRACE_EVENT_FL_DYNAMIC;
}

struct ue_event *ue_event_create(struct ue_format *format, char *name,
				 const char *system,
				 const struct ue_event_owner *owner)
{
	struct ue_event *event = kzalloc(UE_EVENT_BYTES, GFP_KERNEL_ACCOUNT);
	char *print_fmt = ue_format_print_fmt(format);

	if (!event || !print_fmt) {
		kfree(event);
		kfree(print_fmt);
		return NULL;
	}
	event->format = ue_event_take(event, format, format->bytes);
	event->call.print_fmt = ue_event_take(event, print_fmt,
					      strlen(print_fmt) + 1);
	event->tracepoint.name = name ?: ue_format_name(event->format);
	event->owner = owner;
	event->creator = current_uid();
	atomic_long_set(&event->users, UE_EVENT_GONE);
	refcount_set(&event->references, 1);
	INIT_LIST_HEAD(&event->enablers);
	INIT_LIST_HEAD(&event->dynamic.list);
	ue_recorders_init(&event->recorders);
	ue_event_init_call(event, system);
	ue_tally(UE_TALLY_EVENTS, 1);
	return event;
}

/* The fields as the kernel's tracing wants them: packed, ended by no type. */
static void ue_event_set_fields(const struct ue_format *format,
				struct trace_event_fields *fields)
{
	int nr = format->nr_fields;

	for (int i = 0; i < nr; i++) {
		const struct ue_field *field = &format->fields[i];
		struct trace_event_fields one = {
			.type		= ue_field_type(format, field),
			.name		= ue_field_name(format, field),
			.size		= field->size,
			.align		= 1,
			.is_signed	= ue_field_is_signed(format, field),
			.filter_type	= FILTER_OTHER,
			.len		= field->length,
		};

		/* Its members are const. */
		memcpy(&fields[i], &one, sizeof(one));
	}
	memset(&fields[nr], 0, sizeof(*fields));
}

/* Up to so many fields need no memory for this. */
#define UE_FIELDS_ON_STACK	8

/*
 * Tracing makes a list of its own of the fields, and looks at them again only for
 * an event that has none.
 */
static int ue_event_add_call(struct ue_event *event)
{
	static struct trace_event_fields none;
	struct trace_event_fields few[UE_FIELDS_ON_STACK + 1], *fields = few;
	const int nr = event->format->nr_fields;
	const struct cred *cred;
	int err;

	if (nr > UE_FIELDS_ON_STACK)
		fields = kmalloc_array(nr + 1, sizeof(*fields), GFP_KERNEL);
	if (!fields)
		return -ENOMEM;
	ue_event_set_fields(event->format, fields);
	event->class.fields_array = fields;
	cred = override_creds(ue_kernel_cred);
	err = trace_add_event_call(&event->call);
	revert_creds(cred);
	event->class.fields_array = &none;
	if (fields != few)
		kfree(fields);
	return err;
}

/*
 * trace_add_event_call() does not say when it had no memory for the fields.
 * On kernels that make no directory for a name that is too long for one,
 * such an event has no fields, and is recorded all the same.
 */
static bool ue_event_has_fields(const struct ue_event *event)
{
	struct list_head *field;
	int nr = 0;

	list_for_each(field, &event->class.fields)
		nr++;
	return nr == event->format->nr_fields ||
	       strlen(ue_event_name(event)) > NAME_MAX;
}

static void ue_event_remove_call(struct ue_event *event, bool retire)
{
	const struct cred *cred = override_creds(ue_kernel_cred);

	ue_event_files_forget(event);
	if (retire && event->recorded && ue_trace_event_sem)
		ue_event_retire(event);
	else
		WARN_ON_ONCE(trace_remove_event_call(&event->call));
	revert_creds(cred);
}

int ue_event_publish(struct ue_event *event)
{
	int err;

	lockdep_assert_held(ue_event_mutex);
	err = ue_event_add_call(event);
	if (err)
		return err;
	if (!ue_event_has_fields(event)) {
		ue_event_remove_call(event, false);
		return -ENOMEM;
	}
	atomic_long_set(&event->users, 1);
	return 0;
}

bool ue_event_claim(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	if (atomic_read(&event->call.refcnt))
		return false;
	return !atomic_long_cmpxchg(&event->users, 0, UE_EVENT_GONE);
}

void ue_event_unclaim(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	atomic_long_set(&event->users, 0);
}

/*
 * Without users there is no recorder, and without a reference in the call no
 * one who is about to be one: tracing has no reason to refuse.
 */
void ue_event_withdraw(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	WARN_ON_ONCE(!ue_event_gone(event) || ue_event_enabled(event));
	ue_event_remove_call(event, true);
}

void ue_event_give_up(struct ue_event *event)
{
	/* Unless there is more than one reason to. */
	if (event->call.event.funcs)
		ue_tally(UE_TALLY_EVENTS, -1);
	event->class.reg = trace_event_reg;
	event->class.raw_init = NULL;
	event->class.fields_array = NULL;
	event->call.event.funcs = NULL;
}

/*
 * An event probe refers to its event even while it is not enabled, and
 * nothing of that is told to the module. It looks the event up by name before
 * it does anything with it, and finds it gone; until it is deleted itself it
 * keeps a pointer to the memory, which therefore stays.
 */
void ue_event_abandon(struct ue_event *event)
{
	lockdep_assert_held(ue_event_mutex);
	atomic_long_set(&event->users, UE_EVENT_GONE);
	/* Who still refers to it has pointers to its fields. */
	if (atomic_read(&event->call.refcnt))
		INIT_LIST_HEAD(&event->class.fields);
	ue_event_remove_call(event, false);
	if (!atomic_read(&event->call.refcnt)) {
		ue_event_free(event);
		return;
	}
	pr_warn("event %s is still referred to; its memory is not freed\n",
		ue_event_name(event));
	ue_event_give_up(event);
}

int ue_events_init(void)
{
	ue_kernel_cred = prepare_kernel_cred(&init_task);
	return ue_kernel_cred ? 0 : -ENOMEM;
}

void ue_events_exit(void)
{
	flush_work(&ue_later_work);
	ue_retired_exit();
	ue_event_files_exit();
	put_cred(ue_kernel_cred);
	/* The callbacks that free events are in this module. */
	rcu_barrier();
}
