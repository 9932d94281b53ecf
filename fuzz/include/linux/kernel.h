/* SPDX-License-Identifier: GPL-2.0-only */
/* What the pure parts of kernel/ use of the kernel's header, in user space. */
#ifndef UE_FUZZ_KERNEL_H
#define UE_FUZZ_KERNEL_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <linux/types.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define __printf(fmt, args)	__attribute__((format(printf, fmt, args)))
#define BIT(number)		(1UL << (number))
#define U16_MAX			((u16)~0U)
#define U32_MAX			(~0U)
#define likely(condition)	(condition)
#define unlikely(condition)	(condition)
#define noinline		__attribute__((noinline))

#ifndef __cplusplus
#define min(a, b) ({				\
	__typeof__(a) one = (a), other = (b);	\
	one < other ? one : other;		\
})

#define max(a, b)		max_t(__typeof__(a), a, b)

#define max_t(type, a, b) ({			\
	type one = (a), other = (b);		\
	one > other ? one : other;		\
})
#endif

/* As the kernel's: an optional '+', a number, an optional newline, the end. */
int kstrtou32(const char *text, unsigned int base, u32 *result);
#define kstrtouint kstrtou32

#endif /* UE_FUZZ_KERNEL_H */
