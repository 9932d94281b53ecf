// SPDX-License-Identifier: GPL-2.0-only
/*
 * Creates the device /dev/user_events/default.
 */
#include <linux/miscdevice.h>

#include "data_file.h"
#include "device.h"

static struct miscdevice ue_device = {
	.minor		= MISC_DYNAMIC_MINOR,
	.name		= "user_events_default",
	.nodename	= "user_events/default",
	.mode		= 0600,
	.fops		= &ue_data_device_operations,
};

int ue_device_init(void)
{
	return misc_register(&ue_device);
}

void ue_device_exit(void)
{
	misc_deregister(&ue_device);
}
