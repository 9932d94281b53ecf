// SPDX-License-Identifier: MIT
// Why an event cannot be recorded, or why one was not written.
//
// Errors have the standard library's generic category, and the values of errno: dlclose() of a
// plug-in would destroy a category of the library's own, and make the plug-in's error codes
// unusable.
#pragma once

#include "version.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace USER_EVENTS_NAMESPACE {

namespace detail {

/// What an errno means for events, or nullptr.
/// Also registration_remedy() in the tool's tracing/data_file.cpp.
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
