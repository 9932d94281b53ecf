// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices of groups.
 *
 * One character device has all numbers, also those without a group: opening them fails in
 * data_file.c.
 */
#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/wait.h>

#include "interfaces/data_file.h"
#include "interfaces/group_device.h"
#include "port/compat.h"
#include "registry/groups.h"

static dev_t ue_first_device;
static struct cdev *ue_cdev;

static struct class ue_class = {
	.name = "user_events",
};

/* How many are not freed: others may have references to a device that was removed. */
static atomic_t ue_nr_devices;
static DECLARE_WAIT_QUEUE_HEAD(ue_device_freed);

static ssize_t group_show(struct device *device,
			  struct device_attribute *attribute, char *text)
{
	const struct ue_group *group = dev_get_drvdata(device);

	return sysfs_emit(text, "%s\n", group->name);
}
static DEVICE_ATTR_RO(group);

static ssize_t system_show(struct device *device,
			   struct device_attribute *attribute, char *text)
{
	const struct ue_group *group = dev_get_drvdata(device);

	return sysfs_emit(text, "%s\n", group->system);
}
static DEVICE_ATTR_RO(system);

static struct attribute *ue_device_attrs[] = {
	&dev_attr_group.attr,
	&dev_attr_system.attr,
	NULL
};
ATTRIBUTE_GROUPS(ue_device);

/*
 * Must not fail: without the name, the kernel would leave the node of a device that is
 * removed, and the next one of that name would have the old number.
 */
static char *ue_device_node(UE_DEVNODE_DEVICE *device, umode_t *mode,
			    kuid_t *uid, kgid_t *gid)
{
	const struct ue_group *group = dev_get_drvdata(device);

	if (mode)
		/* Without a type, devtmpfs takes the mode 0 as unset, and uses 0600. */
		*mode = S_IFCHR | READ_ONCE(group->mode);
	if (uid)
		*uid = READ_ONCE(group->uid);
	if (gid)
		*gid = READ_ONCE(group->gid);
	return kasprintf(GFP_KERNEL | __GFP_NOFAIL, "user_events/%s", group->name);
}

static void ue_device_release(struct device *device)
{
	ue_group_unref(dev_get_drvdata(device));
	kfree(device);
	if (atomic_dec_and_test(&ue_nr_devices))
		wake_up(&ue_device_freed);
}

static const struct device_type ue_device_type = {
	.groups = ue_device_groups,
	.devnode = ue_device_node,
	.release = ue_device_release,
};

void ue_group_device_remove(struct ue_group *group)
{
	lockdep_assert_held(&ue_groups_mutex);
	if (group->device)
		device_unregister(group->device);
	group->device = NULL;
}

/*
 * All devices are in one directory, the first one is that of the default group. Only root may look
 * for the names of the others: links to them, which all users see, have their numbers.
 */
static int ue_hide_devices(struct device *device)
{
	struct kobject *directory = device->kobj.parent;
	const struct attribute name = { .name = kobject_name(directory) };

	return sysfs_chmod_file(directory->parent, &name, 0700);
}

int ue_group_device_create(struct ue_group *group)
{
	struct device *device = kzalloc(sizeof(*device), GFP_KERNEL);
	int err;

	lockdep_assert_held(&ue_groups_mutex);
	if (!device)
		return -ENOMEM;
	ue_group_device_remove(group);
	device_initialize(device);
	device->class = &ue_class;
	device->type = &ue_device_type;
	device->devt = MKDEV(MAJOR(ue_first_device), group->number);
	dev_set_drvdata(device, group);
	ue_group_ref(group);
	atomic_inc(&ue_nr_devices);
	err = dev_set_name(device, "user_events%u", group->number) ?:
	      device_add(device);
	if (err) {
		put_device(device);
		return err;
	}
	group->device = device;
	err = ue_hide_devices(device);
	if (err)
		ue_group_device_remove(group);
	return err;
}

static int ue_cdev_init(void)
{
	int err;

	ue_cdev = cdev_alloc();
	if (!ue_cdev)
		return -ENOMEM;
	ue_cdev->owner = THIS_MODULE;
	ue_cdev->ops = &ue_device_operations;
	err = cdev_add(ue_cdev, ue_first_device, UE_GROUP_NUMBERS);
	if (err)
		kobject_put(&ue_cdev->kobj);
	return err;
}

int ue_group_devices_init(void)
{
	int err = alloc_chrdev_region(&ue_first_device, 0, UE_GROUP_NUMBERS,
				      "user_events");

	if (err)
		return err;
	err = class_register(&ue_class);
	if (err)
		goto unregister_region;
	err = ue_cdev_init();
	if (err)
		goto unregister_class;
	return 0;
unregister_class:
	class_unregister(&ue_class);
unregister_region:
	unregister_chrdev_region(ue_first_device, UE_GROUP_NUMBERS);
	return err;
}

void ue_group_devices_exit(void)
{
	cdev_del(ue_cdev);
	wait_event(ue_device_freed, !atomic_read(&ue_nr_devices));
	class_unregister(&ue_class);
	unregister_chrdev_region(ue_first_device, UE_GROUP_NUMBERS);
}
