/* SPDX-License-Identifier: GPL-2.0-only */
/* In user space the C library has all of it, and asks for no more of the kernel's. */
#include <ctype.h>
