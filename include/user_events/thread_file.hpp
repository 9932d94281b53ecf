// SPDX-License-Identifier: MIT
// A file of its own for a thread, through which it writes the events of the program.
#pragma once

#include "file.h"
#include "mutex.hpp"
#include "registration.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <sys/ioctl.h>
#include <system_error>

namespace USER_EVENTS_NAMESPACE {

namespace detail {

/// Lets a newly opened file use the indexes of another one. As USER_EVENTS_SHARE_INDEXES in
/// <linux/user_events_ext.h>, which the kernel headers of distributions lack.
inline constexpr unsigned long share_request = _IO('*', 0x80);

} // namespace detail

/// Gives the calling thread a file of its own, as long as the object exists:
///
///     void worker() {
///         const user_events::thread_file file;
///         ...
///     }
///
/// On machines with many processors, threads that write through one open file wait for each other
/// in the kernel. With files of their own they do not, and no event is registered again.
///
/// It concerns the events of the program or shared library that the object belongs to. It can be
/// created before the events are. A thread may have several; the newest one counts. The object must
/// be destroyed by the thread that created it, or by exit().
///
/// If there cannot be such a file (see error()), the thread writes through the file of all threads.
/// If the program closes the file, for example by closefrom(), the next event opens it again.
///
/// Each object takes a descriptor, and memory of the kernel, so it is for threads that live long.
/// The constructor and the destructor wait for a mutex, and must not be called in signal handlers.
/// In a shared library that was loaded by dlopen(), the first event of a thread may allocate memory
/// once any thread has such a file.
class [[nodiscard]] thread_file {
public:
    [[nodiscard, gnu::visibility("hidden")]] thread_file() noexcept {
        const detail::errno_keeper keeper;
        detail::make_forks_safe(detail::the_library);
        const detail::lock_guard lock(detail::the_library.mutex);
        open();
        newest = this;
        detail::the_library.thread_files++;
        detail::the_library.thread_descriptor.store(descriptor_of_thread,
                                                    std::memory_order_release);
    }
    thread_file(const thread_file&) = delete;
    thread_file& operator=(const thread_file&) = delete;
    [[gnu::visibility("hidden")]] ~thread_file() {
        const detail::errno_keeper keeper;
        // First, because a signal handler may record.
        thread_file** link = &newest;
        while (*link && *link != this)
            link = &(*link)->previous_;
        // Another thread may call exit(), which destroys an object with static storage duration.
        if (*link)
            *link = previous_;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const detail::lock_guard lock(detail::the_library.mutex);
        user_events_file_close(&file_);
        if (--detail::the_library.thread_files == 0 && !detail::the_library.sink)
            detail::the_library.thread_descriptor.store(nullptr, std::memory_order_relaxed);
    }

    /// Returns why the thread does not write through this file:
    /// - ENOTTY: the kernel cannot do this. The user_events of Linux cannot.
    /// - EAGAIN: the file of all threads is not open, or this thread has recorded no event since
    ///   that file was opened.
    /// - EMFILE: the program has too many open files.
    /// - ENFILE: all programs together have too many open files.
    /// - ENOMEM: the kernel has no memory.
    /// - any error that user_events::error() returns
    ///
    /// If the file of all threads is opened anew, as by retry(), this file is opened anew at the
    /// next event. Async-signal-safe.
    std::error_code error() const noexcept {
        return detail::error_of(error_.load(std::memory_order_relaxed));
    }

private:
    /// The calling thread's newest file, or null. It is never destroyed.
    [[gnu::visibility("hidden")]] static inline constinit thread_local thread_file* newest =
        nullptr;

    /// For library::thread_descriptor.
    [[gnu::visibility("hidden")]] static int descriptor_of_thread() noexcept {
        return newest && newest->is_usable() ? newest->file_.descriptor : -1;
    }

    /// Whether the file is open and has the indexes of the present file of all threads. If it was
    /// lost, or that one was replaced, it is opened again. Does not wait for the mutex: this may be
    /// a signal handler.
    bool is_usable() noexcept {
        if (is_current() && file_.epoch == user_events_epoch()) [[likely]]
            return error_.load(std::memory_order_relaxed) == 0;
        return check();
    }
    [[gnu::noinline, gnu::visibility("hidden")]] bool check() noexcept {
        const detail::errno_keeper keeper;
        if (is_current() &&
            (error_.load(std::memory_order_relaxed) != 0 || user_events_file_check(&file_)))
            return error_.load(std::memory_order_relaxed) == 0;
        if (!detail::the_library.mutex.try_lock())
            return false;
        const detail::lock_guard lock(detail::the_library.mutex, detail::lock_guard::adopt());
        return open();
    }
    bool is_current() const noexcept {
        return generation_ == detail::the_library.generation.load(std::memory_order_relaxed);
    }

    /// Opens the file, or moves its descriptor up, with the library's mutex held. Returns whether
    /// it can be used.
    [[gnu::visibility("hidden")]] bool open() noexcept {
        detail::library& library = detail::the_library;
        error_.store(EAGAIN, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const bool is_moved = is_current() && user_events_file_is_open(&file_);
        if (!is_moved)
            user_events_file_close(&file_);
        generation_ = library.generation.load(std::memory_order_relaxed);
        int error = is_moved ? 0 : library.error;
        if (is_moved)
            user_events_file_move(&file_);
        else if (!error)
            error = user_events_file_is_open(&library.file) ? open_shared() : EAGAIN;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        error_.store(error, std::memory_order_relaxed);
        return error == 0;
    }
    /// Opens another file with the indexes of the file of all threads. Returns 0 or an errno.
    [[gnu::visibility("hidden")]] int open_shared() noexcept {
        const int error = user_events_file_open(&file_, &detail::the_library.environment);
        if (error || ioctl(file_.descriptor, detail::share_request,
                           detail::the_library.file.descriptor) == 0)
            return error;
        const int reason = errno;
        user_events_file_close(&file_);
        return reason;
    }

    user_events_file file_{-1, 0, 0, 0, 0, 0, -1, -1};
    /// Nonzero also while the file is being opened.
    std::atomic<int> error_{EAGAIN};
    /// The library's, when the file was opened.
    std::uint32_t generation_ = 0;
    thread_file* previous_ = newest;
};

} // namespace USER_EVENTS_NAMESPACE
