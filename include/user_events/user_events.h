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

#include <fcntl.h>

#ifndef O_CLOEXEC
#error "user_events needs POSIX: use -std=gnu11, or define _GNU_SOURCE before all headers"
#else

#include "file.h"

/* The casts are those of C. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * struct user_event - an event; all members are private
 *
 * The object must not be moved or freed while the event is registered, because the kernel writes
 * to it. In C++, the name is not one of a layout, because programs declare it: `struct
 * user_event;`.
 */
struct user_event {
    uint32_t word;
    uint32_t flags;
    /* Null if the event is not registered. It is changed with the lock held. */
    const char* command;
    /* The generation of the file in the upper half, the index in the lower one. */
    uint64_t target USER_EVENTS_ALIGNED;
};

#ifdef __cplusplus
inline namespace USER_EVENTS_C_LAYOUT {
#endif

/* The value of a struct user_event before its registration. */
#define USER_EVENT_INIT                                                                            \
    { 0, 0, NULL, 0 }

/*
 * What the events of one program or shared library have in common.
 *
 * @current: upper half: the generation, a number that changes when the file is opened anew; lower
 *	half: the descriptor. An index is written only to a file of its generation.
 * @lock: the process that has the lock for all other members, as user_events_process() returns it,
 *	or 0. A record takes it only to open a lost file again.
 * @users: the number of registered events
 * @environment: read when the first event is registered
 */
struct user_events_shared {
    struct user_events_file file;
    uint64_t current USER_EVENTS_ALIGNED;
    uint64_t lock USER_EVENTS_ALIGNED;
    uint32_t users;
    struct user_events_environment environment;
};

/*
 * One for all source files, in C and in C++: an index belongs to the file of one such object. Its
 * name tells the layout.
 */
#define USER_EVENTS_SHARED_OF(layout) user_events_shared_##layout
#define USER_EVENTS_SHARED_IN(layout) USER_EVENTS_SHARED_OF(layout)
#define USER_EVENTS_SHARED USER_EVENTS_SHARED_IN(USER_EVENTS_LAYOUT)
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((__weak__, __visibility__("hidden"))) struct user_events_shared USER_EVENTS_SHARED = {
    {-1, 0, 0, 0, 0, -1}, (1ULL << 32) | 0xffffffff, 0, 0, {0, 0, ""}};
#ifdef __cplusplus
}
#endif

/*
 * Returns a number that no other living process has: its number, and that of the namespace in which
 * it has this number. (A process of the number 1 can have a child of the number 1.) Without /proc,
 * the namespace counts as 0. Changes errno.
 */
USER_EVENTS_INLINE uint64_t user_events_process(void) {
    struct stat space;

    return (uint64_t)(uint32_t)getpid() << 32 |
           (stat("/proc/self/ns/pid", &space) == 0 ? (uint32_t)space.st_ino : 0);
}

/*
 * Takes the lock. Waits about 100 ms at most if `is_soon` is nonzero, because the caller may be a
 * signal handler that has interrupted the thread with the lock. After fork(), the holder may be a
 * thread of the parent; the child then takes the lock over. Changes errno. Returns nonzero if it
 * has the lock.
 */
