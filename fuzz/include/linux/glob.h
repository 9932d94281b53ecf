/* SPDX-License-Identifier: GPL-2.0-only */
/* What the pure parts of kernel/ use of the kernel's header, in user space. */
#include <fnmatch.h>
#include <linux/types.h>

static inline bool glob_match(const char *pattern, const char *text)
{
	return !fnmatch(pattern, text, 0);
}
