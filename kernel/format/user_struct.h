/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Structures that a program passes to an ioctl. They begin with their size, so
 * that later versions can be larger.
 */
#ifndef UE_USER_STRUCT_H
#define UE_USER_STRUCT_H

#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/types.h>
#include <linux/uaccess.h>

/**
 * ue_copy_struct() - copy a structure that begins with its size, a u32
 * @to: @size bytes
 * @size: of the structure that is known here, bytes
 * @from: the program's structure; it may be a larger one of a later version if
 *	the bytes that are unknown here are zero
 *
 * Context: may sleep.
 * Return: 0; -EFAULT; -EINVAL if the structure is smaller than @size; -E2BIG if
 * it is larger than a page, or has unknown bytes that are not zero.
 */
static inline int ue_copy_struct(void *to, size_t size, const void __user *from)
{
	u32 given;

	if (get_user(given, (const u32 __user *)from))
		return -EFAULT;
	if (given < size)
		return -EINVAL;
	if (given > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(to, size, from, given);
}

#endif /* UE_USER_STRUCT_H */
