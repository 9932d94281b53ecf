// SPDX-License-Identifier: GPL-2.0-only
/*
 * Initializes the parts of the module in order, and exits them in reverse.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/rcupdate.h>

#include "interfaces/data_file.h"
#include "interfaces/dynamic_events.h"
#include "interfaces/group_device.h"
#include "interfaces/groups_file.h"
#include "interfaces/mark.h"
#include "interfaces/rules_file.h"
#include "interfaces/status_file.h"
#include "interfaces/sysctl.h"
#include "interfaces/tracefs_file.h"
#include "port/compat.h"
#include "port/debug_counter.h"
#include "port/kernel_symbols.h"
#include "port/module_state.h"
#include "programs/flood.h"
#include "programs/fork.h"
#include "programs/registration.h"
#include "registry/groups.h"
#include "registry/own_event.h"
#include "registry/registry.h"
#include "registry/rules.h"

/*
 * The files in tracefs and the devices come after all parts that they use. If
 * the init function fails, the kernel frees the module even if its files are
 * open. So opening them fails until all parts are initialized. The module's own
 * events are the last part: recorders may use them at once.
 */
static const struct ue_part {
	const char *name;
	int (*init)(void);
	void (*exit)(void);
} ue_parts[] = {
	{ "credentials",	ue_kernel_cred_init,	ue_kernel_cred_exit },
	{ "registrations",	ue_registrations_init,	ue_registrations_exit },
	{ "fork tracking",	ue_fork_init,		ue_fork_exit },
	{ "limits",		NULL,			ue_flood_exit },
	{ "groups",		ue_groups_init,		ue_groups_exit },
	{ "the registry",	ue_registry_init,	ue_registry_exit },
	{ "dynamic_events",	ue_dynamic_events_init,	ue_dynamic_events_exit },
	{ "the sysctl",	ue_sysctl_init,		ue_sysctl_exit },
	{ "rules",		ue_rules_init,		ue_rules_exit },
	{ "user_events_status",	ue_status_file_init,	NULL },
	{ "user_events_rules",	ue_rules_file_init,	NULL },
	{ "user_events_data",	ue_data_file_init,	ue_data_file_exit },
	{ "devices",		ue_group_devices_init,	ue_group_devices_exit },
	{ "user_events_groups",	ue_groups_file_init,	ue_groups_file_exit },
	{ "marks",		ue_marks_init,		ue_marks_exit },
	{ "the module's events", ue_own_events_init,	ue_own_events_exit },
};

static void ue_exit_parts(int nr)
{
	ue_tracefs_files_remove();
	while (nr--) {
		if (ue_parts[nr].exit)
			ue_parts[nr].exit();
	}
	/* For tasks that have dropped a reference to the module as their last step. */
	synchronize_rcu_tasks();
	ue_debug_counters_check();
}

static int __init ue_init(void)
{
	int err = ue_kernel_symbols_init();

	for (int i = 0; !err && i < ARRAY_SIZE(ue_parts); i++) {
		err = ue_parts[i].init ? ue_parts[i].init() : 0;
		if (err) {
			pr_err("cannot initialize %s: error %d; the module is not loaded\n",
			       ue_parts[i].name, err);
			ue_exit_parts(i);
			ue_tracefs_files_wait();
		}
	}
	if (!err)
		ue_module_set_ready();
	return err;
}

static void __exit ue_exit(void)
{
	ue_exit_parts(ARRAY_SIZE(ue_parts));
}

module_init(ue_init);
module_exit(ue_exit);

MODULE_DESCRIPTION("user_events: trace events of user programs");
MODULE_LICENSE("GPL");
/* The version of the whole project: Makefile reads it here. */
MODULE_VERSION("1.0.0");
MODULE_INFO(kernels, UE_KERNELS);
