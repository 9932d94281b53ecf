// SPDX-License-Identifier: GPL-2.0-only
/*
 * For x86. A live patch of the functions that the module hooks: each is replaced by a function that
 * counts the call and then does the same. selftests/fork_test loads it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ftrace.h>
#include <linux/livepatch.h>
#include <linux/mm_types.h>
#include <linux/module.h>

static unsigned int forks, exits;

module_param(forks, uint, 0444);
MODULE_PARM_DESC(forks, "how often a program's memory was copied");
module_param(exits, uint, 0444);
MODULE_PARM_DESC(exits, "how often a program's memory was freed");

static struct klp_func functions[];

/* The rest of a function: what follows the call that ftrace and the live patch use. */
static void *ue_after_call(const struct klp_func *function)
{
	const u8 *at = function->old_func;

	/* The function may begin with ENDBR, or with what the kernel put in its place. */
	if (*at != 0xe8)
		at += 4;
	return (void *)at + MCOUNT_INSN_SIZE;
}

static void ue_count_dup(struct mm_struct *old, struct mm_struct *new)
{
	void (*rest)(struct mm_struct *old, struct mm_struct *new) =
		ue_after_call(&functions[0]);

	forks++;
	rest(old, new);
}

static void ue_count_exit(struct mm_struct *mm)
{
	void (*rest)(struct mm_struct *mm) = ue_after_call(&functions[1]);

	exits++;
	rest(mm);
}

static struct klp_func functions[] = {
	{ .old_name = "uprobe_dup_mmap", .new_func = ue_count_dup },
	{ .old_name = "exit_mmap", .new_func = ue_count_exit },
	{ }
};

/* Without a name: the kernel itself. */
static struct klp_object objects[] = { { .funcs = functions }, { } };

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objects };

static int __init ue_live_patch_init(void)
{
	return klp_enable_patch(&patch);
}
module_init(ue_live_patch_init);

static void __exit ue_live_patch_exit(void)
{
}
module_exit(ue_live_patch_exit);

MODULE_DESCRIPTION("A live patch for the tests of user_events");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
