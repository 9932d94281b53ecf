// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks that the kernel's dynamic events are what the module declares.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "port/kernel_types.h"

/* Compares as much of a symbol's name as this. */
#define UE_SYMBOL_NAME_SIZE	64

static bool ue_function_has_word(const void *function, const char *word)
{
	char name[UE_SYMBOL_NAME_SIZE];

	snprintf(name, sizeof(name), "%ps", function);
	return strstr(name, word);
}

static bool ue_is_in_list(const struct list_head *entry)
{
	struct list_head at, next, prev;

	if (copy_from_kernel_nofault(&at, entry, sizeof(at)) ||
	    copy_from_kernel_nofault(&next, at.next, sizeof(next)) ||
	    copy_from_kernel_nofault(&prev, at.prev, sizeof(prev)))
		return false;
	return at.next != entry && next.prev == entry && prev.next == entry;
}

const char *ue_dyn_event_misfit(const struct dyn_event_operations *operations)
{
	struct dyn_event_operations copy;

	if (copy_from_kernel_nofault(&copy, operations, sizeof(copy)))
		return "address";
	if (!ue_function_has_word(copy.create, "create"))
		return "create";
	if (!ue_function_has_word(copy.show, "show"))
		return "show";
	if (!ue_function_has_word(copy.is_busy, "is_busy"))
		return "is_busy";
	if (!ue_function_has_word(copy.free, "release"))
		return "free";
	if (!ue_function_has_word(copy.match, "match"))
		return "match";
	return ue_is_in_list(&operations->list) ? NULL : "list";
}
