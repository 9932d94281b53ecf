/* SPDX-License-Identifier: MIT */
/*
 * Events of C programs: C11 with POSIX (-std=gnu11, or define _GNU_SOURCE). C++ programs use
 * user_events.hpp.
 *
 *	static struct user_event tick = USER_EVENT_INIT;
 *
 *	user_event_register(&tick, "tick u32 count");
 *	...
 *	if (user_event_enabled(&tick))
 *		user_event_write(&tick, &count, sizeof(count));
 *	...
 *	user_event_unregister(&tick);
 *
 * The program puts the payload together: the fields in their order, without padding.
 * Documentation/user-guide.rst describes the command and the payload.
 */
#ifndef USER_EVENTS_USER_EVENTS_H
#define USER_EVENTS_USER_EVENTS_H

#include "abi.h"
#include "file.h"

/* The casts are those of C. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
inline namespace USER_EVENTS_C_LAYOUT {
#endif

/**
 * struct user_event - an event; all members are private
 *
 * The object must not be moved or freed while the event is registered, because the kernel writes
 * to it.
 */
struct user_event {
    uint32_t word;
    uint32_t index;
    const char* command;
    struct user_events_file file;
};

/* The value of a struct user_event before its registration. */
#define USER_EVENT_INIT                                                                            \
    {                                                                                              \
        0, 0, NULL, {                                                                              \
            -1, 0, 0, 0, 0, 0                                                                      \
        }                                                                                          \
    }

/**
 * user_event_unregister() - unregister an event
 * @event: the event; one that is not registered is left as it is
 *
 * Not async-signal-safe. Preserves errno.
 */
USER_EVENTS_INLINE void user_event_unregister(struct user_event* event) {
    const int before = errno;
    struct user_events_unreg argument;

    if (event->command) {
        memset(&argument, 0, sizeof(argument));
        argument.size = sizeof(argument);
        argument.disable_addr = (uintptr_t)&event->word;
        if (!user_events_file_check(&event->file))
            user_events_file_open(&event->file);
        ioctl(event->file.descriptor, USER_EVENTS_UNREG, &argument);
        user_events_file_close(&event->file);
        __atomic_store_n(&event->word, 0, __ATOMIC_RELAXED);
        event->command = NULL;
    }
    errno = before;
}

/**
 * user_event_register() - register an event
 * @event: the event; initialized with USER_EVENT_INIT
 * @command: the name and the fields, "name[ type field[;type field]...]"; used until the event is
 *	unregistered
 *
 * Finds the file as the C++ library does: USER_EVENTS_FILE, /dev/user_events/default, tracefs. The
 * file is opened for each event. If this fails, the event is never enabled, and may be registered
 * later. A child of fork() has the event as well.
 *
 * Not async-signal-safe. Preserves errno. One thread at a time for one event.
 *
 * Returns 0, or an errno: ENOENT (the kernel has no user_events), EACCES, ECANCELED
 * (USER_EVENTS=off), EINVAL (command), EADDRINUSE (an event of this name has other fields),
 * EBUSY (registered already), or another one of DIAG_IOCSREG.
 */
USER_EVENTS_INLINE int user_event_register(struct user_event* event, const char* command) {
    const int before = errno;
    struct user_events_reg argument;
    int error;

    if (event->command)
        return EBUSY;
    error = user_events_file_open(&event->file);
    if (!error) {
        memset(&argument, 0, sizeof(argument));
        argument.size = sizeof(argument);
        argument.enable_size = sizeof(event->word);
        argument.enable_addr = (uintptr_t)&event->word;
        argument.name_args = (uintptr_t)command;
        if (ioctl(event->file.descriptor, USER_EVENTS_REG, &argument) == 0) {
            __atomic_store_n(&event->index, argument.write_index, __ATOMIC_RELAXED);
            event->command = command;
        } else {
            error = errno;
            user_events_file_close(&event->file);
        }
    }
    errno = before;
    return error;
}

/**
 * user_event_enabled() - whether an event is recorded at present
 * @event: the event; need not be registered
 *
 * Async-signal-safe, from any thread.
 *
 * Returns nonzero if it is.
 */
USER_EVENTS_INLINE int user_event_enabled(const struct user_event* event) {
    return (int)(__atomic_load_n(&event->word, __ATOMIC_RELAXED) & 1);
}

/**
 * user_event_writev() - record an event
 * @event: the event
 * @parts: the payload in parts
 * @count: the number of parts, at most 15
 *
 * Call it if user_event_enabled(). If the program has closed the file's descriptor (closefrom()),
 * nothing is written to another file that has the same number now; register the event again.
 *
 * Async-signal-safe, from any thread. Preserves errno.
 *
 * Returns 0, or an errno: EBADF (not enabled any more, not registered, or the descriptor was
 * closed), EINVAL (the payload is shorter than the fields, or count), EFAULT (a location is wrong),
 * E2BIG (the payload is too long for all recorders).
 */
USER_EVENTS_INLINE int user_event_writev(struct user_event* event, const struct iovec* parts,
                                         int count) {
    struct iovec all[16];
    long result;

    if (count < 0 || count > 15)
        return EINVAL;
    if (__atomic_load_n(&event->file.epoch, __ATOMIC_ACQUIRE) != user_events_epoch()) {
        const int before = errno;
        const int is_open = user_events_file_check(&event->file);

        errno = before;
        if (!is_open)
            return EBADF;
    }
    all[0].iov_base = &event->index;
    all[0].iov_len = sizeof(event->index);
    for (int i = 0; i < count; i++)
        all[i + 1] = parts[i];
    result = user_events_writev(event->file.descriptor, all, count + 1);
    return result < 0 ? (int)-result : 0;
}

/**
 * user_event_write() - record an event
 * @event: the event
 * @payload: the payload
 * @size: its size in bytes
 *
 * Copies the payload if it has at most 1020 bytes, because write() costs the kernel less than
 * writev(). Otherwise, and in what it returns, like user_event_writev().
 */
USER_EVENTS_INLINE int user_event_write(struct user_event* event, const void* payload,
                                        size_t size) {
    char record[1024];
    long result = -EBADF;

    if (size > sizeof(record) - sizeof(event->index) ||
        __atomic_load_n(&event->file.epoch, __ATOMIC_ACQUIRE) != user_events_epoch()) {
        struct iovec part;

        part.iov_base = (void*)(uintptr_t)payload;
        part.iov_len = size;
        return user_event_writev(event, &part, 1);
    }
    memcpy(record, &event->index, sizeof(event->index));
    if (size)
        memcpy(record + sizeof(event->index), payload, size);
    result = user_events_write(event->file.descriptor, record, sizeof(event->index) + size);
    return result < 0 ? (int)-result : 0;
}

#ifdef __cplusplus
} // namespace USER_EVENTS_C_LAYOUT
#pragma GCC diagnostic pop
#endif

#endif
