/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the pure parts of kernel/ use of the kernel's header, in user space:
 * the sanitizer sees each allocation by itself, and any of them can be made
 * to fail.
 */
#ifndef UE_FUZZ_SLAB_H
#define UE_FUZZ_SLAB_H

#include <linux/kernel.h>

typedef unsigned int gfp_t;

#define GFP_KERNEL		0u
#define GFP_KERNEL_ACCOUNT	0u

#define struct_size(pointer, member, count) \
	(sizeof(*(pointer)) + sizeof((pointer)->member[0]) * (count))

void *kmalloc(size_t size, gfp_t gfp);
void *kzalloc(size_t size, gfp_t gfp);
char *kmemdup_nul(const char *text, size_t length, gfp_t gfp);
char *kstrdup(const char *text, gfp_t gfp);
__printf(2, 0) char *kvasprintf(gfp_t gfp, const char *fmt, va_list arguments);
__printf(2, 3) char *kasprintf(gfp_t gfp, const char *fmt, ...);
void kfree(const void *memory);

/* The allocation that fails, counted down to 0, which is none. */
extern unsigned int ue_allocation_to_fail;

#endif /* UE_FUZZ_SLAB_H */
