/* SPDX-License-Identifier: GPL-2.0-only */
/* What the pure parts of kernel/ use of the kernel's header, in user space. */
#define SZ_1M	0x100000
