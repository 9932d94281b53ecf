/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * user_events: the interface between a program and the kernel.
 *
 * A program opens the file user_events_data in tracefs and registers events
 * with the ioctls below. To record an event it writes the event's write index
 * (four bytes) followed by the payload.
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

/* The prefix of a user event's line in the file dynamic_events. */
#define USER_EVENTS_PREFIX		"u:"

/*
 * The value of a __data_loc or __rel_loc field.
 * @offset: bytes; from the start of the record (8 bytes before the payload)
 *	for __data_loc, from the end of the field for __rel_loc
 * @size: bytes, including the terminating NUL of a string
 */
#define DYN_LOC(offset, size)		((size) << 16 | (offset))

/**
 * enum user_reg_flag - flags of struct user_reg
 * @USER_EVENT_REG_PERSIST: keep the event when it has no users any more; needs
 *	CAP_PERFMON or CAP_SYS_ADMIN
 * @USER_EVENT_REG_MULTI_FORMAT: allow events of the same name with other
 *	formats
 * @USER_EVENT_REG_MAX: not a flag: this bit and all higher bits are refused
 */
enum user_reg_flag {
	USER_EVENT_REG_PERSIST		= 1U << 0,
	USER_EVENT_REG_MULTI_FORMAT	= 1U << 1,
	USER_EVENT_REG_MAX		= 1U << 2,
};

/**
 * struct user_reg - the argument of DIAG_IOCSREG
 * @size: sizeof(struct user_reg), in bytes
 * @enable_bit: number of the enable bit, by which the kernel says whether
 *	records of the program are wanted; 0 is the least significant bit of
 *	the word at @enable_addr; less than 8 * @enable_size
 * @enable_size: size of that word in bytes: 4, or on 64-bit kernels 8
 * @flags: of enum user_reg_flag
 * @enable_addr: address of the word, a multiple of @enable_size
 * @name_args: address of the command, "name[ field[;field]...]", where a
 *	field is a type and a name; at most 511 bytes and a NUL
 * @write_index: set by the kernel: the write index of the event, for writes to
 *	this open file
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

/**
 * struct user_unreg - the argument of DIAG_IOCSUNREG
 * @size: sizeof(struct user_unreg), in bytes
 * @disable_bit: the enable_bit of the registration
 * @__reserved: 0
 * @__reserved2: 0
 * @disable_addr: the enable_addr of the registration
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
 * The ioctls of user_events_data. Their numbers contain the size of a pointer,
 * so those of 32-bit and 64-bit programs differ.
 *
 * DIAG_IOCSREG registers an event. DIAG_IOCSDEL deletes all events of a name;
 * its argument is the name alone. DIAG_IOCSUNREG unregisters.
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
