// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file user_events_groups, and the module parameter "groups".
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uidgid.h>

#include "events/event.h"
#include "format/group_parse.h"
#include "interfaces/group_device.h"
#include "interfaces/groups_file.h"
#include "interfaces/tracefs_file.h"
#include "port/module_state.h"
#include "programs/user.h"
#include "registry/groups.h"
#include "registry/registry.h"

static char *ue_groups_parameter;
module_param_named(groups, ue_groups_parameter, charp, 0);
MODULE_PARM_DESC(groups, "groups of events to begin with, separated by semicolons");

/**
 * struct ue_device_owner - owner and permissions of the device of a group
 * @uid: its owner
 * @gid: its group of users
 * @mode: its permissions
 */
struct ue_device_owner {
	kuid_t uid;
	kgid_t gid;
	umode_t mode;
};

static struct ue_device_owner ue_device_owner_of(const struct ue_group *group)
{
	return (struct ue_device_owner){ group->uid, group->gid, group->mode };
}

static void ue_group_set_owner(struct ue_group *group,
			       const struct ue_device_owner *owner)
{
	WRITE_ONCE(group->uid, owner->uid);
	WRITE_ONCE(group->gid, owner->gid);
	WRITE_ONCE(group->mode, owner->mode);
}

/* Return: false if an ID does not exist in the user namespace of the caller. */
static bool ue_parse_owner(const struct ue_group_text *text,
			   struct ue_device_owner *owner)
{
	struct user_namespace *namespace = current_user_ns();

	if (text->given & BIT(UE_GROUP_UID))
		owner->uid = make_kuid(namespace, text->values[UE_GROUP_UID]);
	if (text->given & BIT(UE_GROUP_GID))
		owner->gid = make_kgid(namespace, text->values[UE_GROUP_GID]);
	owner->mode = ue_group_given(text, UE_GROUP_MODE, owner->mode);
	return uid_valid(owner->uid) && gid_valid(owner->gid);
}

static void ue_group_set_limits(struct ue_group *group,
				const struct ue_group_text *text)
{
	struct ue_users *users = group->owner.users;

	WRITE_ONCE(group->max, ue_group_given(text, UE_GROUP_MAX, group->max));
	WRITE_ONCE(users->max_events,
		   ue_group_given(text, UE_GROUP_MAX_PER_USER, users->max_events));
	WRITE_ONCE(users->max_registrations,
		   ue_group_given(text, UE_GROUP_MAX_REGISTRATIONS,
				  users->max_registrations));
}

static int ue_groups_add(const struct ue_group_text *text)
{
	struct ue_device_owner owner;
	struct ue_group *group;
	int err = ue_group_create(text->name, &group);

	if (err)
		return err;
	owner = ue_device_owner_of(group);
	err = -EINVAL;
	if (ue_parse_owner(text, &owner)) {
		ue_group_set_limits(group, text);
		ue_group_set_owner(group, &owner);
		err = ue_group_device_create(group);
	}
	/*
	 * A process may have found the group already, by a node that it has made. The group
	 * then stays, and adding it again creates the device.
	 */
	if (err && !ue_group_close(group))
		ue_group_remove(group);
	else
		ue_group_link(group);
	return err;
}

/*
 * The kernel sets the owner of a node when it creates the node. So a node with another
 * owner replaces the old one. Files that are open, and nodes that others have made, stay
 * as they are. A bind mount of the old node can no longer be opened,
 * because the kernel clears the mode of the node.
 */
static int ue_groups_change_owner(struct ue_group *group,
				  const struct ue_device_owner *owner)
{
	const struct ue_device_owner old = ue_device_owner_of(group);
	int err;

	if (group->device && uid_eq(owner->uid, group->uid) &&
	    gid_eq(owner->gid, group->gid) && owner->mode == group->mode)
		return 0;
	ue_group_set_owner(group, owner);
	err = ue_group_device_create(group);
	if (err)
		ue_group_set_owner(group, &old);
	/* The group goes without a device only if memory is too short for two attempts. */
	if (err && !group->device)
		ue_group_device_create(group);
	return err;
}

static int ue_groups_change_options(struct ue_group *group,
				    const struct ue_group_text *text)
{
	struct ue_device_owner owner = ue_device_owner_of(group);
	int err = -EINVAL;

	if (ue_parse_owner(text, &owner))
		err = ue_groups_change_owner(group, &owner);
	if (!err)
		ue_group_set_limits(group, text);
	return err;
}

static int ue_groups_add_or_change(const struct ue_group_text *text)
{
	struct ue_group *group = ue_group_find(text->name);

	return group ? ue_groups_change_options(group, text) : ue_groups_add(text);
}

static int ue_groups_remove(struct ue_group *group)
{
	int err = ue_group_close(group);

	if (err)
		return err;
	ue_group_device_remove(group);
	ue_group_remove(group);
	return 0;
}

static int ue_groups_remove_by_name(const struct ue_group_text *text)
{
	struct ue_group *group = ue_group_find(text->name);

	if (text->given)
		return -EINVAL;
	return group ? ue_groups_remove(group) : -ENOENT;
}

