/* SPDX-License-Identifier: GPL-2.0-only */
/* In user space the C library has INT_MAX, and comes here for the rest. */
#include_next <linux/limits.h>
#include <limits.h>
