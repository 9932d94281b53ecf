// SPDX-License-Identifier: MIT
// What all events have in common: the registration with the kernel, and writing a record.
#pragma once

#include "file.h"
#include "version.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <system_error>
#include <type_traits>

namespace USER_EVENTS_NAMESPACE {

namespace detail {

/// What an errno means for events, or nullptr.
[[gnu::visibility("hidden")]] inline const char* meaning_of(int value) noexcept {
    switch (value) {
    case EAGAIN:
        return "the event is not registered yet";
    case ECANCELED:
        return "events are switched off by USER_EVENTS=off";
    case ENOENT:
        return "no user_events_data: the kernel has no user_events, or tracefs is not mounted";
    case ENAMETOOLONG:
        return "the path in USER_EVENTS_FILE has more than 1023 bytes";
    case EACCES:
        return "no permission for user_events_data or a directory above it";
    case ENODEV:
    case ENXIO:
        return "user_events is being loaded or unloaded, the group of the device was removed, or "
               "the kernel has no number left for an event";
    case EIO:
        return "user_events is being unloaded, or the file is left over from an earlier load";
    case EPERM:
        return "a persistent event needs CAP_PERFMON or CAP_SYS_ADMIN";
    case EADDRINUSE:
        return "an event of this name has other fields, or the bit is in use";
    case EINVAL:
        return "the kernel does not accept the event's name or one of its fields";
    case EMFILE:
        return "too many events or registrations (raise kernel.user_events_max, "
               "user_events_max_per_user or user_events_registrations_max_per_user), or too "
               "many open files";
    case ENFILE:
        return "all programs together have too many open files";
    case ENOMEM:
        return "the kernel or the program has no memory";
    case ENOTTY:
        return "the file is no user_events_data, or this kernel's user_events cannot do that";
    case EBADF:
        return "the file was lost and cannot be opened again, or nothing records the event";
    case ENOTSUP:
        return "the event was constructed by a part of the process whose headers have another "
               "layout";
    case ERANGE:
        return "a number does not fit into its field";
    case E2BIG:
        return "too long";
    default:
        return nullptr;
    }
}

[[gnu::visibility("hidden")]] inline std::error_code error_of(int value) noexcept {
    return value ? std::error_code(value, std::generic_category()) : std::error_code();
}

} // namespace detail

/// Returns what an error of an event or of the library means, as a sentence
/// without a full stop: more than `error.message()`, which is that of errno. The values of errors
/// can be compared with std::errc: `event.error() == std::errc::permission_denied`.
[[gnu::visibility("hidden")]] inline std::string explain(const std::error_code& error) {
    const char* const meaning =
        error.category() == std::generic_category() ? detail::meaning_of(error.value()) : nullptr;
    return meaning ? meaning : error.message();
}

} // namespace USER_EVENTS_NAMESPACE

namespace USER_EVENTS_NAMESPACE::detail {

/// Initialized at compile time, and never destroyed.
class mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept {
        pthread_mutex_lock(&mutex_);
        owner_.store(pthread_self(), std::memory_order_relaxed);
    }
    bool try_lock() noexcept {
        const bool is_locked = pthread_mutex_trylock(&mutex_) == 0;
        if (is_locked)
            owner_.store(pthread_self(), std::memory_order_relaxed);
        return is_locked;
    }
    void unlock() noexcept {
        owner_.store(pthread_t{}, std::memory_order_relaxed);
        pthread_mutex_unlock(&mutex_);
    }

    /// Whether the calling thread has the mutex. Async-signal-safe.
    bool is_held_here() const noexcept {
        return owner_.load(std::memory_order_relaxed) == pthread_self();
    }

