/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * user_events: the interface between a program and the kernel.
 *
 * A program opens the file user_events_data of tracefs, registers events
 * with the ioctls below, and writes a record of an event as four bytes of
 * write index followed by the payload.
 *
 * This header is for the kernel, C11 and C++ alike.
 */
#ifndef _UAPI_LINUX_USER_EVENTS_H
#define _UAPI_LINUX_USER_EVENTS_H

#include <linux/types.h>
#include <linux/ioctl.h>

/* The tracing subsystem (events/SYSTEM) of single-format events. */
#define USER_EVENTS_SYSTEM		"user_events"

/* The same for events registered with USER_EVENT_REG_MULTI_FORMAT. */
#define USER_EVENTS_MULTI_SYSTEM	"user_events_multi"

/* What stands before a user event in the file dynamic_events. */
#define USER_EVENTS_PREFIX		"u:"

/*
 * The value of a __data_loc or __rel_loc field.
 * @offset: bytes; from the start of the record (8 bytes before the payload)
 *	for __data_loc, from the end of the field for __rel_loc
 * @size: bytes, a string's terminating NUL included
 */
#define DYN_LOC(offset, size)		((size) << 16 | (offset))

/* Flags of struct user_reg. */
enum user_reg_flag {
	/* The event stays when its last user goes. Needs CAP_PERFMON. */
	USER_EVENT_REG_PERSIST		= 1U << 0,

	/* Other formats of the same name may live beside this one. */
	USER_EVENT_REG_MULTI_FORMAT	= 1U << 1,

	/* Not a flag: this and all above it are refused. */
	USER_EVENT_REG_MAX		= 1U << 2,
};

/*
 * struct user_reg - the argument of DIAG_IOCSREG
 * @size: sizeof(struct user_reg), in bytes
 * @enable_bit: the bit to keep at the event's state, counted from the least
 *	significant one of the word at @enable_addr; below 8 * @enable_size
 * @enable_size: 4 or 8, the bytes of that word; 8 on 64-bit kernels alone
 * @flags: of enum user_reg_flag
 * @enable_addr: the word's address, a multiple of @enable_size
 * @name_args: the address of the command, "name[ type field[;type field]...]",
 *	at most 511 bytes and a NUL
 * @write_index: set by the kernel: what a write to this open file starts with
 *	to record this event
 */
struct user_reg {
	__u32	size;
	__u8	enable_bit;
	__u8	enable_size;
	__u16	flags;
	__u64	enable_addr;
	__u64	name_args;
	__u32	write_index;
} __attribute__((__packed__));

/*
 * struct user_unreg - the argument of DIAG_IOCSUNREG
 * @size: sizeof(struct user_unreg), in bytes
 * @disable_bit: enable_bit as it was registered
 * @__reserved: 0
 * @__reserved2: 0
 * @disable_addr: enable_addr as it was registered
 */
struct user_unreg {
	__u32	size;
	__u8	disable_bit;
	__u8	__reserved;
	__u16	__reserved2;
	__u64	disable_addr;
} __attribute__((__packed__));

#define DIAG_IOC_MAGIC	'*'

/*
 * The ioctls of user_events_data. Their numbers carry the size of a pointer,
 * so that a 32-bit program issues others than a 64-bit one.
 *
 * DIAG_IOCSREG registers an event, DIAG_IOCSDEL deletes every event of a
 * name (the argument is the bare name), DIAG_IOCSUNREG ends a registration.
 */
#define DIAG_IOCSREG	_IOWR(DIAG_IOC_MAGIC, 0, struct user_reg *)
#define DIAG_IOCSDEL	_IOW(DIAG_IOC_MAGIC, 1, char *)
#define DIAG_IOCSUNREG	_IOW(DIAG_IOC_MAGIC, 2, struct user_unreg *)

#if defined(__cplusplus)
static_assert(sizeof(struct user_reg) == 28, "the ABI's size");
static_assert(sizeof(struct user_unreg) == 16, "the ABI's size");
#elif defined(__KERNEL__) || __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(struct user_reg) == 28, "the ABI's size");
_Static_assert(sizeof(struct user_unreg) == 16, "the ABI's size");
#endif

#endif /* _UAPI_LINUX_USER_EVENTS_H */
