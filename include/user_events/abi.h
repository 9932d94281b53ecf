/* SPDX-License-Identifier: MIT */
/*
 * The kernel's interface of user_events, for C11 and C++. The library has a copy of its own, with
 * other names, because the kernel headers of many distributions lack <linux/user_events.h>.
 */
#ifndef USER_EVENTS_ABI_H
#define USER_EVENTS_ABI_H

#include <stdint.h>
#include <sys/ioctl.h>

/**
 * struct user_events_reg - the argument of USER_EVENTS_REG
 * @size: sizeof(struct user_events_reg), in bytes
 * @enable_bit: number of the enable bit in its word
 * @enable_size: size of that word in bytes: 4 or 8
 * @flags: USER_EVENTS_PERSIST, USER_EVENTS_MULTI_FORMAT
 * @enable_addr: address of the word
 * @name_args: address of the command
 * @write_index: set by the kernel
 */
struct user_events_reg {
    uint32_t size;
    uint8_t enable_bit;
    uint8_t enable_size;
    uint16_t flags;
    uint64_t enable_addr;
    uint64_t name_args;
    uint32_t write_index;
} __attribute__((__packed__));

/**
 * struct user_events_unreg - the argument of USER_EVENTS_UNREG
 * @size: sizeof(struct user_events_unreg), in bytes
 * @disable_bit: the enable_bit of the registration
 * @reserved: 0
 * @disable_addr: the enable_addr of the registration
 */
struct user_events_unreg {
    uint32_t size;
    uint8_t disable_bit;
    uint8_t reserved[3];
    uint64_t disable_addr;
} __attribute__((__packed__));

#define USER_EVENTS_PERSIST 1u
#define USER_EVENTS_MULTI_FORMAT 2u

/* The numbers contain the size of a pointer. */
#define USER_EVENTS_REG _IOWR('*', 0, struct user_events_reg*)
#define USER_EVENTS_UNREG _IOW('*', 2, struct user_events_unreg*)

/* The longest command, in bytes without its NUL. */
#define USER_EVENTS_COMMAND_MAX 511

#ifdef __cplusplus
static_assert(sizeof(struct user_events_reg) == 28, "the ABI's size");
static_assert(sizeof(struct user_events_unreg) == 16, "the ABI's size");
#else
_Static_assert(sizeof(struct user_events_reg) == 28, "the ABI's size");
_Static_assert(sizeof(struct user_events_unreg) == 16, "the ABI's size");
#endif

#endif
