// SPDX-License-Identifier: GPL-2.0-only
/*
 * User events in the kernel's file dynamic_events.
 *
 * The kernel keeps a list of all dynamic events. User events are in this list
 * while they are in the registry. The kernel calls @create with
 * dyn_event_ops_mutex held, and the other operations with event_mutex held.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <uapi/linux/user_events.h>

#include "events/event.h"
#include "format/format.h"
#include "interfaces/dynamic_events.h"
#include "interfaces/tracefs_file.h"
#include "port/kernel_symbols.h"
#include "port/module_state.h"
#include "registry/groups.h"
#include "registry/registry.h"

static struct ue_event *ue_from_dynamic(struct dyn_event *dynamic)
{
	return container_of(dynamic, struct ue_event, dynamic);
}

/*
 * Finds the group of a command "[SYSTEM/]name[ fields]", of which the caller becomes a
 * user, and advances @command to the name. Fields may have a '/'.
 */
static struct ue_group *ue_dynamic_group(const char **command)
{
	const char *system = *command;
	size_t length = strcspn(system, "/ \t\v\f\r");

	if (system[length] != '/')
		return ue_group_get(ue_default_group.number);
	*command += length + 1;
	return ue_group_get_by_system(system, length);
}

/* "u:[SYSTEM/]name[ fields]" */
static int ue_dynamic_create(const char *raw_command)
{
	const char *command = raw_command;
	struct ue_event *event;
	struct ue_group *group;
	int err = -EINVAL;

	if (!strstarts(command, USER_EVENTS_PREFIX) || !ue_module_is_ready())
		return -ECANCELED;
	command += strlen(USER_EVENTS_PREFIX);
	group = ue_dynamic_group(&command);
	if (!group)
		return -EINVAL;
	if (strlen(command) <= UE_COMMAND_MAX)
		err = ue_registry_register(group, command,
					   USER_EVENT_REG_PERSIST, &event);
	if (!err)
		ue_event_put(event);
	ue_group_put(group);
	return err;
}

static int ue_dynamic_show(struct seq_file *seq, struct dyn_event *dynamic)
{
	const struct ue_event *event = ue_from_dynamic(dynamic);
	const bool is_default = ue_group_of(event) == &ue_default_group;
	char *text = ue_format_text(event->format);

	if (!text)
		return -ENOMEM;
	/* Linux's user_events, which have only these events, list no system. */
	seq_printf(seq, USER_EVENTS_PREFIX "%s%s%s\n",
		   is_default ? "" : event->class.system,
		   is_default ? "" : "/", text);
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

/* Return: whether the words of @argv are the fields of @format. */
static bool ue_match_fields(const struct ue_format *format, int argc,
			    const char **argv)
{
	char *command = kstrdup(ue_format_name(format), GFP_KERNEL), *shorter;
	struct ue_format *asked;
	bool equal = false;

	for (int i = 0; i < argc && command; i++) {
		shorter = command;
		command = kasprintf(GFP_KERNEL, "%s %s", shorter, argv[i]);
		kfree(shorter);
	}
	if (command && !ue_format_parse(command, &asked)) {
		equal = ue_format_equal(format, asked);
		kfree(asked);
	}
	kfree(command);
	return equal;
}

/*
 * @name is the name of a command, which may have several formats, or that of a
 * tracepoint. An empty @name matches all events of @system, as it does for
 * the kernel's own dynamic events. Without @system, events of the default group match.
 * The tool's commands/delete.cpp writes names here: no character but # has a meaning.
 */
static bool ue_dynamic_match(const char *system, const char *name, int argc,
			     const char **argv, struct dyn_event *dynamic)
{
	const struct ue_event *event = ue_from_dynamic(dynamic);

	if (system ? strcmp(system, event->class.system) :
		     ue_group_of(event) != &ue_default_group)
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

static struct ue_registry_observer ue_dynamic_observer = {
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
		ue_registry_unobserve(&ue_dynamic_observer);
	return err;
}

/*
 * Deletes the event probes on an event. A probe has pointers to the fields of
 * its event, and would later find another event of the same name. All of these
 * probes are disabled: an enabled one is a user of the event through its
 * instance, which keeps the module loaded.
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

/* Called with event_mutex held, which keeps the event. */
static struct ue_event *ue_dynamic_next(unsigned long *serial)
{
	struct ue_event *event;

	rcu_read_lock();
	event = ue_registry_next(serial);
	rcu_read_unlock();
	return event;
}

/*
 * The kernel has no function to unregister operations, so they are removed from
 * its list. Afterwards no task can call @create. Tasks call the other
 * operations with event_mutex held and only for events in the list, from which
 * all user events are removed here.
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
	ue_registry_unobserve(&ue_dynamic_observer);
}