USER_EVENTS_INLINE int user_events_shared_lock(int is_soon) {
    const uint64_t own = user_events_process();
    const long moment[2] = {0, 50000};

    for (int attempt = 0; !is_soon || attempt < 1000; attempt++) {
        uint64_t holder = __atomic_load_n(&USER_EVENTS_SHARED.lock, __ATOMIC_RELAXED);

        if (holder != own && __atomic_compare_exchange_n(&USER_EVENTS_SHARED.lock, &holder, own, 0,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return 1;
        user_events_call(SYS_nanosleep, (long)moment, NULL, 0);
    }
    return 0;
}

USER_EVENTS_INLINE void user_events_shared_unlock(void) {
    __atomic_store_n(&USER_EVENTS_SHARED.lock, 0, __ATOMIC_RELEASE);
}

USER_EVENTS_INLINE void user_events_shared_set(uint64_t generation) {
    __atomic_store_n(&USER_EVENTS_SHARED.current,
                     generation << 32 | (uint32_t)USER_EVENTS_SHARED.file.descriptor,
                     __ATOMIC_RELEASE);
}

/* With the lock held: makes sure that the file is open. Changes errno. Returns 0 or an errno. */
USER_EVENTS_INLINE int user_events_shared_open(void) {
    struct user_events_file* const file = &USER_EVENTS_SHARED.file;
    int error;

    if (user_events_file_check(file))
        return 0;
    error = user_events_file_open(file, &USER_EVENTS_SHARED.environment);
    /* If it cannot be opened, the next record that tries is one of the next epoch. */
    if (error)
        __atomic_store_n(&file->epoch, user_events_epoch(), __ATOMIC_RELAXED);
    user_events_shared_set((USER_EVENTS_SHARED.current >> 32) + 1);
    return error;
}

/*
 * With the lock held: calls ioctl() for the file, which is opened if it is not open. Most calls are
 * made in the epoch of a check, and check the file only if they fail. If the file was lost, it is
 * opened again, and the call is repeated. Changes errno. Returns 0 or an errno.
 */
USER_EVENTS_INLINE int user_events_shared_control(unsigned long request, void* argument) {
    struct user_events_file* const file = &USER_EVENTS_SHARED.file;
    int is_open = file->descriptor >= 0 && file->epoch == user_events_epoch(), error;

    for (;;) {
        error = is_open ? 0 : user_events_shared_open();
        if (error || ioctl(file->descriptor, request, argument) == 0)
            return error;
        error = errno;
        is_open = user_events_file_is_open(file);
        if (is_open)
            return error;
    }
}

/* With the lock held. Changes errno. Returns 0 or an errno. */
USER_EVENTS_INLINE int user_event_register_now(struct user_event* event, const char* command) {
    struct user_events_reg argument;
    int error;

    memset(&argument, 0, sizeof(argument));
    argument.size = sizeof(argument);
    argument.enable_size = sizeof(event->word);
    argument.flags = (uint16_t)event->flags;
    argument.enable_addr = (uintptr_t)&event->word;
    argument.name_args = (uintptr_t)command;
    error = user_events_shared_control(USER_EVENTS_REG, &argument);
    user_events_say(&USER_EVENTS_SHARED.environment, "register", command, error);
    if (!error)
        __atomic_store_n(&event->target,
                         (USER_EVENTS_SHARED.current >> 32 << 32) | argument.write_index,
                         __ATOMIC_RELEASE);
    return error;
}

/*
 * With the lock held. Changes errno. Returns 0 if the kernel has not the registration any more,
 * otherwise an errno.
 */
USER_EVENTS_INLINE int user_event_unregister_now(struct user_event* event) {
    struct user_events_unreg argument;
    int error;

    memset(&argument, 0, sizeof(argument));
    argument.size = sizeof(argument);
    argument.disable_addr = (uintptr_t)&event->word;
    error = user_events_shared_control(USER_EVENTS_UNREG, &argument);
    user_events_say(&USER_EVENTS_SHARED.environment, "unregister", event->command, error);
    /* After ENOENT and EFAULT of the call itself the kernel has no registration, either. */
    if (error && (USER_EVENTS_SHARED.file.descriptor < 0 || (error != ENOENT && error != EFAULT)))
        return error;
    __atomic_store_n(&event->target, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&event->word, 0, __ATOMIC_RELAXED);
    return 0;
}

/* With the lock held: one event less. Changes errno. */
USER_EVENTS_INLINE void user_events_shared_release(void) {
    if (--USER_EVENTS_SHARED.users == 0) {
        user_events_file_close(&USER_EVENTS_SHARED.file);
        user_events_shared_set((USER_EVENTS_SHARED.current >> 32) + 1);
    }
}

/**
 * user_event_unregister() - unregister an event
 * @event: the event; one that is not registered is left as it is
 *
 * Not async-signal-safe. Preserves errno. One thread at a time for one event; others may record it
 * meanwhile.
 *
 * Returns 0, or an errno if the kernel keeps the registration: EMFILE or ENOMEM (after fork(), in
 * parent or child), or the reason why a lost file cannot be opened again. The event is still
 * registered then: do not free or move the object, because the kernel may write to it. The call may
 * be repeated.
 */
USER_EVENTS_INLINE int user_event_unregister(struct user_event* event) {
    const int before = errno;
    int error;

    if (!event->command)
        return 0;
    user_events_shared_lock(0);
    error = user_event_unregister_now(event);
    if (!error) {
        user_events_shared_release();
        __atomic_store_n(&event->command, NULL, __ATOMIC_RELAXED);
    }
    user_events_shared_unlock();
    errno = before;
    return error;
}

/**
 * user_event_register_flags() - register an event with flags
 * @event: the event; initialized with USER_EVENT_INIT
 * @command: the name and the fields, "name[ type field[;type field]...]"; used until the event is
 *	unregistered
 * @flags: 0, or one or both of USER_EVENTS_PERSIST (the event stays without users; needs
 *	CAP_PERFMON or CAP_SYS_ADMIN) and USER_EVENTS_MULTI_FORMAT (other programs may use the name
 *	with other fields)
 *
 * Finds the file as user_events_find_and_open_in() says, with the environment as it was when the
 * first event was registered. All events of a program or shared library have one open file. If the
 * registration fails, the event is never enabled, and may be registered later. A child of fork()
 * has the event as well.
 *
 * Not async-signal-safe. Preserves errno. One thread at a time for one event.
 *
 * Returns 0, or an errno: ENOENT (the kernel has no user_events), EACCES, ECANCELED
 * (USER_EVENTS=off), EINVAL (command or flags), EADDRINUSE (an event of this name has other
 * fields), EPERM (a capability is missing, see @flags), EBUSY (registered already), or another one
 * of DIAG_IOCSREG.
 */
USER_EVENTS_INLINE int user_event_register_flags(struct user_event* event, const char* command,
                                                 uint16_t flags) {
    const int before = errno;
    int error;

    if (event->command)
        return EBUSY;
    event->flags = flags;
    user_events_shared_lock(0);
    if (USER_EVENTS_SHARED.users++ == 0)
        user_events_read_environment(&USER_EVENTS_SHARED.environment);
    error = user_event_register_now(event, command);
    if (error)
        user_events_shared_release();
    else
        __atomic_store_n(&event->command, command, __ATOMIC_RELAXED);
    user_events_shared_unlock();
    errno = before;
    return error;
}

/**
 * user_event_register() - register an event
 * @event: the event; initialized with USER_EVENT_INIT
 * @command: the name and the fields
 *
 * As user_event_register_flags() without flags.
 */
USER_EVENTS_INLINE int user_event_register(struct user_event* event, const char* command) {
    return user_event_register_flags(event, command, 0);
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

/* Stores the index, and returns the descriptor that it belongs to, or -1. */
USER_EVENTS_INLINE int user_event_target(const struct user_event* event, uint32_t* index) {
    const uint64_t target = __atomic_load_n(&event->target, __ATOMIC_ACQUIRE);
    const uint64_t current = __atomic_load_n(&USER_EVENTS_SHARED.current, __ATOMIC_ACQUIRE);

    *index = (uint32_t)target;
    return target >> 32 == current >> 32 ? (int)(uint32_t)current : -1;
}

/*
 * The same, but first opens the file again if it was lost, and registers the event with it. Async-
 * signal-safe. Preserves errno.
 */
USER_EVENTS_OUT_OF_LINE int user_event_ensure(struct user_event* event, uint32_t* index) {
    struct user_events_file* const file = &USER_EVENTS_SHARED.file;
    const int before = errno;
    int descriptor = user_event_target(event, index);

    if (!__atomic_load_n(&event->command, __ATOMIC_RELAXED))
        return -1;
    if (descriptor >= 0 && user_events_file_check(file)) {
        /* It is still open. */
    } else if (__atomic_load_n(&file->descriptor, __ATOMIC_RELAXED) < 0 &&
               __atomic_load_n(&file->epoch, __ATOMIC_ACQUIRE) == user_events_epoch()) {
        /* It could not be opened in this epoch. */
        descriptor = -1;
    } else if (user_events_shared_lock(1)) {
        /* Another thread may have unregistered the event, and closed the file with the last one. */
        if (event->command && user_events_shared_open() == 0 &&
            user_event_target(event, index) < 0 && user_event_unregister_now(event) == 0)
            user_event_register_now(event, event->command);
        descriptor = user_event_target(event, index);
        user_events_shared_unlock();
    } else {
        descriptor = -1;
    }
    errno = before;
    return descriptor;
}

/* The same, but looks at the file only if that was not done in this epoch. */
USER_EVENTS_INLINE int user_event_begin(struct user_event* event, uint32_t* index) {
    if (__atomic_load_n(&USER_EVENTS_SHARED.file.epoch, __ATOMIC_ACQUIRE) == user_events_epoch()) {
        const int descriptor = user_event_target(event, index);

        if (descriptor >= 0)
            return descriptor;
    }
    return user_event_ensure(event, index);
}

/*
 * Writes a record whose first four bytes, at `index`, are free. If write() fails by EBADF, the
 * program may have closed the file in this epoch. If the file is open, the kernel disables the
 * event and has not cleared the bit yet: no record is lost.
 */
USER_EVENTS_INLINE int user_event_write_record(struct user_event* event, void* index,
                                               const struct iovec* parts, int count) {
    uint32_t value;
    int descriptor = user_event_begin(event, &value), last = -1;
    long result = -EBADF;

    while (descriptor >= 0 && descriptor != last && result == -EBADF) {
        last = descriptor;
        memcpy(index, &value, sizeof(value));
        result = user_events_write_parts(descriptor, parts, count);
        if (result == -EBADF)
            descriptor = user_event_ensure(event, &value);
    }
    return result >= 0 || (descriptor >= 0 && result == -EBADF) ? 0 : (int)-result;
}

/**
 * user_event_writev() - record an event
 * @event: the event
 * @parts: the payload in parts
 * @count: the number of parts, at most 15
 *
 * Call it if user_event_enabled(). If the program has closed the file's descriptor (closefrom()),
 * the file is opened again; Documentation/library.rst says when a record may go to a wrong file.
 *
 * Async-signal-safe, from any thread. Preserves errno. To open a lost file again, waits up to about
 * 100 ms for a thread that registers or unregisters an event, or opens the file; a signal handler
 * that interrupted such a thread waits so long in vain.
 *
 * Returns 0, also if nothing records the event any more, or an errno: EBADF (not registered, or the
 * file was closed and cannot be opened again, also because of the wait above), EINVAL (the payload
 * is shorter than the fields, or count), EFAULT (a location is wrong), E2BIG (the payload is too
 * long for all recorders), ENOENT and ENOMEM as write() to the file returns them.
 */
USER_EVENTS_INLINE int user_event_writev(struct user_event* event, const struct iovec* parts,
                                         int count) {
    struct iovec all[16];
    uint32_t index;

    if (count < 0 || count > 15)
        return EINVAL;
    all[0].iov_base = &index;
    all[0].iov_len = sizeof(index);
    for (int i = 0; i < count; i++)
        all[i + 1] = parts[i];
    return user_event_write_record(event, &index, all, count + 1);
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
    uint32_t index;
    struct iovec part;

    if (size > sizeof(record) - sizeof(index)) {
        part.iov_base = (void*)(uintptr_t)payload;
        part.iov_len = size;
        return user_event_writev(event, &part, 1);
    }
    if (size)
        memcpy(record + sizeof(index), payload, size);
    part.iov_base = record;
    part.iov_len = sizeof(index) + size;
    return user_event_write_record(event, record, &part, 1);
}

/*
 * Puts a payload together: the fields in order, and after them the text that locations refer to.
 *
 * @size, @texts: how many bytes and texts there are
 * @places: where the locations of the texts are in @fields
 */
struct user_events_payload {
    unsigned size, texts;
    unsigned char fields[256];
    unsigned places[8];
    struct iovec parts[9];
};

USER_EVENTS_INLINE void user_events_add(struct user_events_payload* to, const void* value,
                                        unsigned size) {
    if (to->size + size <= sizeof(to->fields))
        memcpy(to->fields + to->size, value, size);
    to->size += size;
}

/* Null is empty text. */
USER_EVENTS_INLINE void user_events_add_text(struct user_events_payload* to, const char* text) {
    const uint32_t location = 0;

    if (to->texts < 8) {
        to->places[to->texts] = to->size;
        to->parts[to->texts + 1].iov_base = (void*)(uintptr_t)(text ? text : "");
        to->parts[to->texts + 1].iov_len = (text ? strlen(text) : 0) + 1;
    }
    to->texts++;
    user_events_add(to, &location, sizeof(location));
}

/* Writes the payload. `is_relative` is 0 for fields of the type __data_loc. */
USER_EVENTS_INLINE int user_events_write_payload(struct user_event* event,
                                                 struct user_events_payload* payload,
                                                 int is_relative) {
    size_t end = payload->size;

    if (payload->size > sizeof(payload->fields) || payload->texts > 8)
        return E2BIG;
    payload->parts[0].iov_base = payload->fields;
    payload->parts[0].iov_len = payload->size;
    for (unsigned i = 0; i < payload->texts; i++) {
        const size_t length = payload->parts[i + 1].iov_len;
        const size_t distance = is_relative ? end - payload->places[i] - 4 : end + 8;
        const uint32_t location = (uint32_t)(length << 16 | distance);

        if (end + length > 4064)
            return E2BIG;
        memcpy(payload->fields + payload->places[i], &location, sizeof(location));
        end += length;
    }
    return user_event_writev(event, payload->parts, (int)payload->texts + 1);
}

/**
 * USER_EVENT_DEFINE() - define an event whose fields are listed once
 * @name: the name of the event
 * @FIELDS: a macro with the fields, FIELD(type, name), of the types u8 to u64, s8 to s64 and text;
 *	at most 8 texts, and 256 bytes of numbers and locations
 *
 *	#define TICK(FIELD) FIELD(u32, count) FIELD(text, what)
 *	USER_EVENT_DEFINE(tick, TICK)
 *
 *	tick_register();
 *	USER_EVENT_RECORD(tick, .count = count, .what = "tock");
 *	tick_unregister();
 *
 * USER_EVENT_RECORD() evaluates its arguments and records the event if it is enabled. It returns 0,
 * also if the event is not enabled, what user_event_writev() returns, or E2BIG. tick_event is the
 * struct user_event.
 */
#define USER_EVENT_DEFINE(name, FIELDS)                                                            \
    static struct user_event name##_event = USER_EVENT_INIT;                                       \
    __attribute__((__unused__)) static int name##_register(void) {                                 \
        static char command[] = #name FIELDS(USER_EVENTS_COMMAND_OF);                              \
        if (command[sizeof(#name) - 1])                                                            \
            command[sizeof(#name) - 1] = ' ';                                                      \
        return user_event_register(&name##_event, command);                                        \
    }                                                                                              \
    __attribute__((__unused__)) static int name##_unregister(void) {                               \
        return user_event_unregister(&name##_event);                                               \
    }                                                                                              \
    struct name##_fields {                                                                         \
        FIELDS(USER_EVENTS_MEMBER_OF)                                                              \
    };                                                                                             \
    __attribute__((__unused__)) static int name##_record(struct name##_fields of) {                \
        struct user_events_payload payload;                                                        \
        payload.size = payload.texts = 0;                                                          \
        FIELDS(USER_EVENTS_ADD_OF)                                                                 \
        return user_events_write_payload(&name##_event, &payload, 1);                              \
    }
#define USER_EVENT_RECORD(name, ...)                                                               \
    (user_event_enabled(&name##_event) ? name##_record((struct name##_fields){__VA_ARGS__}) : 0)

#define USER_EVENTS_COMMAND_OF(type, name) ";" USER_EVENTS_COMMAND_##type " " #name
#define USER_EVENTS_MEMBER_OF(type, name) USER_EVENTS_MEMBER_##type name;
#define USER_EVENTS_ADD_OF(type, name) USER_EVENTS_ADD_##type(of.name)
#define USER_EVENTS_ADD_NUMBER(value) user_events_add(&payload, &value, sizeof(value));
#define USER_EVENTS_ADD_text(value) user_events_add_text(&payload, value);
#define USER_EVENTS_COMMAND_text "__rel_loc char[]"
#define USER_EVENTS_MEMBER_text const char*
#define USER_EVENTS_COMMAND_u8 "u8"
#define USER_EVENTS_MEMBER_u8 uint8_t
#define USER_EVENTS_ADD_u8 USER_EVENTS_ADD_NUMBER
#define USER_EVENTS_COMMAND_u16 "u16"
#define USER_EVENTS_MEMBER_u16 uint16_t
#define USER_EVENTS_ADD_u16 USER_EVENTS_ADD_NUMBER
#define USER_EVENTS_COMMAND_u32 "u32"
#define USER_EVENTS_MEMBER_u32 uint32_t
#define USER_EVENTS_ADD_u32 USER_EVENTS_ADD_NUMBER
#define USER_EVENTS_COMMAND_u64 "u64"
#define USER_EVENTS_MEMBER_u64 uint64_t
#define USER_EVENTS_ADD_u64 USER_EVENTS_ADD_NUMBER
#define USER_EVENTS_COMMAND_s8 "s8"
#define USER_EVENTS_MEMBER_s8 int8_t
#define USER_EVENTS_ADD_s8 USER_EVENTS_ADD_NUMBER
#define USER_EVENTS_COMMAND_s16 "s16"
#define USER_EVENTS_MEMBER_s16 int16_t
#define USER_EVENTS_ADD_s16 USER_EVENTS_ADD_NUMBER
#define USER_EVENTS_COMMAND_s32 "s32"
#define USER_EVENTS_MEMBER_s32 int32_t
#define USER_EVENTS_ADD_s32 USER_EVENTS_ADD_NUMBER
#define USER_EVENTS_COMMAND_s64 "s64"
#define USER_EVENTS_MEMBER_s64 int64_t
#define USER_EVENTS_ADD_s64 USER_EVENTS_ADD_NUMBER

/* The command of an event of slices, as in Perfetto's convention: USER_EVENT_SLICES("work"). */
#define USER_EVENT_SLICES(name)                                                                    \
    name " char track_event_type;__data_loc char[] slice_name;__data_loc char[] track_name"

/**
 * user_event_slice() - begin or end a slice
 * @event: an event that was registered with USER_EVENT_SLICES()
 * @type: 'B' begins a slice of the calling thread, 'E' ends the last one, 'I' is a moment
 * @name: the name of a slice that begins; otherwise NULL
 *
 * Returns 0, also if the event is not enabled, or what user_event_writev() returns.
 */
USER_EVENTS_INLINE int user_event_slice(struct user_event* event, char type, const char* name) {
    struct user_events_payload payload;

    if (!user_event_enabled(event))
        return 0;
    payload.size = payload.texts = 0;
    user_events_add(&payload, &type, 1);
    user_events_add_text(&payload, name);
    user_events_add_text(&payload, NULL);
    return user_events_write_payload(event, &payload, 0);
}

#ifdef __cplusplus
} // namespace USER_EVENTS_C_LAYOUT
#pragma GCC diagnostic pop
#endif

#endif
#endif
