// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks in functions of the kernel, by ftrace. A kprobe at the start of a
 * function uses ftrace as well, with more overhead. FTRACE_OPS_FL_PERMANENT keeps
 * an administrator from switching hooks off without notice.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "port/compat.h"
#include "port/kernel_hook.h"

/*
 * The filter is set by address: ftrace_set_filter(), by name, may leave it empty
 * without an error if memory is short, and the hook would be in all functions.
 */
static int ue_kernel_hook_try(struct ftrace_ops *hook, void *function)
{
	int err;

	/* ftrace_free_filter() leaves pointers to the memory that it frees. */
	*hook = (struct ftrace_ops){
		.func = hook->func,
		.flags = UE_FTRACE_FLAGS | FTRACE_OPS_FL_PERMANENT,
	};
	err = ftrace_set_filter_ip(hook, (unsigned long)function, 0, 1);
	if (!err)
		err = register_ftrace_function(hook);
	if (err)
		ftrace_free_filter(hook);
	return err;
}

int ue_kernel_hook_add(struct ftrace_ops *hook, void *function)
{
	int err = ue_kernel_hook_try(hook, function);

	if (err == -EBUSY)
		pr_err("cannot trace the kernel's function %ps while kernel.ftrace_enabled is 0\n",
		       function);
	else if (err)
		pr_err("cannot trace the kernel's function %ps: error %d\n",
		       function, err);
	return err;
}

/*
 * unregister_ftrace_function() fails only after ftrace has switched itself off because
 * of a bug (ftrace_kill()). ftrace may still call the hook then, so the module must not be freed.
 */
void ue_kernel_hook_remove(struct ftrace_ops *hook)
{
	if (!unregister_ftrace_function(hook)) {
		ftrace_free_filter(hook);
		return;
	}
	pr_err("ftrace has failed and does not remove a hook: unloading waits until the next boot\n");
	/* TASK_IDLE: this is not reported as a hung task. */
	for (;;) {
		set_current_state(TASK_IDLE);
		schedule();
	}
}

struct ue_search {
	const char *name;
	struct tracepoint *found;
};

static void ue_tracepoint_compare(struct tracepoint *tracepoint, void *data)
{
	struct ue_search *search = data;

	if (!strcmp(tracepoint->name, search->name))
		search->found = tracepoint;
}

struct tracepoint *ue_tracepoint_find(const char *name)
{
	struct ue_search search = { .name = name };

	for_each_kernel_tracepoint(ue_tracepoint_compare, &search);
	return search.found;
}
