/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices of groups, /dev/user_events/NAME. They are of one class, and have one major
 * number. What an open one does is in data_file.c.
 */
#ifndef UE_GROUP_DEVICE_H
#define UE_GROUP_DEVICE_H

struct ue_group;

/**
 * ue_group_device_create() - create the device of a group, and its node
 * @group: the group. The node gets the owner and mode of the group. An old device of the group is
 *	removed once there is memory for the new one.
 *
 * The device has a reference to the group, for as long as it is in sysfs or in use there.
 *
 * Context: ue_groups_mutex held; may sleep.
 * Return: 0; -ENOMEM or an error of device_add(). After an error, the group has its old device,
 * or none if the old one was removed already.
 */
int ue_group_device_create(struct ue_group *group);

/**
 * ue_group_device_remove() - remove the device of a group, and its node
 * @group: the group; may have no device
 *
 * Files that are open, and other nodes with the same number, stay.
 *
 * Context: ue_groups_mutex held; may sleep.
 */
void ue_group_device_remove(struct ue_group *group);

/**
 * ue_group_devices_init() - get ready for devices
 *
 * Context: module init; may sleep.
 * Return: 0; -ENOMEM; -EBUSY if the kernel has no major number left.
 */
int ue_group_devices_init(void);

/**
 * ue_group_devices_exit() - undo ue_group_devices_init()
 *
 * Context: module init or exit, with no device left; may sleep.
 */
void ue_group_devices_exit(void);

#endif /* UE_GROUP_DEVICE_H */
