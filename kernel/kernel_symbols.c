// SPDX-License-Identifier: GPL-2.0-only
/*
 * One table of the symbols that the kernel does not export. Their addresses
 * come from kallsyms_lookup_name(), and its own from a kprobe.
 *
 * A function's type is always that of the kernel's own declaration, so that a
 * kernel whose prototype has drifted fails to compile.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#include "compat.h"
#include "kernel_symbols.h"

/* The kernel's; see kernel_symbols.h. */
struct mutex *ue_event_mutex;
struct rw_semaphore *ue_trace_event_sem;
struct mutex *ue_dyn_event_ops_mutex;
struct list_head *ue_dyn_event_list;
const struct dyn_event_operations *ue_eprobe_operations;
struct vfsmount **ue_tracefs_mount;
static bool ue_has_dyn_event_register;

DEFINE_STATIC_CALL_NULL(ue_dyn_event_register, dyn_event_register);
DEFINE_STATIC_CALL_NULL(ue_event_file_get, event_file_get);
DEFINE_STATIC_CALL_NULL(ue_event_file_put, event_file_put);
/* Says no where the kernel lacks it. */
DEFINE_STATIC_CALL_RET0(ue_ring_buffer_record_is_set_on,
			ring_buffer_record_is_set_on);
DEFINE_STATIC_CALL_NULL(ue_tracefs_create_file, tracefs_create_file);
DEFINE_STATIC_CALL_NULL(ue_tracefs_remove, tracefs_remove);
DEFINE_STATIC_CALL_NULL(ue_kallsyms_lookup_name, kallsyms_lookup_name);

