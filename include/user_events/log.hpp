// SPDX-License-Identifier: MIT
// Messages of a program as an event: level, text, and the place in the source.
#pragma once

#include "event.hpp"

#include <cstdint>
#include <type_traits>

namespace USER_EVENTS_NAMESPACE {

/// The level of a message. The values are those of syslog().
enum class level : std::uint8_t { error = 3, warning = 4, notice = 5, info = 6, debug = 7 };

/// A place in the source; by default, the one of the call. (std::source_location, which clang 14
/// does not have.)
struct place {
    const char* file;
    const char* function;
    std::uint32_t line;

    static constexpr place here(const char* file = __builtin_FILE(),
                                const char* function = __builtin_FUNCTION(),
                                std::uint32_t line = __builtin_LINE()) noexcept {
        return {file, function, line};
    }
};

/// A log. Tools see an event of this name with the fields level, line, text, function and file.
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

    [[gnu::always_inline]] void operator()(level how, text what,
                                           const place& where = place::here()) const noexcept {
        event_(how, where.line, what, where.function, where.file);
    }
    [[gnu::always_inline]] void error(text what,
                                      const place& where = place::here()) const noexcept {
        (*this)(level::error, what, where);
    }
    [[gnu::always_inline]] void warning(text what,
                                        const place& where = place::here()) const noexcept {
        (*this)(level::warning, what, where);
    }
    [[gnu::always_inline]] void notice(text what,
                                       const place& where = place::here()) const noexcept {
        (*this)(level::notice, what, where);
    }
    [[gnu::always_inline]] void info(text what, const place& where = place::here()) const noexcept {
        (*this)(level::info, what, where);
    }
    [[gnu::always_inline]] void debug(text what,
                                      const place& where = place::here()) const noexcept {
        (*this)(level::debug, what, where);
    }

    /// Calls `make` only if the event is enabled, and records the text that it returns: for example
    /// `[&] { return std::format("{} of {}", done, all); }`. What `make` throws is passed on.
    template <std::invocable Make>
    [[gnu::always_inline]] void lazily(level how, Make&& make,
                                       const place& where = place::here()) const
        noexcept(noexcept(make())) {
        if (event_) [[unlikely]] {
            const auto& what = std::forward<Make>(make)();
            (*this)(how, what, where);
        }
    }

    explicit operator bool() const noexcept { return bool(event_); }
    /// Why the event is not registered, as for event<>.
    std::error_code error() const noexcept { return event_.error(); }

private:
    event<Name, field<"level", level>, field<"line", std::uint32_t>,
          field<"text", std::string_view>, field<"function", std::string_view>,
          field<"file", std::string_view>>
        event_;
};

} // namespace USER_EVENTS_NAMESPACE