    /// Waits at most about 100 ms; not at all if the thread has the mutex, as in a signal handler
    /// that interrupted it. Async-signal-safe, and no cancellation point.
    [[gnu::noinline, gnu::visibility("hidden")]] bool lock_soon() noexcept {
        const long moment[2] = {0, 50'000};
        for (int attempt = 0; attempt < 1000; attempt++) {
            if (try_lock())
                return true;
            if (is_held_here())
                return false;
            user_events_call(SYS_nanosleep, reinterpret_cast<long>(moment), nullptr, 0);
        }
        return false;
    }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<pthread_t> owner_{};
};

/// Holds a mutex as long as the object exists.
class [[nodiscard]] lock_guard {
public:
    explicit lock_guard(mutex& held) noexcept : mutex_(held) { mutex_.lock(); }
    /// The mutex is held already.
    struct adopt {};
    lock_guard(mutex& held, adopt) noexcept : mutex_(held) {}
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;
    [[gnu::visibility("hidden")]] ~lock_guard() { mutex_.unlock(); }

private:
    mutex& mutex_;
};

} // namespace USER_EVENTS_NAMESPACE::detail

namespace USER_EVENTS_NAMESPACE {

namespace detail {

class registration;

/// What an event asks of the kernel.
struct declaration {
    const char* command = "";
    /// The word with the enable bit, or null for the word of the registration.
    void* word = nullptr;
    std::uint16_t flags = 0;
    std::uint8_t bit = 0;
    /// The size of the word in bytes: 4 or 8.
    std::uint8_t size = 4;
};

/// The events of one program or shared library, and the file that they have in common. It is
/// initialized at compile time and never destroyed, so that events work in static constructors and
/// destructors.
struct library {
    // Each record reads the next two members.
    user_events_file file{-1, 0, 0, 0, 0, -1};
    /// Takes the records instead of the kernel, in unit tests, and returns what write() does.
    std::atomic<int (*)(const registration&, const iovec*, int) noexcept> sink{nullptr};
    /// Protects all members that change, here and in the registrations, except the members of
    /// `file` and what is atomic. A record takes the mutex only to replace a lost file, and does
    /// not wait for it for long.
    detail::mutex mutex;
    registration* first = nullptr;
    /// Why the file is not open; 0 if it is, or if no event has needed it yet.
    int error = 0;
    /// Whether the file was opened since the environment was read.
    bool is_found = false;
    std::atomic<bool> forks_are_safe{false};
    /// Whether the forking thread has taken the mutex for fork().
    bool is_locked_for_fork = false;
    /// The mutex of the records of unit tests, if there has been a sink. It is never destroyed. It
    /// is taken after the other one.
    std::atomic<detail::mutex*> sink_mutex{nullptr};
    /// The last number of a flow or an asynchronous slice; 0 if there was none in this process.
    std::atomic<std::uint64_t> number{0};
    /// How many registrations the kernel kept when their events were destroyed.
    std::uint32_t kept = 0;
    /// Read when the first event is created, and by retry() if the file could not be opened.
    user_events_environment environment{0, 0, ""};
};

/// Keeps errno as it was.
class errno_keeper {
public:
    errno_keeper() : before_(errno) {}
    errno_keeper(const errno_keeper&) = delete;
    errno_keeper& operator=(const errno_keeper&) = delete;
    [[gnu::visibility("hidden")]] ~errno_keeper() { errno = before_; }

private:
    int before_;
};

/// The number by which an object tells its layout.
inline constexpr std::uint32_t layout_tag = [] {
    std::uint32_t hash = 2166136261;
    for (const char character : USER_EVENTS_TAG(USER_EVENTS_CXX_LAYOUT))
        hash = (hash ^ static_cast<unsigned char>(character)) * 16777619;
    return hash;
}();

/// The registration of one event. In all layouts, the word comes first, because the kernel writes
/// to it and programs test it, and the tag of the layout follows. g++ does not let the names of
/// variable templates tell the layout, so parts of a process with different layouts may have one
/// variable. The part that has not constructed it uses nothing but these two members.
class registration {
public:
    /// Registers the event, if the kernel supports that and permits it. Otherwise retry() can do so
    /// later. `declared` is used until the end of the object's lifetime.
    [[gnu::visibility("hidden")]] explicit registration(const declaration& declared) noexcept;
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    [[gnu::visibility("hidden")]] ~registration();

