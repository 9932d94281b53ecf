/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What this module adds to user_events of Linux. The ioctl numbers begin at
 * 0x80, so that they do not collide with later ones of Linux. Other kernels
 * answer them with ENOTTY.
 *
 * This header is for the kernel, C11 and C++ alike.
 */
#ifndef _UAPI_LINUX_USER_EVENTS_EXT_H
#define _UAPI_LINUX_USER_EVENTS_EXT_H

#include <linux/ioctl.h>

/*
 * The tracing subsystem of the event user_limit:suppressed. The records of this event in an
 * instance tell what limits of rules have suppressed there. They are in the byte order of the
 * machine:
 *
 * offset
 *  0	common fields
 *  8	__u32 number of the process, in the initial name space; 0 for several
 * 12	__u32 milliseconds since the first of the counted payloads was written
 * 16	__u64 how many payloads were suppressed
 * 24	__u32 location of the name: its size in bytes << 16, with a NUL
 * 28	SYSTEM:NAME of the event
 */
#define USER_LIMIT_SYSTEM		"user_limit"

/*
 * Gives a newly opened file the write indexes of another open file. The
 * argument is the descriptor of the other file, by value. Each of the two
 * may be user_events_data or a device of user_events.
 *
 * An index that is assigned through one of the files later is valid in both.
 * All indexes and their events stay until the last of the files is closed.
 * In all else the files are independent. If the other file has its indexes
 * from a third one, all three share them.
 *
 * With this, each thread can have a file of its own, and no event need be
 * registered again.
 *
 * Succeeds with 0, or fails with, in this order,
 *
 * EBADF	the descriptor is not open, or was opened with O_PATH
 * EINVAL	it refers to no file of user_events with write indexes, or to this
 *		open file
 * EXDEV	the other file is of another group of events
 * EBADF	one of the files is open for writing, and the other one is not
 * EBUSY	this file has write indexes already, its own or those of another
 *		file; or another open file has those of this one
 *
 * It needs no memory, and no permission but the two open files. Any process
 * may call it at any time. If another thread registers an event through this
 * file in parallel, it gets an index of the other file, or this ioctl fails
 * with EBUSY.
 */
#define USER_EVENTS_SHARE_INDEXES	_IO('*', 0x80)

#endif /* _UAPI_LINUX_USER_EVENTS_EXT_H */
