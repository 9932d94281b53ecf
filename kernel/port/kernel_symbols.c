// SPDX-License-Identifier: GPL-2.0-only
/*
 * One table of the symbols that the kernel does not export. Their addresses
 * come from kallsyms_lookup_name(), whose own address comes from a kprobe.
 *
 * The type of each static call is that of the kernel's own declaration, if a
 * header has one. If the prototype changes, the calls no longer compile. What no header declares is
 * compared with the kernel's BTF by the build: see ue_misfit(). struct dyn_event_operations is also
 * compared at load, with eprobe_dyn_event_ops.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "port/compat.h"
#include "port/kernel_symbols.h"

/* Pointers to the kernel's variables; see kernel_symbols.h. */
struct mutex *ue_event_mutex;
struct rw_semaphore *ue_trace_event_sem;
struct mutex *ue_dyn_event_ops_mutex;
struct list_head *ue_dyn_event_list;
const struct dyn_event_operations *ue_eprobe_operations;
struct vfsmount **ue_tracefs_mount;
int *ue_perf_event_paranoid;
void *ue_exit_mmap_entry;
void *ue_uprobe_dup_mmap_entry;

DEFINE_STATIC_CALL_NULL(ue_ptrace_may_access, ptrace_may_access);
DEFINE_STATIC_CALL_NULL(ue_dyn_event_register, dyn_event_register);
DEFINE_STATIC_CALL_NULL(ue_event_file_get, event_file_get);
DEFINE_STATIC_CALL_NULL(ue_event_file_put, event_file_put);
/* Returns false if the kernel lacks the function. */
DEFINE_STATIC_CALL_RET0(ue_ring_buffer_record_is_set_on,
			ring_buffer_record_is_set_on);
/* Returns NULL if the kernel lacks the function. */
DEFINE_STATIC_CALL_RET0(ue_get_task_exe_file, get_task_exe_file);
DEFINE_STATIC_CALL_RET0(ue_d_absolute_path, d_absolute_path);
DEFINE_STATIC_CALL_NULL(ue_task_work_cancel_match, task_work_cancel_match);
DEFINE_STATIC_CALL_NULL(ue_tracefs_create_file, tracefs_create_file);
DEFINE_STATIC_CALL_NULL(ue_tracefs_remove, tracefs_remove);
DEFINE_STATIC_CALL_NULL(ue_tracing_update_buffers, tracing_update_buffers);
DEFINE_STATIC_CALL_NULL(ue_find_event_file, find_event_file);
DEFINE_STATIC_CALL_NULL(ue_trace_event_enable_disable,
			trace_event_enable_disable);
DEFINE_STATIC_CALL_NULL(ue_create_event_filter, create_event_filter);
DEFINE_STATIC_CALL_NULL(ue_free_event_filter, free_event_filter);
DEFINE_STATIC_CALL_NULL(ue_apply_event_filter, apply_event_filter);
DEFINE_STATIC_CALL_NULL(ue_print_event_filter, print_event_filter);
DEFINE_STATIC_CALL_NULL(ue_trigger_process_regex, trigger_process_regex);
DEFINE_STATIC_CALL_NULL(ue_kallsyms_lookup_name, kallsyms_lookup_name);

enum ue_symbol_need {
	UE_SYMBOL_REQUIRED,	/* without it the module does not load */
	UE_SYMBOL_OPTIONAL,	/* without it the module lacks a feature */
	UE_SYMBOL_ABSENT,	/* with it the module does not load */
};

/**
 * struct ue_symbol - a symbol of the kernel
 * @name: its name
 * @need: whether the module can do without it
 * @purpose: what the module uses it for
 * @variable: pointer that is set to the address of the kernel's variable, or of
 *	a function that is not called
 * @key: key of the static call that is set to the kernel's function, or NULL
 * @trampoline: trampoline of that static call
 */
struct ue_symbol {
	const char *name;
	enum ue_symbol_need need;
	const char *purpose;
	void *variable;
	struct static_call_key *key;
	void *trampoline;
};

/* Sets the pointer to the address of the kernel's variable. */
#define UE_VARIABLE(pointer) \
	.variable = &(pointer)