    /// Returns why the event is not registered; EAGAIN before the constructor. Async-signal-safe.
    std::error_code error() const noexcept {
        return error_of(is_own()  ? error_.load(std::memory_order_relaxed)
                        : layout_ ? ENOTSUP
                                  : EAGAIN);
    }

    /// The word with the enable bit, if the declaration does not name another one.
    const std::atomic<std::uint32_t>& word() const noexcept { return word_; }

    /// Writes a record: puts the index into its first four bytes, and calls write(). Returns 0,
    /// also if nothing records the event any more, or an errno: EBADF if the file was lost.
    /// Async-signal-safe; does not change errno.
    [[gnu::always_inline]] int write(void* record, std::size_t size) const noexcept {
        if (!is_own()) [[unlikely]]
            return ENOTSUP;
        attempt first;
        if (!has_sink() && is_checked()) [[likely]] {
            first.descriptor = begin(record);
            first.result = user_events_write(first.descriptor, record, size);
            if (first.result >= 0) [[likely]]
                return 0;
        }
        const iovec part{record, size};
        return write_checked(&part, 1, first);
    }
    /// The same for a record in parts. The index is at the beginning of the first one.
    [[gnu::visibility("hidden")]] int write(const iovec* parts, int count) const noexcept {
        if (!is_own())
            return ENOTSUP;
        attempt first;
        if (!has_sink() && is_checked()) {
            first.descriptor = begin(parts[0].iov_base);
            first.result = user_events_writev(first.descriptor, parts, count);
            if (first.result >= 0)
                return 0;
        }
        return write_checked(parts, count, first);
    }

    /// How many strings, arrays and numbers have been cut, and how many records have been lost.
    std::uint32_t cut() const noexcept {
        return is_own() ? cut_.load(std::memory_order_relaxed) : 0;
    }
    std::uint32_t lost() const noexcept {
        return is_own() ? lost_.load(std::memory_order_relaxed) : 0;
    }
    void count_cut() const noexcept {
        if (is_own())
            cut_.fetch_add(1, std::memory_order_relaxed);
    }

    [[gnu::visibility("hidden")]] static std::error_code retry_all() noexcept;
    /// Lets a function take all records from now on, or none. The function takes a mutex, which is
    /// never destroyed.
    [[gnu::visibility("hidden")]] static void set_sink(int (*sink)(const registration&,
                                                                   const iovec*, int) noexcept,
                                                       detail::mutex& of_records) noexcept;
    /// Calls a function with each event, with the library's mutex held.
    template <typename Function>
    static void for_each(Function&& function);

    const char* command() const noexcept { return declared_->command; }
    [[gnu::visibility("hidden")]] bool is_enabled() const noexcept;

private:
    /// A write() that failed, and the descriptor; -1 if there was none.
    struct attempt {
        int descriptor = -1;
        long result = -EBADF;
    };

    bool is_own() const noexcept { return layout_ == layout_tag; }
    /// Whether the descriptor was found to be the file a few milliseconds ago.
    bool is_checked() const noexcept {
        return __atomic_load_n(&library_->file.epoch, __ATOMIC_ACQUIRE) == user_events_epoch();
    }
    bool has_sink() const noexcept {
        return library_->sink.load(std::memory_order_relaxed) != nullptr;
    }
    int descriptor() const noexcept {
        return static_cast<int>(target_.load(std::memory_order_relaxed) >> 32);
    }
    /// With the library's mutex held.
    void set_target(std::uint32_t index) const noexcept {
        target_.store(static_cast<std::uint64_t>(library_->file.descriptor) << 32 | index,
                      std::memory_order_release);
    }
    /// Puts the index into a record, and returns the descriptor that it belongs to. They are loaded
    /// together, and after is_checked(): another thread may replace the file.
    [[gnu::always_inline]] int begin(void* record) const noexcept {
        const std::uint64_t target = target_.load(std::memory_order_acquire);
        put_index(record, target);
        return static_cast<int>(target >> 32);
    }
    [[gnu::always_inline]] static void put_index(void* record, std::uint64_t target) noexcept {
        const auto index = static_cast<std::uint32_t>(target);
        __builtin_memcpy(record, &index, sizeof(index));
    }

