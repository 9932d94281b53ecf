// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a rule does in an ftrace instance. The functions of the kernel are those
 * that the files of tracefs, and events on the kernel's command line, use.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace.h>
#include <linux/trace_events.h>
#include <linux/trace_seq.h>

#include "port/compat.h"
#include "port/kernel_symbols.h"
#include "registry/rule_action.h"

/* What the kernel prints of a filter; protected by event_mutex. */
static struct trace_seq ue_printed;

/* The top-level instance, which is never removed; NULL if it was not found. */
static struct trace_array *ue_top_instance;

/*
 * The instance has no name, and a linker that optimises across files removes its
 * symbol. So take the instance from one of its events that all kernels have.
 */
void ue_instances_init(void)
{
	struct trace_event_file *file;

	file = trace_get_event_file(NULL, "sched", "sched_switch");
	if (IS_ERR(file)) {
		pr_warn("this kernel has no event sched:sched_switch: error %ld; user_events works, but without the file user_events_rules\n",
			PTR_ERR(file));
		return;
	}
	ue_top_instance = file->tr;
	trace_put_event_file(file);
}

bool ue_has_instances(void)
{
	return ue_top_instance &&
	       static_call_query(ue_tracing_update_buffers) &&
	       static_call_query(ue_find_event_file) &&
	       static_call_query(ue_trace_event_enable_disable) &&
	       static_call_query(ue_create_event_filter) &&
	       static_call_query(ue_free_event_filter) &&
	       static_call_query(ue_apply_event_filter) &&
	       static_call_query(ue_print_event_filter) &&
	       static_call_query(ue_trigger_process_regex);
}

struct trace_array *ue_instance_get(const char *name)
{
	return name ? ue_trace_array_get(name) : ue_top_instance;
}

/* ue_instance_get() takes no reference to the top-level instance. */
void ue_instance_put(struct trace_array *instance)
{
	if (instance != ue_top_instance)
		trace_array_put(instance);
}

/* Another dynamic event, such as a kernel probe, may have the same name. */
struct trace_event_file *ue_instance_file(struct trace_array *instance,
					  struct trace_event_call *call)
{
	struct trace_event_file *file;

	lockdep_assert_held(ue_event_mutex);
	file = static_call(ue_find_event_file)(instance, call->class->system,
					       trace_event_name(call));
	return file && file->event_call == call ? file : NULL;
}

/* Return: what the kernel prints of the filter: its text, and then an error. */
static char *ue_file_print_filter(struct trace_event_file *file)
{
	size_t length;

	trace_seq_init(&ue_printed);
	static_call(ue_print_event_filter)(file, &ue_printed);
	length = min_t(size_t, trace_seq_used(&ue_printed),
		       sizeof(ue_printed.buffer) - 1);
	ue_printed.buffer[length] = '\0';
	return strim(ue_printed.buffer);
}

/* The kernel prints "FILTER\n    ^\nparse_error: REASON". */
static void ue_filter_reason(struct event_filter *filter, char *reason)
{
	static const char prefix[] = "parse_error: ";
	struct trace_event_file file = { };
	const char *text;

	RCU_INIT_POINTER(file.filter, filter);
	text = strstr(ue_file_print_filter(&file), prefix);
	strscpy(reason, text ? text + strlen(prefix) : "Bad filter",
		UE_REASON_MAX);
}

static void ue_errno_reason(int err, char *reason)
{
	snprintf(reason, UE_REASON_MAX, "%pe", ERR_PTR(err));
}

/*
 * apply_event_filter() installs even a filter that does not fit. So let the
 * kernel parse it without an event's file first.
 */
static int ue_file_check_filter(struct trace_event_file *file, char *filter,
				char *reason)
{
	struct event_filter *parsed = NULL;
	int err = static_call(ue_create_event_filter)(file->tr,
						      file->event_call, filter,
						      true, &parsed);

	if (err && err != -ENOMEM && parsed)
		ue_filter_reason(parsed, reason);
	else if (err)
		ue_errno_reason(err, reason);
	static_call(ue_free_event_filter)(parsed);
	return err;
}

static void ue_file_clear_filter(struct trace_event_file *file)
{
	char none[] = "0";

	static_call(ue_apply_event_filter)(file, none);
}