/* Makes static_call(ue_NAME) call the kernel's function NAME. */
#define UE_FUNCTION(name) \
	.key = &STATIC_CALL_KEY(ue_##name), \
	.trampoline = STATIC_CALL_TRAMP_ADDR(ue_##name)

/*
 * The kernel's image. kallsyms_lookup_name() also finds symbols of modules, if the kernel has no
 * symbol of the name. Their addresses are outside.
 */
static void *ue_image_start __initdata;
static void *ue_image_end __initdata = (void *)ULONG_MAX;

static const struct ue_symbol ue_symbols[] __initconst = {
	/* The first two: they limit where the others are. */
	{ "_stext", UE_SYMBOL_REQUIRED,
	  "ignoring symbols of modules", UE_VARIABLE(ue_image_start) },
	{ "_end", UE_SYMBOL_REQUIRED,
	  "ignoring symbols of modules", UE_VARIABLE(ue_image_end) },
	{ "user_event_mm_dup", UE_SYMBOL_ABSENT,
	  "user_events of its own", .variable = NULL },
	{ "event_mutex", UE_SYMBOL_REQUIRED,
	  "creating events", UE_VARIABLE(ue_event_mutex) },
	{ "tracefs_create_file", UE_SYMBOL_REQUIRED,
	  "creating files in tracefs", UE_FUNCTION(tracefs_create_file) },
	{ "tracefs_remove", UE_SYMBOL_REQUIRED,
	  "removing files from tracefs", UE_FUNCTION(tracefs_remove) },
	{ "exit_mmap", UE_SYMBOL_REQUIRED,
	  "tracking the ends of programs", UE_VARIABLE(ue_exit_mmap_entry) },
	{ "uprobe_dup_mmap", UE_SYMBOL_REQUIRED,
	  "tracking forks", UE_VARIABLE(ue_uprobe_dup_mmap_entry) },
	{ "task_work_cancel_match", UE_SYMBOL_REQUIRED,
	  "unloading", UE_FUNCTION(task_work_cancel_match) },
#if UE_KEEP_EVENT_FILES
	{ "tracefs_mount", UE_SYMBOL_REQUIRED,
	  "removing events whose files are open", UE_VARIABLE(ue_tracefs_mount) },
	{ "event_file_get", UE_SYMBOL_REQUIRED,
	  "removing events whose files are open", UE_FUNCTION(event_file_get) },
	{ "event_file_put", UE_SYMBOL_REQUIRED,
	  "removing events whose files are open", UE_FUNCTION(event_file_put) },
#endif
	{ "trace_event_sem", UE_SYMBOL_OPTIONAL,
	  "printing records of removed events", UE_VARIABLE(ue_trace_event_sem) },
	{ "ring_buffer_record_is_set_on", UE_SYMBOL_OPTIONAL,
	  "counting lost records", UE_FUNCTION(ring_buffer_record_is_set_on) },
	{ "sysctl_perf_event_paranoid", UE_SYMBOL_OPTIONAL,
	  "perf for users without privilege",
	  UE_VARIABLE(ue_perf_event_paranoid) },
	{ "ptrace_may_access", UE_SYMBOL_OPTIONAL,
	  "perf for users without privilege", UE_FUNCTION(ptrace_may_access) },
	{ "dyn_event_register", UE_SYMBOL_OPTIONAL,
	  "the file dynamic_events", UE_FUNCTION(dyn_event_register) },
	{ "dyn_event_ops_mutex", UE_SYMBOL_OPTIONAL,
	  "the file dynamic_events", UE_VARIABLE(ue_dyn_event_ops_mutex) },
	{ "dyn_event_list", UE_SYMBOL_OPTIONAL,
	  "the file dynamic_events", UE_VARIABLE(ue_dyn_event_list) },
	{ "eprobe_dyn_event_ops", UE_SYMBOL_OPTIONAL,
	  "the file dynamic_events", UE_VARIABLE(ue_eprobe_operations) },
	{ "tracing_update_buffers", UE_SYMBOL_OPTIONAL,
	  "the file user_events_rules", UE_FUNCTION(tracing_update_buffers) },
	{ "find_event_file", UE_SYMBOL_OPTIONAL,
	  "the file user_events_rules", UE_FUNCTION(find_event_file) },
	{ "trace_event_enable_disable", UE_SYMBOL_OPTIONAL,
	  "the file user_events_rules", UE_FUNCTION(trace_event_enable_disable) },
	{ "create_event_filter", UE_SYMBOL_OPTIONAL,
	  "the file user_events_rules", UE_FUNCTION(create_event_filter) },
	{ "free_event_filter", UE_SYMBOL_OPTIONAL,
	  "the file user_events_rules", UE_FUNCTION(free_event_filter) },
	{ "apply_event_filter", UE_SYMBOL_OPTIONAL,
	  "the file user_events_rules", UE_FUNCTION(apply_event_filter) },
	{ "print_event_filter", UE_SYMBOL_OPTIONAL,
	  "the file user_events_rules", UE_FUNCTION(print_event_filter) },
	{ "trigger_process_regex", UE_SYMBOL_OPTIONAL,
	  "the file user_events_rules", UE_FUNCTION(trigger_process_regex) },
	{ "d_absolute_path", UE_SYMBOL_OPTIONAL,
	  "the option exe= of rules", UE_FUNCTION(d_absolute_path) },
	{ "get_task_exe_file", UE_SYMBOL_OPTIONAL,
	  "the option exe= of rules", UE_FUNCTION(get_task_exe_file) },
};

static int __init ue_find_kallsyms(void)
{
	/* Disabled, so that unregistering it can't fail. */
	struct kprobe probe = {
		.symbol_name = "kallsyms_lookup_name",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&probe);

	if (err) {
		pr_err("cannot find the kernel's symbol kallsyms_lookup_name by a kprobe: error %d; the module needs it to find other symbols and is not loaded\n",
		       err);
		return err;
	}
	static_call_update(ue_kallsyms_lookup_name, (void *)probe.addr);
	unregister_kprobe(&probe);
	return 0;
}

static void __init ue_set_symbol(const struct ue_symbol *symbol, void *address)
{
	if (symbol->key)
		__static_call_update(symbol->key, symbol->trampoline, address);
	else
		*(void **)symbol->variable = address;
}

static int __init ue_resolve(const struct ue_symbol *symbol)
{
	void *address =
		(void *)static_call(ue_kallsyms_lookup_name)(symbol->name);

	if (address < ue_image_start || address >= ue_image_end)
		address = NULL;
	if (symbol->need == UE_SYMBOL_ABSENT) {
		if (!address)
			return 0;
		pr_err("this kernel has %s (symbol %s); the module is not needed and not loaded\n",
		       symbol->purpose, symbol->name);
		return -EEXIST;
	}
	if (address && ue_misfit(symbol->name)) {
		pr_warn("this kernel declares %s in another way than the module; user_events works, but without %s\n",
			symbol->name, symbol->purpose);
		return 0;
	}
	if (address) {
		ue_set_symbol(symbol, address);
		return 0;
	}
	if (symbol->need == UE_SYMBOL_OPTIONAL) {
		pr_warn("this kernel lacks the symbol %s; user_events works, but without %s\n",
			symbol->name, symbol->purpose);
		return 0;
	}
	pr_err("this kernel lacks the symbol %s, needed for %s; the module is not loaded\n",
	       symbol->name, symbol->purpose);
	return -ENOENT;
}

bool ue_has_dyn_events(void)
{
	return static_call_query(ue_dyn_event_register) &&
	       ue_dyn_event_ops_mutex && ue_dyn_event_list &&
	       ue_eprobe_operations;
}

/*
 * Needs no lock: the kernel's list of dyn_event_operations changes only while it
 * boots, and when this module registers and removes its own.
 */
static void __init ue_check_dyn_events(void)
{
	const char *misfit;

	if (!ue_has_dyn_events())
		return;
	if (ue_misfit("dyn_event") || ue_misfit("dyn_event_operations"))
		misfit = "(another type)";
	else
		misfit = ue_dyn_event_misfit(ue_eprobe_operations);
	if (!misfit)
		return;
	pr_warn("this kernel's eprobe_dyn_event_ops does not fit struct dyn_event_operations, member %s; user_events works, but without the file dynamic_events\n",
		misfit);
	ue_eprobe_operations = NULL;
}

int __init ue_kernel_symbols_init(void)
{
	int err = ue_find_kallsyms();

	for (int i = 0; !err && i < ARRAY_SIZE(ue_symbols); i++)
		err = ue_resolve(&ue_symbols[i]);
	if (!err)
		ue_check_dyn_events();
	return err;
}