    [[gnu::visibility("hidden")]] int write_checked(const iovec* parts, int count,
                                                    attempt last) const noexcept;
    [[gnu::visibility("hidden")]] bool replace_file() const noexcept;
    void* address() const noexcept { return declared_->word ? declared_->word : &word_; }
    /// Calls a function with a pointer to the word of the enable bit, of its size.
    template <typename Function>
    auto with_word(Function function) const noexcept {
        return declared_->size == 8 ? function(static_cast<std::uint64_t*>(address()))
                                    : function(static_cast<std::uint32_t*>(address()));
    }

    // With the library's mutex held.
    [[gnu::visibility("hidden")]] void register_now() const noexcept;
    [[gnu::visibility("hidden")]] bool unregister_now() const noexcept;
    [[gnu::visibility("hidden")]] void set_enabled(bool value) const noexcept;
    [[gnu::visibility("hidden")]] static void open_file(library& shared) noexcept;
    [[gnu::visibility("hidden")]] int control(unsigned long request, void* argument) const noexcept;

    /// The descriptor -1.
    static constexpr std::uint64_t no_target = std::uint64_t{0xffffffff} << 32;

    mutable std::atomic<std::uint32_t> word_{0};
    const std::uint32_t layout_ = layout_tag;
    mutable std::atomic<int> error_{EAGAIN};
    /// The descriptor in the upper half, the index in the lower one: both change together.
    mutable std::atomic<std::uint64_t> target_{no_target};
    library* library_;
    const declaration* declared_;
    /// Whether the kernel has the registration, no matter through which file it was made.
    mutable bool is_registered_ = false;
    registration *next_ = nullptr, *previous_ = nullptr;
    mutable std::atomic<std::uint32_t> cut_{0}, lost_{0};
};

/// Each program and shared library has its own, also if the events themselves are shared: their
/// registrations point to the library of whichever code created them.
[[gnu::visibility("hidden")]] inline constinit library the_library;

/// A function of for_each_event() or retry() may fork, and has the mutex already.
[[gnu::visibility("hidden")]] inline void lock_for_fork() {
    if (!the_library.mutex.is_held_here()) {
        the_library.mutex.lock();
        the_library.is_locked_for_fork = true;
    }
    mutex* const of_sink = the_library.sink_mutex;
    if (of_sink && !of_sink->is_held_here())
        of_sink->lock();
}
[[gnu::visibility("hidden")]] inline void unlock_after_fork() {
    // First, while no sink can be created.
    mutex* const of_sink = the_library.sink_mutex;
    if (of_sink && of_sink->is_held_here())
        of_sink->unlock();
    if (!the_library.mutex.is_held_here() || !the_library.is_locked_for_fork)
        return;
    the_library.is_locked_for_fork = false;
    the_library.mutex.unlock();
}

[[gnu::visibility("hidden")]] inline void begin_child() {
    the_library.number = 0;
    unlock_after_fork();
}

/// A child must not inherit the mutex locked by a thread that it does not have. To be called before
/// the mutex is taken: pthread_atfork() waits for the fork() of another thread, whose child would
/// otherwise inherit the mutex. If two threads register the handlers, the second handlers find
/// nothing to do. One case is left: while another thread is in a handler of the program's own
/// before fork(), pthread_atfork() does not wait.
[[gnu::visibility("hidden")]] inline void make_forks_safe(library& shared) noexcept {
    if (!shared.forks_are_safe.load(std::memory_order_relaxed) &&
        pthread_atfork(lock_for_fork, unlock_after_fork, begin_child) == 0)
        shared.forks_are_safe.store(true, std::memory_order_relaxed);
}

/// Opens the file. The events that were registered with an earlier file have to be registered
/// again: the descriptor of that file may be another file's by now.
inline void registration::open_file(library& shared) noexcept {
    for (const registration* each = shared.first; each; each = each->next_)
        each->target_.store(no_target, std::memory_order_relaxed);
    shared.error = user_events_file_open(&shared.file, &shared.environment);
    shared.is_found |= !shared.error;
    if (shared.error)
        __atomic_store_n(&shared.file.epoch, user_events_epoch(), __ATOMIC_RELEASE);
}

inline registration::registration(const declaration& declared) noexcept
    : library_(&the_library), declared_(&declared) {
    const errno_keeper keeper;
    make_forks_safe(*library_);
    const lock_guard lock(library_->mutex);
    next_ = library_->first;
    if (next_)
        next_->previous_ = this;
    else {
        user_events_read_environment(&library_->environment);
        library_->is_found = false;
    }
    library_->first = this;
    register_now();
}

inline registration::~registration() {
    const errno_keeper keeper;
    const lock_guard lock(library_->mutex);
    if (!unregister_now())
        library_->kept++;
    (previous_ ? previous_->next_ : library_->first) = next_;
    if (next_)
        next_->previous_ = previous_;
    if (!library_->first) {
        user_events_file_close(&library_->file);
        library_->error = 0;
    }
}

/// Calls ioctl() for the file, which is opened if it is not open. A program may have thousands of
/// events: most calls are made in the epoch of a check, and check the file only if they fail. If
/// the file was lost, it is opened again, and the call is repeated. Returns 0 or an errno.
inline int registration::control(unsigned long request, void* argument) const noexcept {
    bool is_open = library_->file.descriptor >= 0 && is_checked();
    for (;;) {
        if (!is_open && !user_events_file_check(&library_->file))
            open_file(*library_);
        if (library_->error)
            return library_->error;
        if (ioctl(library_->file.descriptor, request, argument) == 0)
            return 0;
        const int error = errno;
        is_open = user_events_file_check(&library_->file);
        if (is_open)
            return error;
    }
}

/// Registers the event. After the file could not be opened, only retry() tries again. If it was
/// registered with a file that was lost, the kernel still has that registration.
inline void registration::register_now() const noexcept {
    if (library_->sink && unregister_now()) {
        set_enabled(true);
        error_.store(0, std::memory_order_relaxed);
        return;
    }
    if (library_->error) {
        error_.store(library_->error, std::memory_order_relaxed);
        return;
    }
    if (!unregister_now())
        return;
    user_events_reg argument{};
    argument.size = sizeof(argument);
    argument.enable_bit = declared_->bit;
    argument.enable_size = declared_->size;
    argument.flags = declared_->flags;
    argument.enable_addr = reinterpret_cast<std::uintptr_t>(address());
    argument.name_args = reinterpret_cast<std::uintptr_t>(declared_->command);
    const int error = control(USER_EVENTS_REG, &argument);
    user_events_say(&library_->environment, "register", command(), error);
    is_registered_ = error == 0;
    if (is_registered_)
        set_target(argument.write_index);
    error_.store(error, std::memory_order_relaxed);
}

/// UNREG works through any open file, so if this one was lost, another one is opened. Returns false
/// if the kernel keeps the registration: because it could not copy the registrations that a parent
/// and its child share, or because no file can be opened.
inline bool registration::unregister_now() const noexcept {
    if (!is_registered_) {
        set_enabled(false);
        return true;
    }
    target_.store(no_target, std::memory_order_relaxed);
    user_events_unreg argument{};
    argument.size = sizeof(argument);
    argument.disable_bit = declared_->bit;
    argument.disable_addr = reinterpret_cast<std::uintptr_t>(address());
    const int error = control(USER_EVENTS_UNREG, &argument);
    user_events_say(&library_->environment, "unregister", command(), error);
    // After ENOENT and EFAULT of the call itself the kernel has no registration, either.
    is_registered_ = error != 0 && (library_->error || (error != ENOENT && error != EFAULT));
    error_.store(is_registered_ ? error : EAGAIN, std::memory_order_relaxed);
    // The kernel has cleared the bit, if it has ended the registration. An event that is used after
    // its destructor, by another static destructor, must be disabled in any case.
    set_enabled(false);
    return !is_registered_;
}

/// Sets or clears the enable bit, as the kernel does.
inline void registration::set_enabled(bool value) const noexcept {
    with_word([=, this](auto* word) {
        using Word = std::remove_pointer_t<decltype(word)>;
        const Word mask = static_cast<Word>(Word{1} << declared_->bit);
        if (value)
            __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
        else
            __atomic_fetch_and(word, static_cast<Word>(~mask), __ATOMIC_RELAXED);
    });
}

inline bool registration::is_enabled() const noexcept {
    return with_word([this](const auto* word) {
        return (__atomic_load_n(word, __ATOMIC_RELAXED) >> declared_->bit & 1) != 0;
    });
}

/// Opens the file again if it was lost, and registers the event with it. Returns whether the event
/// can be written. Does not wait for a mutex that this thread has: this may be a signal handler.
inline bool registration::replace_file() const noexcept {
    if (!library_->mutex.lock_soon())
        return false;
    const lock_guard lock(library_->mutex, lock_guard::adopt());
    if (!user_events_file_check(&library_->file)) {
        // If it cannot be opened, the next attempt is in the next epoch.
        if (library_->error && is_checked())
            return false;
        open_file(*library_);
    }
    // Another thread may have done this in the meantime.
    if (library_->error || descriptor() != library_->file.descriptor)
        register_now();
    return error_.load(std::memory_order_relaxed) == 0;
}

/// Writes a record to a unit test. Otherwise checks whether the file is still open, opens it again
/// if it was lost, and writes the record: if the last check is too old, or if write() has failed.
[[gnu::noinline]] inline int registration::write_checked(const iovec* parts, int count,
                                                         attempt last) const noexcept {
    if (const auto sink = library_->sink.load(std::memory_order_acquire)) [[unlikely]]
        return sink(*this, parts, count);
    const errno_keeper keeper;
    const int now = descriptor();
    const bool is_open = now == __atomic_load_n(&library_->file.descriptor, __ATOMIC_RELAXED) &&
                         user_events_file_check(&library_->file);
    if (!is_open && !replace_file()) {
        // The registration with the lost file may have ended, which clears the bit. The record is
        // lost if the kernel has refused another registration.
        const int error = error_.load(std::memory_order_relaxed);
        if (!is_enabled() && !error)
            return 0;
        last.result = is_enabled() ? -EBADF : -error;
    } else {
        if (!is_open || now != last.descriptor)
            last.result = user_events_write_parts(begin(parts[0].iov_base), parts, count);
        // The file is open. While the kernel disables an event, it refuses records by EBADF before
        // it clears the bit. No record is lost then.
        if (last.result >= 0 || last.result == -EBADF)
            return 0;
    }
    lost_.fetch_add(1, std::memory_order_relaxed);
    user_events_say(&library_->environment, "lost a record of", command(),
                    static_cast<int>(-last.result));
    return static_cast<int>(-last.result);
}

inline std::error_code registration::retry_all() noexcept {
    const errno_keeper keeper;
    const lock_guard lock(the_library.mutex);
    if (!the_library.first)
        return {};
    if (!the_library.is_found)
        user_events_read_environment(&the_library.environment);
    if (!the_library.sink && !user_events_file_check(&the_library.file))
        open_file(the_library);
    int error = 0;
    for (registration* each = the_library.first; each; each = each->next_) {
        if (!the_library.sink &&
            (each->descriptor() != the_library.file.descriptor || each->descriptor() < 0))
            each->register_now();
        if (error == 0)
            error = each->error_.load(std::memory_order_relaxed);
    }
    return error_of(error);
}

inline void registration::set_sink(int (*sink)(const registration&, const iovec*, int) noexcept,
                                   detail::mutex& of_records) noexcept {
    const errno_keeper keeper;
    make_forks_safe(the_library);
    const lock_guard lock(the_library.mutex);
    the_library.sink_mutex = &of_records;
    the_library.sink = sink;
    if (!sink && the_library.first && !user_events_file_check(&the_library.file))
        open_file(the_library);
    for (const registration* each = the_library.first; each; each = each->next_)
        if (sink || each->unregister_now())
            each->register_now();
}

template <typename Function>
void registration::for_each(Function&& function) {
    const lock_guard lock(the_library.mutex);
    for (const registration* each = the_library.first; each; each = each->next_)
        function(*each);
}

} // namespace detail

/// What is known of an event.
struct event_state {
    /// The text that the kernel got: the name, and the fields.
    std::string_view command;
    std::error_code error;
    bool is_enabled;
    std::uint32_t cut, lost;

