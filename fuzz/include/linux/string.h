/* SPDX-License-Identifier: GPL-2.0-only */
/* What the pure parts of kernel/ use of the kernel's header, in user space. */
#ifndef UE_FUZZ_STRING_H
#define UE_FUZZ_STRING_H

#include <string.h>
#include <linux/kernel.h>

static inline size_t str_has_prefix(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(text, prefix, length) ? 0 : length;
}

static inline bool strstarts(const char *text, const char *prefix)
{
	return str_has_prefix(text, prefix);
}

size_t strlcat(char *to, const char *from, size_t size);

/* Return: the length, or -E2BIG if the copy is shorter. */
long strscpy(char *to, const char *from, size_t size);

#endif /* UE_FUZZ_STRING_H */