/* Makes static_call(ue_NAME) a direct branch to @address. */
#define UE_SET_FUNCTION(name, address) \
	static_call_update(ue_##name, (typeof(name) *)(address))

static void __init ue_set_event_mutex(unsigned long address)
{
	ue_event_mutex = (struct mutex *)address;
}

static void __init ue_set_trace_event_sem(unsigned long address)
{
	ue_trace_event_sem = (struct rw_semaphore *)address;
}

static void __init ue_set_tracefs_create_file(unsigned long address)
{
	UE_SET_FUNCTION(tracefs_create_file, address);
}

static void __init ue_set_tracefs_remove(unsigned long address)
{
	UE_SET_FUNCTION(tracefs_remove, address);
}

#if UE_EVENT_FILES_DANGLE
static void __init ue_set_tracefs_mount(unsigned long address)
{
	ue_tracefs_mount = (struct vfsmount **)address;
}

static void __init ue_set_event_file_get(unsigned long address)
{
	UE_SET_FUNCTION(event_file_get, address);
}

static void __init ue_set_event_file_put(unsigned long address)
{
	UE_SET_FUNCTION(event_file_put, address);
}
#endif

static void __init ue_set_ring_buffer_record_is_set_on(unsigned long address)
{
	UE_SET_FUNCTION(ring_buffer_record_is_set_on, address);
}

static void __init ue_set_dyn_event_ops_mutex(unsigned long address)
{
	ue_dyn_event_ops_mutex = (struct mutex *)address;
}

static void __init ue_set_dyn_event_list(unsigned long address)
{
	ue_dyn_event_list = (struct list_head *)address;
}

static void __init ue_set_eprobe_operations(unsigned long address)
{
	ue_eprobe_operations = (struct dyn_event_operations *)address;
}

static void __init ue_set_dyn_event_register(unsigned long address)
{
	UE_SET_FUNCTION(dyn_event_register, address);
	ue_has_dyn_event_register = true;
}

enum ue_symbol_need {
	UE_SYMBOL_REQUIRED,	/* without it the module does not load */
	UE_SYMBOL_OPTIONAL,	/* without it the module lacks a feature */
	UE_SYMBOL_ABSENT,	/* with it the module does not load */
};

struct ue_symbol {
	const char *name;
	enum ue_symbol_need need;
	const char *purpose;
	void (*set)(unsigned long address);
};

static const struct ue_symbol ue_symbols[] __initconst = {
	{ "user_event_mm_dup", UE_SYMBOL_ABSENT,
	  "user_events of its own", NULL },
	{ "event_mutex", UE_SYMBOL_REQUIRED,
	  "creating events", ue_set_event_mutex },
	{ "tracefs_create_file", UE_SYMBOL_REQUIRED,
	  "the files in tracefs", ue_set_tracefs_create_file },
	{ "tracefs_remove", UE_SYMBOL_REQUIRED,
	  "the files in tracefs", ue_set_tracefs_remove },
#if UE_EVENT_FILES_DANGLE
	{ "tracefs_mount", UE_SYMBOL_REQUIRED,
	  "events that go while a file of theirs is open",
	  ue_set_tracefs_mount },
	{ "event_file_get", UE_SYMBOL_REQUIRED,
	  "events that go while a file of theirs is open",
	  ue_set_event_file_get },
	{ "event_file_put", UE_SYMBOL_REQUIRED,
	  "events that go while a file of theirs is open",
	  ue_set_event_file_put },
#endif
	{ "trace_event_sem", UE_SYMBOL_OPTIONAL,
	  "reading records of events that have gone", ue_set_trace_event_sem },
	{ "ring_buffer_record_is_set_on", UE_SYMBOL_OPTIONAL,
	  "counting lost records", ue_set_ring_buffer_record_is_set_on },
	{ "dyn_event_register", UE_SYMBOL_OPTIONAL,
	  "the file dynamic_events", ue_set_dyn_event_register },
	{ "dyn_event_ops_mutex", UE_SYMBOL_OPTIONAL,
	  "the file dynamic_events", ue_set_dyn_event_ops_mutex },
	{ "dyn_event_list", UE_SYMBOL_OPTIONAL,
	  "the file dynamic_events", ue_set_dyn_event_list },
	{ "eprobe_dyn_event_ops", UE_SYMBOL_OPTIONAL,
	  "taking event probes along when it goes", ue_set_eprobe_operations },
};

static int __init ue_find_kallsyms(void)
{
	/* Never armed, so that nothing has to be disarmed, which could fail. */
	struct kprobe probe = {
		.symbol_name = "kallsyms_lookup_name",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&probe);

	if (err) {
		pr_err("this kernel gives no address for kallsyms_lookup_name, without which no other symbol is found (%d)\n",
		       err);
		return err;
	}
	UE_SET_FUNCTION(kallsyms_lookup_name, probe.addr);
	unregister_kprobe(&probe);
	return 0;
}

static int __init ue_resolve(const struct ue_symbol *symbol)
{
	unsigned long address =
		static_call(ue_kallsyms_lookup_name)(symbol->name);

	if (symbol->need == UE_SYMBOL_ABSENT) {
		if (!address)
			return 0;
		pr_err("this kernel has %s (symbol %s): the module is not needed and not loaded\n",
		       symbol->purpose, symbol->name);
		return -EEXIST;
	}
	if (address) {
		symbol->set(address);
		return 0;
	}
	if (symbol->need == UE_SYMBOL_OPTIONAL) {
		pr_warn("this kernel lacks the symbol %s: user_events works without %s\n",
			symbol->name, symbol->purpose);
		return 0;
	}
	pr_err("this kernel lacks the symbol %s, needed for %s\n",
	       symbol->name, symbol->purpose);
	return -ENOENT;
}

bool ue_has_dyn_events(void)
{
	return ue_has_dyn_event_register && ue_dyn_event_ops_mutex &&
	       ue_dyn_event_list;
}

int __init ue_kernel_symbols_init(void)
{
	int err = ue_find_kallsyms();

	for (int i = 0; !err && i < ARRAY_SIZE(ue_symbols); i++)
		err = ue_resolve(&ue_symbols[i]);
	return err;
}
