// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file user_events_rules, and the module parameter "rules".
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "interfaces/rules_file.h"
#include "interfaces/tracefs_file.h"
#include "port/module_state.h"
#include "registry/rule_action.h"
#include "registry/rules.h"

/* One write() takes no more; the program then writes the rest. */
#define UE_RULES_WRITE_MAX	SZ_64K

static char *ue_rules_parameter;
module_param_named(rules, ue_rules_parameter, charp, 0);
MODULE_PARM_DESC(rules, "rules to begin with, separated by semicolons");

static const struct seq_operations ue_rules_sequence = {
	.start	= ue_rules_start,
	.next	= ue_rules_next,
	.stop	= ue_rules_stop,
	.show	= ue_rules_show,
};

/* Opening the kernel's files that enable events fails under lockdown, too. */
static int ue_rules_open(struct inode *inode, struct file *file)
{
	int err;

	if (!ue_module_is_ready())
		return -ENODEV;
	err = security_locked_down(LOCKDOWN_TRACEFS) ?:
	      seq_open(file, &ue_rules_sequence);
	if (err || !(file->f_mode & FMODE_WRITE) || !(file->f_flags & O_TRUNC))
		return err;
	err = ue_rules_remove_all();
	if (err)
		seq_release(inode, file);
	return err;
}

/* Stops at the first line that fails; the lines before it have their effect. */
static int ue_rules_write_lines(char *text)
{
	char *line;
	int err = 0;

	while (!err && (line = strsep(&text, "\n"))) {
		/* Nothing may fail after the last line. */
		if (*line)
			err = ue_rules_change(line);
	}
	return err;
}

static ssize_t ue_rules_write(struct file *file, const char __user *from,
			      size_t size, loff_t *position)
{
	char *text, *last;
	int err = -EINVAL;

	size = min_t(size_t, size, UE_RULES_WRITE_MAX);
	text = memdup_user_nul(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	/* A line that does not fit into this write() comes with the next one. */
	last = strrchr(text, '\n');
	if (size == UE_RULES_WRITE_MAX && last) {
		last[1] = '\0';
		size = last + 1 - text;
	}
	if (strlen(text) == size)
		err = ue_rules_write_lines(text);
	kfree(text);
	return err ?: size;
}

static const struct file_operations ue_rules_operations = {
	.owner		= THIS_MODULE,
	.open		= ue_rules_open,
	.read		= seq_read,
	.write		= ue_rules_write,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

static void ue_rules_add_parameter(void)
{
	char *rest = ue_rules_parameter, *rule;

	while ((rule = strsep(&rest, ";"))) {
		char *text = skip_spaces(rule);
		int err = ue_rules_change(text);

		if (err)
			pr_warn("rule %.128s of the parameter is not added: error %d\n",
				text, err);
	}
}

int ue_rules_file_init(void)
{
	ue_instances_init();
	if (!ue_has_instances()) {
		if (ue_rules_parameter)
			pr_warn("this kernel has no rules: the parameter is ignored\n");
		return 0;
	}
	ue_rules_add_parameter();
	return ue_tracefs_file_create("user_events_rules", 0640,
				      &ue_rules_operations);
}
