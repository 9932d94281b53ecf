// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limits of the group "default", in /proc/sys/kernel.
 */
#include <linux/sysctl.h>

#include "interfaces/sysctl.h"
#include "port/compat.h"
#include "programs/user.h"
#include "registry/registry.h"

/* Also in the tool's diagnosis/kernel.cpp, and in the library's errors.hpp. */
static struct ctl_table ue_sysctls[] = {
	{
		.procname	= "user_events_max",
		.data		= &ue_default_group.max,
		.maxlen		= sizeof(ue_default_group.max),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
	{
		.procname	= "user_events_max_per_user",
		.data		= &ue_default_users.max_events,
		.maxlen		= sizeof(ue_default_users.max_events),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
	{
		.procname	= "user_events_registrations_max_per_user",
		.data		= &ue_default_users.max_registrations,
		.maxlen		= sizeof(ue_default_users.max_registrations),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
	UE_SYSCTL_TABLE_END
};

static struct ctl_table_header *ue_sysctl_header;

int ue_sysctl_init(void)
{
	ue_sysctl_header = register_sysctl("kernel", ue_sysctls);
	return ue_sysctl_header ? 0 : -ENOMEM;
}

void ue_sysctl_exit(void)
{
	unregister_sysctl_table(ue_sysctl_header);
}
