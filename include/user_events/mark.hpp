// SPDX-License-Identifier: MIT
// Marks: text and data that a program puts among the records of its observers, without an event of
// its own.
#pragma once

#include "file.h"
#include "registration.hpp"
#include "text.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <system_error>

namespace USER_EVENTS_NAMESPACE {

namespace detail {

/// The argument of the ioctl USER_MARK. As struct user_mark in <linux/user_mark.h>, which the
/// kernel headers of distributions lack.
struct mark_argument {
    std::uint32_t size, type;
    std::uint64_t data;
    std::uint32_t data_size, flags;
};
static_assert(sizeof(mark_argument) == 24);

inline constexpr unsigned long mark_request = _IO('*', 0x40);

} // namespace detail

/// Makes marks. Tools see a mark with text as the event user_mark:text, and a mark with other data
/// as user_mark:data. Needs the device /dev/user_mark of the kernel module.
///
///     inline user_events::marker mark;
///     ...
///     mark("phase 2 begins");
///     mark(code_is_complete, std::as_bytes(std::span(code)));
///
/// There is no enable bit: each mark is a system call, and its arguments are evaluated, whether
/// marks are recorded or not. Where that costs too much, use an event<>. Without the device, marks
/// make no system calls.
///
/// Marks may be made from any thread, from signal handlers, and in the child after fork(); not
/// before the constructor or after the destructor. They keep errno. They return no error if a
/// recorder got the mark, or if nothing records marks. Nothing is cut. With pages of 4 KiB, ftrace
/// holds text of up to 4059 bytes and data of up to 4056 bytes; perf and BPF hold up to 8175 and
/// 8172 bytes. No recorded mark has more than 65534 bytes.
///
/// An error is one of these errnos; explain() is about events, not about marks. ENOENT without the
/// device, EACCES without permission for it, ENODEV while the module is being loaded or unloaded,
/// ECANCELED if USER_EVENTS=off is in the environment (USER_EVENTS_FILE does not concern marks),
/// EMFILE, EBADF if the program has closed the descriptor and another thread creates or destroys
/// events for more than about 100 ms, E2BIG if none of the recorders can hold the mark, EFAULT,
/// ENOMEM. If `path` names another kind of file, data fails with ENOTTY, and text is written into
/// that file.
class marker {
public:
    /// Opens the device. `path` is used until the end of the object's lifetime. Waits for a mutex.
    [[gnu::visibility("hidden")]] explicit marker(const char* path = "/dev/user_mark") noexcept
        : path_(path) {
        const detail::errno_keeper keeper;
        detail::make_forks_safe(detail::the_library);
        const detail::lock_guard lock(detail::the_library.mutex);
        open_if_on();
    }
    marker(const marker&) = delete;
    marker& operator=(const marker&) = delete;
    [[gnu::visibility("hidden")]] ~marker() {
        const detail::errno_keeper keeper;
        user_events_file_close(&file_);
    }

    /// Marks with text. One newline or NUL at the end is replaced by the NUL that ends the text in
    /// the record. An empty text makes no mark.
    [[gnu::visibility("hidden")]] std::error_code operator()(text text) const noexcept {
        const std::string_view characters = text.view();
        return with_file([=](int descriptor) {
            return user_events_write(descriptor, characters.data(), characters.size());
        });
    }

    /// Marks with data. Type 0 is recorded as text is. What other numbers mean is up to the
    /// program; tools show the number as the field `type`. Empty data makes an empty mark.
    [[gnu::visibility("hidden")]] std::error_code
    operator()(std::uint32_t type, std::span<const std::byte> data) const noexcept {
        const detail::mark_argument argument{sizeof(argument), type,
                                             reinterpret_cast<std::uintptr_t>(data.data()),
                                             static_cast<std::uint32_t>(data.size()), 0};
        if (data.size() > UINT32_MAX)
            return error_of(E2BIG);
        return with_file([&](int descriptor) {
            return user_events_call(SYS_ioctl, descriptor,
                                    reinterpret_cast<const void*>(detail::mark_request),
                                    reinterpret_cast<std::uintptr_t>(&argument));
        });
    }

    /// Returns why the device could not be opened, by the constructor, by retry(), or by a mark
    /// after the program had closed the descriptor. Then only retry() tries again.
    std::error_code error() const noexcept {
        return error_of(error_.load(std::memory_order_relaxed));
    }

    /// Opens the device if it is not open, for example because the kernel module was loaded later.
    /// Returns the same as error(). Waits for a mutex; not to be called from a signal handler.
    [[gnu::visibility("hidden")]] std::error_code retry() const noexcept {
        const detail::errno_keeper keeper;
        const detail::lock_guard lock(detail::the_library.mutex);
        if (error_.load(std::memory_order_relaxed) != 0)
            open_if_on();
        return error();
    }

private:
    static std::error_code error_of(long value) noexcept {
        return {static_cast<int>(value), std::generic_category()};
    }

    /// Calls `call` with the descriptor. `call` returns minus an errno on failure.
    template <typename Call>
    std::error_code with_file(Call call) const noexcept {
        if (const std::error_code reason = error()) [[unlikely]]
            return reason;
        if (is_checked()) [[likely]] {
            const long result = call(__atomic_load_n(&file_.descriptor, __ATOMIC_RELAXED));
            if (result != -EBADF) [[likely]]
                return error_of(result < 0 ? -result : 0);
        }
        return with_file_checked(call);
    }

    /// The same, if the descriptor may have been closed in this epoch.
    template <typename Call>
    [[gnu::noinline, gnu::visibility("hidden")]] std::error_code
    with_file_checked(Call call) const noexcept {
        if (!ensure_open())
            return error() ? error() : error_of(EBADF);
        const long result = call(__atomic_load_n(&file_.descriptor, __ATOMIC_RELAXED));
        return error_of(result < 0 ? -result : 0);
    }

    /// Opens the file again if the program has closed the descriptor. Does not wait for a mutex
    /// that this thread has: this may be a signal handler. Returns whether the file is open.
    [[gnu::noinline, gnu::visibility("hidden")]] bool ensure_open() const noexcept {
        const detail::errno_keeper keeper;
        if (user_events_file_check(&file_))
            return true;
        if (!detail::the_library.mutex.lock_soon())
            return false;
        const detail::lock_guard lock(detail::the_library.mutex, detail::lock_guard::adopt());
        if (user_events_file_check(&file_))
            return true;
        return !error() && open();
    }
    bool is_checked() const noexcept {
        return __atomic_load_n(&file_.epoch, __ATOMIC_ACQUIRE) == user_events_epoch();
    }

    /// Opens the device, unless the environment has USER_EVENTS=off. A mark that opens it again
    /// does not read the environment, because that is not async-signal-safe.
    [[gnu::visibility("hidden")]] void open_if_on() const noexcept {
        if (user_events_is_off())
            error_.store(ECANCELED, std::memory_order_relaxed);
        else
            open();
    }
    /// With the library's mutex held, which fork() waits for.
    [[gnu::visibility("hidden")]] bool open() const noexcept {
        const int error = user_events_file_is_open(&file_)
                              ? 0
                              : user_events_file_use(&file_, user_events_open_path(path_));
        error_.store(error, std::memory_order_relaxed);
        return error == 0;
    }

    const char* path_;
    mutable user_events_file file_{-1, 0, 0, 0, 0, -1};
    mutable std::atomic<int> error_{0};
};

} // namespace USER_EVENTS_NAMESPACE
