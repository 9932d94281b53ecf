// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether the module is ready, and its credentials.
 */
#include <linux/cred.h>
#include <linux/sched/task.h>

#include "port/module_state.h"

bool ue_module_ready;

static struct cred *ue_cred;

void ue_module_set_ready(void)
{
	/* Pairs with ue_module_is_ready(). */
	smp_store_release(&ue_module_ready, true);
}

const struct cred *ue_kernel_cred(void)
{
	return ue_cred;
}

int ue_kernel_cred_init(void)
{
	ue_cred = prepare_kernel_cred(&init_task);
	return ue_cred ? 0 : -ENOMEM;
}

void ue_kernel_cred_exit(void)
{
	put_cred(ue_cred);
}