    std::string_view name() const noexcept { return command.substr(0, command.find(' ')); }
};

/// Calls a function with the event_state of each event of the calling program or shared library,
/// the newest first: of event<>, dynamic_event, and the events of tracks, counters and logs. The
/// function may fork. The child then has to end with _exit() or exec: exit() destroys events, and
/// would wait for ever. The function must not create or destroy events, markers
/// or a testing::sink, nor call error(), kept(), retry() (also of a marker) or for_each_event().
/// May be called from any thread; not from a signal handler.
template <typename Function>
[[gnu::visibility("hidden")]] void for_each_event(Function&& function) {
    detail::registration::for_each([&](const detail::registration& each) {
        function(
            event_state{each.command(), each.error(), each.is_enabled(), each.cut(), each.lost()});
    });
}

/// Returns why the events of the calling program or shared library cannot be registered: the file
/// does not exist, cannot be opened, or events are switched off. No error if the file is open, or
/// if no event has been created yet. May be called from any thread; not from a signal handler.
[[gnu::visibility("hidden")]] inline std::error_code error() noexcept {
    const detail::lock_guard lock(detail::the_library.mutex);
    return detail::error_of(detail::the_library.error);
}

/// Returns how many events of the calling program or shared library were destroyed although the
/// kernel kept their registrations: after fork(), in parent or child, if the user has too many; or
/// after the file was lost and could not be opened again. The kernel may still set the enable bit
/// of such an event, and so change memory that the program uses for something else by then. May be
/// called from any thread; not from a signal handler.
[[gnu::visibility("hidden")]] inline std::uint32_t kept() noexcept {
    const detail::lock_guard lock(detail::the_library.mutex);
    return detail::the_library.kept;
}

/// Registers the events of the calling program or shared library that could not be registered when
/// they were created, for example because the kernel module was loaded later. Returns no error if
/// all are registered now, otherwise the first error. May be called from any thread, as often as
/// needed; not from a signal handler.
[[gnu::visibility("hidden")]] inline std::error_code retry() noexcept {
    return detail::registration::retry_all();
}

/// The same. Also calls a function with the event_state of each event that is not registered now;
/// for the function, the rules of for_each_event() hold.
template <typename Function>
[[gnu::visibility("hidden")]] std::error_code retry(Function&& function) {
    const std::error_code first = retry();
    for_each_event([&](const event_state& each) {
        if (each.error)
            function(each);
    });
    return first;
}

} // namespace USER_EVENTS_NAMESPACE