int ue_file_set_filter(struct trace_event_file *file, const char *filter,
		       char *reason)
{
	char *text;
	int err;

	lockdep_assert_held(ue_event_mutex);
	if (!filter) {
		ue_file_clear_filter(file);
		return 0;
	}
	text = kstrdup(filter, GFP_KERNEL);
	if (!text) {
		ue_errno_reason(-ENOMEM, reason);
		return -ENOMEM;
	}
	err = ue_file_check_filter(file, text, reason);
	if (!err) {
		err = static_call(ue_apply_event_filter)(file, text);
		if (err) {
			ue_errno_reason(err, reason);
			ue_file_clear_filter(file);
		}
	}
	kfree(text);
	return err;
}

/*
 * Lets the buffers have their full size, as the kernel does before it enables an
 * event. This erases what a persistent buffer has kept of the previous boot.
 */
static int ue_file_use_buffers(struct trace_event_file *file, char *reason)
{
	int err = static_call(ue_tracing_update_buffers)(UE_UPDATE_ARGUMENT(file->tr));

	if (err < 0)
		ue_errno_reason(err, reason);
	return min(err, 0);
}

static bool ue_file_is_on(const struct trace_event_file *file)
{
	/* A trigger alone leaves the event soft-disabled. */
	return (file->flags & (EVENT_FILE_FL_ENABLED |
			       EVENT_FILE_FL_SOFT_DISABLED)) ==
	       EVENT_FILE_FL_ENABLED;
}

/* The filter is set first, so that nothing is recorded without it. */
int ue_file_enable(struct trace_event_file *file, const char *filter,
		   char *reason)
{
	int err;

	lockdep_assert_held(ue_event_mutex);
	if (ue_file_is_on(file) || file->flags & EVENT_FILE_FL_FILTERED) {
		strscpy(reason, "already enabled or filtered", UE_REASON_MAX);
		return -EBUSY;
	}
	err = filter ? ue_file_set_filter(file, filter, reason) : 0;
	if (err)
		return err;
	err = ue_file_use_buffers(file, reason);
	if (err)
		goto clear;
	err = static_call(ue_trace_event_enable_disable)(file, 1, 0);
	if (!err)
		return 0;
	ue_errno_reason(err, reason);
clear:
	if (filter)
		ue_file_clear_filter(file);
	return err;
}

bool ue_file_is_enabled(struct trace_event_file *file, const char *filter)
{
	bool filtered = file->flags & EVENT_FILE_FL_FILTERED;

	lockdep_assert_held(ue_event_mutex);
	if (!ue_file_is_on(file) || filtered != !!filter)
		return false;
	return !filter || !strcmp(ue_file_print_filter(file), filter);
}

void ue_file_disable(struct trace_event_file *file)
{
	lockdep_assert_held(ue_event_mutex);
	static_call(ue_trace_event_enable_disable)(file, 0, 0);
	if (file->flags & EVENT_FILE_FL_FILTERED)
		ue_file_clear_filter(file);
}

/* Passes a copy to the kernel, which cuts it into words. */
static int ue_file_trigger(struct trace_event_file *file, const char *prefix,
			   const char *trigger)
{
	char *text = kasprintf(GFP_KERNEL, "%s%s", prefix, trigger);
	int err = -ENOMEM;

	lockdep_assert_held(ue_event_mutex);
	if (text)
		err = static_call(ue_trigger_process_regex)(file, text);
	kfree(text);
	return min(err, 0);
}

int ue_file_add_trigger(struct trace_event_file *file, const char *trigger,
			char *reason)
{
	const int before = atomic_read(&file->tm_ref);
	int err = ue_file_use_buffers(file, reason);

	if (err)
		return err;
	err = ue_file_trigger(file, "", trigger);
	/* Linux 6.1 reports success if it has no memory for a snapshot. */
	if (!err && atomic_read(&file->tm_ref) == before)
		err = -ENOMEM;
	if (err)
		ue_errno_reason(err, reason);
	return err;
}

int ue_file_remove_trigger(struct trace_event_file *file, const char *trigger)
{
	lockdep_assert_held(ue_event_mutex);
	/* The kernel also succeeds if this trigger is not among those that are there. */
	return atomic_read(&file->tm_ref) ? ue_file_trigger(file, "!", trigger) : 0;
}
