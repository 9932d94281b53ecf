// SPDX-License-Identifier: MIT
// Why an event cannot be recorded, or why one was not written.
#pragma once

#include "version.h"

#include <cerrno>
#include <cstddef>
#include <new>
#include <string>
#include <system_error>

namespace USER_EVENTS_NAMESPACE {

namespace detail {

class __attribute__((visibility("hidden"))) error_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "user_events"; }

    std::string message(int value) const override {
        switch (value) {
        case EAGAIN:
            return "the event is not registered yet";
        case ECANCELED:
            return "events are switched off by USER_EVENTS=off";
        case ENOENT:
            return "no user_events_data: the kernel has no user_events, or tracefs is not mounted";
        case EACCES:
            return "no permission for user_events_data or a directory above it";
        case ENODEV:
            return "user_events is being loaded or unloaded, or the kernel has no number left for "
                   "an event";
        case EPERM:
            return "a persistent event needs CAP_PERFMON";
        case EADDRINUSE:
            return "an event of this name has other fields, or the bit is in use";
        case EINVAL:
            return "the kernel does not accept the event's name or one of its fields";
        case EMFILE:
            return "too many events or registrations (raise kernel.user_events_max, "
                   "user_events_max_per_user or user_events_registrations_max_per_user), or too "
                   "many open files";
        case ENOTTY:
            return "the file is no user_events_data, or this kernel's user_events cannot do that";
        case EBADF:
            return "nothing records the event";
        case ENOTSUP:
            return "the event was constructed by a part of the process that was compiled with "
                   "another version of the library";
        case E2BIG:
            return "too long";
        default:
            return std::generic_category().message(value);
        }
    }

    std::error_condition default_error_condition(int value) const noexcept override {
        return {value, std::generic_category()};
    }
};

} // namespace detail

/// The category of the library's errors. Their values are those of errno, so that they can be
/// compared with std::errc: `event.error() == std::errc::permission_denied`. Each program and
/// shared library has a category of its own. It ends with dlclose() of the shared library; what
/// error_code::default_error_condition() returned before does not.
[[gnu::visibility("hidden")]] inline const std::error_category& category() noexcept {
    // Never destroyed: static destructors may use it.
    alignas(detail::error_category) static std::byte storage[sizeof(detail::error_category)];
    static const std::error_category* const only = new (storage) detail::error_category;
    return *only;
}

namespace detail {

[[gnu::visibility("hidden")]] inline std::error_code error_of(int value) noexcept {
    return value ? std::error_code(value, category()) : std::error_code();
}

} // namespace detail
} // namespace USER_EVENTS_NAMESPACE