/*
 * Adds, changes or removes a group, as the text says; does nothing for an empty line or a
 * comment.
 */
static int ue_groups_change(const char *text)
{
	const bool remove = *text == '!';
	char *copy = kstrdup(text + remove, GFP_KERNEL);
	struct ue_group_text parsed;
	const char *reason;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	reason = ue_group_parse(copy, &parsed);
	if (reason) {
		pr_warn("bad group, %s: %.128s\n", reason, text);
		err = -EINVAL;
	} else if (parsed.name) {
		mutex_lock(&ue_groups_mutex);
		err = remove ? ue_groups_remove_by_name(&parsed) :
			       ue_groups_add_or_change(&parsed);
		mutex_unlock(&ue_groups_mutex);
	}
	kfree(copy);
	return err;
}

/* Return: 0; -EBUSY if one stays: one that is in use. The default group always stays. */
static int ue_groups_remove_all(void)
{
	struct ue_group *group, *next;
	int err = 0;

	mutex_lock(&ue_groups_mutex);
	list_for_each_entry_safe(group, next, &ue_groups, node) {
		if (group != &ue_default_group)
			err = ue_groups_remove(group) ?: err;
	}
	mutex_unlock(&ue_groups_mutex);
	return err;
}

static void *ue_groups_start(struct seq_file *seq, loff_t *position)
{
	mutex_lock(&ue_groups_mutex);
	return seq_list_start(&ue_groups, *position);
}

static void *ue_groups_next(struct seq_file *seq, void *item, loff_t *position)
{
	return seq_list_next(item, &ue_groups, position);
}

static void ue_groups_stop(struct seq_file *seq, void *item)
{
	mutex_unlock(&ue_groups_mutex);
}

/* Adds up what was not recorded of the events that the group has now. */
static void ue_group_add_up(struct ue_group *group, unsigned long *lost,
			    unsigned long *suppressed)
{
	struct ue_event *event;

	rcu_read_lock();
	for (event = ue_group_first_event(group, 0); event;
	     event = ue_group_next_event(group, event)) {
		*lost += atomic_long_read(&event->recorders.lost);
		*suppressed += ue_recorders_suppressed(&event->recorders);
	}
	rcu_read_unlock();
}

/* The tool's tracing/groups.cpp reads these lines. */
static int ue_groups_show(struct seq_file *seq, void *item)
{
	struct ue_group *group = list_entry(item, struct ue_group, node);
	struct user_namespace *namespace = seq_user_ns(seq);
	const struct ue_users *users = group->owner.users;
	unsigned long lost = 0, suppressed = 0;

	ue_group_add_up(group, &lost, &suppressed);
	seq_printf(seq, "%s max=%u max_per_user=%u max_registrations=%u uid=%u gid=%u mode=%04o",
		   group->name, READ_ONCE(group->max),
		   READ_ONCE(users->max_events), READ_ONCE(users->max_registrations),
		   from_kuid_munged(namespace, group->uid),
		   from_kgid_munged(namespace, group->gid), group->mode);
	seq_printf(seq, " # events %u, busy %u, lost %lu, suppressed %lu, users %d\n",
		   READ_ONCE(group->nr_active), READ_ONCE(group->nr_busy),
		   lost, suppressed, atomic_read(&group->users));
	return 0;
}

static const struct seq_operations ue_groups_sequence = {
	.start	= ue_groups_start,
	.next	= ue_groups_next,
	.stop	= ue_groups_stop,
	.show	= ue_groups_show,
};

static const struct ue_lines_file ue_groups_lines = {
	.sequence	= &ue_groups_sequence,
	.change		= ue_groups_change,
	.remove_all	= ue_groups_remove_all,
};

static int ue_groups_open(struct inode *inode, struct file *file)
{
	if (!ue_module_is_ready())
		return -ENODEV;
	return ue_lines_open(inode, file, &ue_groups_lines);
}

static ssize_t ue_groups_write(struct file *file, const char __user *from,
			       size_t size, loff_t *position)
{
	return ue_lines_write(file, from, size, &ue_groups_lines);
}

static int ue_groups_release(struct inode *inode, struct file *file)
{
	return ue_lines_release(inode, file, &ue_groups_lines);
}

static const struct file_operations ue_groups_operations = {
	.owner		= THIS_MODULE,
	.open		= ue_groups_open,
	.read		= seq_read,
	.write		= ue_groups_write,
	.llseek		= seq_lseek,
	.release	= ue_groups_release,
};

int ue_groups_file_init(void)
{
	int err = ue_tracefs_file_create("user_events_groups", 0640,
					 &ue_groups_operations);

	if (err)
		return err;
	mutex_lock(&ue_groups_mutex);
	err = ue_group_device_create(&ue_default_group);
	mutex_unlock(&ue_groups_mutex);
	if (!err)
		ue_tracefs_add_parameter("group", ue_groups_parameter,
					 ue_groups_change);
	return err;
}

void ue_groups_file_exit(void)
{
	struct ue_group *group;

	mutex_lock(&ue_groups_mutex);
	list_for_each_entry(group, &ue_groups, node)
		ue_group_device_remove(group);
	mutex_unlock(&ue_groups_mutex);
}
