// SPDX-License-Identifier: MIT
// Messages of a program as an event: level, text, and the place in the source.
#pragma once

#include "event.hpp"
#include "payload.hpp"
#include "text.hpp"

#include <concepts>
#include <cstdint>
#include <string_view>

namespace USER_EVENTS_NAMESPACE {

/// The level of a message. The values are those of syslog(), but for trace, which it lacks.
enum class level : std::uint8_t {
    fatal = 2,
    error = 3,
    warning = 4,
    notice = 5,
    info = 6,
    debug = 7,
    trace = 8
};

namespace detail {

/// The text of a message, and the place of the call.
struct message {
    template <typename Text>
    requires std::convertible_to<const Text&, text>
    // NOLINTNEXTLINE(google-explicit-constructor): programs pass strings.
    [[gnu::always_inline]] message(const Text& from, const place& at = place::here())
        : what(from), where(at) {}

    text what;
    place where;
};

template <typename...>
inline constexpr bool never = false;

} // namespace detail

/// A log. Tools see an event of the name `Name` with the fields level, line, text, function and
/// file.
///
///     inline user_events::log<"my_program"> messages;
///     ...
///     messages.warning("the disk is nearly full");
///     messages.lazily(user_events::level::debug, [&] { return describe(request); });
///
/// Members may be called like those of event<>: from any thread, async-signal-safe.
///
/// \tparam Name the name of the event
template <literal Name>
class log {
public:
    [[gnu::visibility("hidden")]] log() noexcept = default;
    log(const log&) = delete;
    log& operator=(const log&) = delete;
    [[gnu::visibility("hidden")]] ~log() = default;

    /// Records a message. After its text, there may be another place than that of the call.
    template <typename... Rest>
    [[gnu::always_inline]] void operator()(level how, detail::message what,
                                           const Rest&... rest) const {
        if constexpr (sizeof...(Rest) == 0)
            record(how, what.what, what.where);
        else if constexpr (sizeof...(Rest) == 1 && (std::convertible_to<const Rest&, place> && ...))
            record(how, what.what, rest...);
        else
            static_assert(detail::never<Rest...>,
                          "user_events: a message has no arguments: write messages.lazily(level, "
                          "[&] { return std::format(...); })");
    }
    template <typename... Rest>
    [[gnu::always_inline]] void fatal(detail::message what, const Rest&... rest) const {
        (*this)(level::fatal, what, rest...);
    }
    template <typename... Rest>
    [[gnu::always_inline]] void error(detail::message what, const Rest&... rest) const {
        (*this)(level::error, what, rest...);
    }
    template <typename... Rest>
    [[gnu::always_inline]] void warning(detail::message what, const Rest&... rest) const {
        (*this)(level::warning, what, rest...);
    }
    template <typename... Rest>
    [[gnu::always_inline]] void notice(detail::message what, const Rest&... rest) const {
        (*this)(level::notice, what, rest...);
    }
    template <typename... Rest>
    [[gnu::always_inline]] void info(detail::message what, const Rest&... rest) const {
        (*this)(level::info, what, rest...);
    }
    template <typename... Rest>
    [[gnu::always_inline]] void debug(detail::message what, const Rest&... rest) const {
        (*this)(level::debug, what, rest...);
    }
    template <typename... Rest>
    [[gnu::always_inline]] void trace(detail::message what, const Rest&... rest) const {
        (*this)(level::trace, what, rest...);
    }

    /// Calls `make` only if the event is enabled, and records the text that it returns: for example
    /// `[&] { return std::format("{} of {}", done, all); }`. What `make` throws is passed on.
    template <std::invocable Make>
    [[gnu::always_inline]] void lazily(level how, Make&& make,
                                       const place& where = place::here()) const {
        if (event_) [[unlikely]] {
            if constexpr (detail::is_passed_on<Make>)
                making<Make>::record(*this, make, how, where.line, where.function, where.file);
            else
                record(how, make(), where);
        }
    }

    explicit operator bool() const noexcept { return bool(event_); }
    /// Why the event is not registered, as for event<>.
    std::error_code error() const noexcept { return event_.error(); }

private:
    [[gnu::always_inline]] void record(level how, const text& what,
                                       const place& where) const noexcept {
        event_(how, where.line, what, where.function, where.file);
    }

    /// Out of line, so that a disabled log needs no stack for the text. A class, because clang
    /// exports the member templates of templates.
    template <typename Make>
    struct making {
        [[gnu::noinline, gnu::visibility("hidden")]] static void
        record(const log& to, Make make, level how, std::uint32_t line, const char* function,
               const char* file) {
            to.record(how, make(), {file, function, line});
        }
    };

    // The tool knows logs by these fields: recording/severity.cpp, export/page/severity.js.
    event<Name, field<"level", level>, field<"line", std::uint32_t>,
          field<"text", std::string_view>, field<"function", std::string_view>,
          field<"file", std::string_view>>
        event_;
};

} // namespace USER_EVENTS_NAMESPACE
