/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * user_mark: text and data that any process puts among the records of its
 * observers.
 *
 * A program opens /dev/user_mark. What it writes is recorded as text, as the
 * event user_mark:text. The ioctl USER_MARK records text or other data. Without
 * a recorder of the event, nothing is recorded; the ioctl checks its argument.
 *
 * This header is for the kernel, C11 and C++ alike.
 */
#ifndef _UAPI_LINUX_USER_MARK_H
#define _UAPI_LINUX_USER_MARK_H

#include <linux/types.h>
#include <linux/ioctl.h>

/*
 * The tracing subsystem (events/SYSTEM) of the two events. Their records, as
 * ftrace, perf and BPF programs get them, are in the byte order of the machine:
 *
 * offset  user_mark:text		user_mark:data
 *  0	   common fields		common fields
 *  8	   __u32 location of the text	__u32 type
 * 12	   text				__u32 location of the data
 * 16					data
 *
 * A location is the size in bytes << 16 | offset from the end of the location.
 * The text ends with a NUL, which its size includes.
 */
#define USER_MARK_SYSTEM	"user_mark"

/* The type of text. All other types are for the programs to define. */
#define USER_MARK_TEXT		0U

/* The largest data_size that a recorded mark can have, in bytes. */
#define USER_MARK_MAX		65534U

/**
 * struct user_mark - the argument of USER_MARK
 * @size: sizeof(struct user_mark), in bytes
 * @type: USER_MARK_TEXT for text, which is recorded as user_mark:text; any
 *	other number is recorded with the data, as user_mark:data
 * @data: address of the data. One newline or NUL at the end of text is replaced
 *	by the NUL that ends the text in the record.
 * @data_size: bytes of data
 * @flags: 0
 */
struct user_mark {
	__u32	size;
	__u32	type;
	__u64	data;
	__u32	data_size;
	__u32	flags;
};

#define USER_MARK_IOC_MAGIC	'*'

/*
 * The ioctls of /dev/user_mark. Their numbers are the same in 32-bit and 64-bit
 * programs, and stay the same when the structure grows.
 *
 * USER_MARK makes a mark; its argument is the address of a struct user_mark.
 * USER_MARK_ID returns the number of the event that records marks of a type,
 * which perf_event_open() takes as config; its argument is the type.
 */
#define USER_MARK	_IO(USER_MARK_IOC_MAGIC, 0x40)
#define USER_MARK_ID	_IO(USER_MARK_IOC_MAGIC, 0x41)

#if defined(__cplusplus)
static_assert(sizeof(struct user_mark) == 24, "the ABI's size");
#elif defined(__KERNEL__) || __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(struct user_mark) == 24, "the ABI's size");
#endif

#endif /* _UAPI_LINUX_USER_MARK_H */
