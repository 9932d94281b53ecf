// SPDX-License-Identifier: GPL-2.0-only
/*
 * User events in the kernel's file dynamic_events.
 *
 * The kernel keeps one list of all dynamic events, which our events are on
 * while the registry has them. It calls @create with dyn_event_ops_mutex held
 * and the other operations with event_mutex held.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <uapi/linux/user_events.h>

#include "door.h"
#include "dynamic_events.h"
#include "event.h"
#include "format.h"
#include "kernel_symbols.h"
#include "registry.h"

static struct ue_event *ue_from_dynamic(struct dyn_event *dynamic)
{
	return container_of(dynamic, struct ue_event, dynamic);
}

/* "u:[user_events/]name[ fields]" */
static int ue_dynamic_create(const char *raw_command)
{
	const char *command = raw_command;
	struct ue_event *event;
	int err;

	if (!strstarts(command, USER_EVENTS_PREFIX) ||
	    !ue_doors_are_open())
		return -ECANCELED;
	command += strlen(USER_EVENTS_PREFIX);
	if (strstarts(command, USER_EVENTS_SYSTEM "/"))
		command += strlen(USER_EVENTS_SYSTEM "/");
	if (strlen(command) > UE_COMMAND_MAX)
		return -EINVAL;

	err = ue_registry_register(command, USER_EVENT_REG_PERSIST, &event);
	if (err)
		return err;
	ue_event_put(event);
	return 0;
}

static int ue_dynamic_show(struct seq_file *seq, struct dyn_event *dynamic)
{
	char *text = ue_format_text(ue_from_dynamic(dynamic)->format);

	if (!text)
		return -ENOMEM;
	seq_printf(seq, USER_EVENTS_PREFIX "%s\n", text);
	kfree(text);
	return 0;
}

static bool ue_dynamic_is_busy(struct dyn_event *dynamic)
{
	return ue_event_busy(ue_from_dynamic(dynamic));
}

static int ue_dynamic_free(struct dyn_event *dynamic)
{
	return ue_registry_remove_event(ue_from_dynamic(dynamic));
}

/* Are the words of @argv the fields of @format? */
static bool ue_match_fields(const struct ue_format *format, int argc,
			    const char **argv)
{
	/* Of any name: fields alone are compared. */
	static const char name[] = "e";
	size_t size = sizeof(name);
	struct ue_format *asked;
	char *command;
	bool equal = false;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	command = kmalloc(size, GFP_KERNEL);
	if (!command)
		return false;

	strscpy(command, name, size);
	for (int i = 0; i < argc; i++) {
		strlcat(command, " ", size);
		strlcat(command, argv[i], size);
	}
	if (!ue_format_parse(command, &asked)) {
		equal = ue_format_equal(format, asked);
		kfree(asked);
	}
	kfree(command);
	return equal;
}

/*
 * A name is the registered one, which may mean several formats, or the
 * tracepoint's; no name after a system means all of it, as for the kernel's
 * own kinds of dynamic events.
 */
static bool ue_dynamic_match(const char *system, const char *name, int argc,
			     const char **argv, struct dyn_event *dynamic)
{
	const struct ue_event *event = ue_from_dynamic(dynamic);

	if (system && strcmp(system, event->class.system))
		return false;
	if (*name && strcmp(name, ue_format_name(event->format)) &&
	    strcmp(name, ue_event_name(event)))
		return false;
	return !argc || ue_match_fields(event->format, argc, argv);
}

static struct dyn_event_operations ue_dynamic_operations = {
	.create		= ue_dynamic_create,
	.show		= ue_dynamic_show,
	.is_busy	= ue_dynamic_is_busy,
	.free		= ue_dynamic_free,
	.match		= ue_dynamic_match,
};

static void ue_dynamic_added(struct ue_event *event)
{
	event->dynamic.ops = &ue_dynamic_operations;
	list_add_tail(&event->dynamic.list, ue_dyn_event_list);
}

static void ue_dynamic_removed(struct ue_event *event)
{
	list_del_init(&event->dynamic.list);
}

static const struct ue_registry_observer ue_dynamic_observer = {
	.added = ue_dynamic_added,
	.removed = ue_dynamic_removed,
};

int ue_dynamic_events_init(void)
{
	int err;

	if (!ue_has_dyn_events())
		return 0;
	ue_registry_observe(&ue_dynamic_observer);
	err = static_call(ue_dyn_event_register)(&ue_dynamic_operations);
	if (err)
		ue_registry_observe(NULL);
	return err;
}

/*
 * Event probes on an event have pointers to its fields, and find another of the
 * same name later. Those that are enabled record the event, and the module is not
 * unloaded.
 */
static void ue_remove_probes(const struct ue_event *event)
{
	struct dyn_event *dynamic, *next;
	const char *attached = kasprintf(GFP_KERNEL, "%s/%s",
					 event->class.system,
					 ue_event_name(event));

	list_for_each_entry_safe(dynamic, next, ue_dyn_event_list, list) {
		if (attached && dynamic->ops == ue_eprobe_operations &&
		    dynamic->ops->match(NULL, "", 1, &attached, dynamic))
			dynamic->ops->free(dynamic);
	}
	kfree(attached);
}

/* With event_mutex held, so that it stays. */
static struct ue_event *ue_dynamic_next(unsigned long *serial)
{
	struct ue_event *event;

	rcu_read_lock();
	event = ue_registry_next(serial);
	rcu_read_unlock();
	return event;
}

/*
 * The kernel has no way to unregister operations: they are unlinked. After
 * that nobody creates; who reads or deletes does so with event_mutex held,
 * and finds our events on the list no more.
 */
void ue_dynamic_events_exit(void)
{
	struct ue_event *event;
	unsigned long serial = 0;

	if (!ue_has_dyn_events())
		return;
	mutex_lock(ue_dyn_event_ops_mutex);
	list_del(&ue_dynamic_operations.list);
	mutex_unlock(ue_dyn_event_ops_mutex);

	mutex_lock(ue_event_mutex);
	while ((event = ue_dynamic_next(&serial))) {
		if (atomic_read(&event->call.refcnt))
			ue_remove_probes(event);
		ue_dynamic_removed(event);
		serial++;
	}
	mutex_unlock(ue_event_mutex);
	ue_registry_observe(NULL);
}
