// SPDX-License-Identifier: GPL-2.0-only
/*
 * User-space versions of the kernel functions that the pure parts of kernel/format and their
 * unit tests call.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

unsigned int ue_allocation_to_fail;

void *kmalloc(size_t size, gfp_t gfp)
{
	(void)gfp;
	if (ue_allocation_to_fail && !--ue_allocation_to_fail)
		return NULL;
	return malloc(size);
}

void *kzalloc(size_t size, gfp_t gfp)
{
	void *memory = kmalloc(size, gfp);

	return memory ? memset(memory, 0, size) : NULL;
}

char *kmemdup_nul(const char *text, size_t length, gfp_t gfp)
{
	char *copy = kzalloc(length + 1, gfp);

	return copy ? memcpy(copy, text, length) : NULL;
}

char *kstrdup(const char *text, gfp_t gfp)
{
	return kmemdup_nul(text, strlen(text), gfp);
}

char *kvasprintf(gfp_t gfp, const char *fmt, va_list arguments)
{
	va_list again;
	char *text;
	int length;

	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = kmalloc(length + 1, gfp);
	if (text)
		vsnprintf(text, length + 1, fmt, arguments);
	return text;
}

char *kasprintf(gfp_t gfp, const char *fmt, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, fmt);
	text = kvasprintf(gfp, fmt, arguments);
	va_end(arguments);
	return text;
}

long strscpy(char *to, const char *from, size_t size)
{
	const size_t length = strnlen(from, size);

	if (!size)
		return -E2BIG;
	memcpy(to, from, min(length, size - 1));
	to[min(length, size - 1)] = '\0';
	return length < size ? (long)length : -E2BIG;
}

size_t strlcat(char *to, const char *from, size_t size)
{
	const size_t length = strlen(to);

	strscpy(to + length, from, size - length);
	return length + strlen(from);
}

void kfree(const void *memory)
{
	free((void *)memory);
}

static unsigned int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Returns the base of a number in C notation. Skips the prefix 0x. */
static unsigned int find_base(const char **text)
{
	if ((*text)[0] != '0')
		return 10;
	if (((*text)[1] | 0x20) == 'x' && digit((*text)[2]) < 16) {
		*text += 2;
		return 16;
	}
	return 8;
}

int kstrtou32(const char *text, unsigned int base, u32 *result)
{
	const char *start;
	u64 value = 0;

	text += *text == '+';
	if (!base)
		base = find_base(&text);
	for (start = text; digit(*text) < base; text++) {
		value = value * base + digit(*text);
		if (value > UINT32_MAX)
			return -ERANGE;
	}
	if (text == start)
		return -EINVAL;
	text += *text == '\n';
	if (*text)
		return -EINVAL;
	*result = value;
	return 0;
}
