// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file user_events_rules, and the module parameter "rules".
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/seq_file.h>

#include "interfaces/rules_file.h"
#include "interfaces/tracefs_file.h"
#include "port/module_state.h"
#include "programs/scope.h"
#include "registry/rule_action.h"
#include "registry/rules.h"

static char *ue_rules_parameter;
module_param_named(rules, ue_rules_parameter, charp, 0);
MODULE_PARM_DESC(rules, "rules to begin with, separated by semicolons");

static const struct seq_operations ue_rules_sequence = {
	.start	= ue_rules_start,
	.next	= ue_rules_next,
	.stop	= ue_rules_stop,
	.show	= ue_rules_show,
};

static const struct ue_lines_file ue_rules_lines = {
	.sequence	= &ue_rules_sequence,
	.private_size	= sizeof(struct ue_scope_counts),
	.change		= ue_rules_change,
	.remove_all	= ue_rules_remove_all,
};

/* Opening the kernel's files that enable events fails under lockdown, too. */
static int ue_rules_open(struct inode *inode, struct file *file)
{
	if (!ue_module_is_ready())
		return -ENODEV;
	return security_locked_down(LOCKDOWN_TRACEFS) ?:
	       ue_lines_open(inode, file, &ue_rules_lines);
}

static ssize_t ue_rules_write(struct file *file, const char __user *from,
			      size_t size, loff_t *position)
{
	return ue_lines_write(file, from, size, &ue_rules_lines);
}

static int ue_rules_release(struct inode *inode, struct file *file)
{
	return ue_lines_release(inode, file, &ue_rules_lines);
}

static const struct file_operations ue_rules_operations = {
	.owner		= THIS_MODULE,
	.open		= ue_rules_open,
	.read		= seq_read,
	.write		= ue_rules_write,
	.llseek		= seq_lseek,
	.release	= ue_rules_release,
};

int ue_rules_file_init(void)
{
	ue_instances_init();
	if (!ue_has_instances()) {
		if (ue_rules_parameter)
			pr_warn("this kernel has no rules: the parameter is ignored\n");
		return 0;
	}
	ue_tracefs_add_parameter("rule", ue_rules_parameter, ue_rules_change);
	return ue_tracefs_file_create("user_events_rules", 0640,
				      &ue_rules_operations);
}
