// SPDX-License-Identifier: GPL-2.0-only
/*
 * Brings the parts up in order, and down in reverse.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "data_file.h"
#include "door.h"
#include "dynamic_events.h"
#include "fork.h"
#include "kernel_symbols.h"
#include "registration.h"
#include "registry.h"
#include "status_file.h"
#include "sysctl.h"
#include "tally.h"

/*
 * The doors come last. They are opened when all are there: a module that can't be
 * loaded is freed, whether or not somebody is inside.
 */
static const struct ue_part {
	const char *name;
	int (*init)(void);
	void (*exit)(void);
} ue_parts[] = {
	{ "records of forks",	ue_fork_records_init,	ue_fork_records_exit },
	{ "registrations",	ue_registrations_init,	ue_registrations_exit },
	{ "forks",		ue_fork_init,		ue_fork_exit },
	{ "registry",		ue_registry_init,	ue_registry_exit },
	{ "dynamic_events",	ue_dynamic_events_init,	ue_dynamic_events_exit },
	{ "sysctl",		ue_sysctl_init,		ue_sysctl_exit },
	{ "user_events_status",	ue_status_file_init,	NULL },
	{ "user_events_data",	ue_data_file_init,	ue_data_file_exit },
};

static void ue_exit_parts(int nr)
{
	ue_doors_remove();
	while (nr--) {
		if (ue_parts[nr].exit)
			ue_parts[nr].exit();
	}
	ue_tally_check();
}

static int __init ue_init(void)
{
	int err = ue_kernel_symbols_init();

	for (int i = 0; !err && i < ARRAY_SIZE(ue_parts); i++) {
		err = ue_parts[i].init();
		if (err) {
			pr_err("no %s (%d)\n", ue_parts[i].name, err);
			ue_exit_parts(i);
			ue_doors_wait();
		}
	}
	if (!err)
		ue_doors_open();
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
