// SPDX-License-Identifier: MIT
// Messages of a program as an event: level, text, and the place in the source.
#pragma once

#include "carrier.hpp"
#include "event.hpp"
#include "place.hpp"

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

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

/// The text of a message and its place in the source. `Arguments` are what the caller passes after
/// the text: nothing, the place, or arguments for the text, which format.hpp defines.
template <typename... Arguments>
struct message;

template <>
struct message<> {
    template <typename Text>
    requires std::convertible_to<const Text&, text>
    // NOLINTNEXTLINE(google-explicit-constructor): programs pass strings.
    [[gnu::always_inline]] message(const Text& from, const place& at = place::here())
        : what(from), where(at) {}

    text what;
    place where;
};

template <typename Place>
requires std::convertible_to<const Place&, place>
struct message<Place> {
    template <typename Text>
    requires std::convertible_to<const Text&, text>
    // NOLINTNEXTLINE(google-explicit-constructor): programs pass strings.
    [[gnu::always_inline]] message(const Text& from) : what(from) {}

    text what;
};

} // namespace detail

/// A log. Tools see an event of the name `Name` with the fields level, line, text, function and
/// file.
///
///     inline user_events::log<"my_program"> messages;
///     ...
///     messages.warning("the disk is nearly full");
///     messages.lazily(user_events::level::debug, [&] { return describe(request); });
///     messages.info("{} of {}", done, all); // with user_events/format.hpp
///
/// Members may be called like those of event<>: from any thread, async-signal-safe. Those with
/// arguments for the text allocate memory if the event is enabled; see format.hpp.
///
/// \tparam Name the name of the event
template <literal Name>
class log {
    template <typename... Arguments>
    using message = detail::message<std::type_identity_t<Arguments>...>;

public:
    [[gnu::visibility("hidden")]] log() noexcept = default;
    log(const log&) = delete;
    log& operator=(const log&) = delete;
    [[gnu::visibility("hidden")]] ~log() = default;

    /// Records a message. After its text, there may be a place in the source, or arguments for the
    /// text.
    template <typename... Arguments>
    [[gnu::always_inline]] void operator()(level how, message<Arguments...> what,
                                           const Arguments&... arguments) const {
        if constexpr (is_formatted<Arguments...>) {
            if (event_) [[unlikely]]
                formatting<Arguments...>::record(*this, how, what.pattern.get(), what.where.line,
                                                 what.where.function, what.where.file,
                                                 arguments...);
        } else if constexpr (sizeof...(Arguments) > 0)
            record(how, what.what, place(arguments)...);
        else
            record(how, what.what, what.where);
    }
    template <typename... Arguments>
    [[gnu::always_inline]] void fatal(message<Arguments...> what,
                                      const Arguments&... arguments) const {
        operator()<Arguments...>(level::fatal, what, arguments...);
    }
    template <typename... Arguments>
    [[gnu::always_inline]] void error(message<Arguments...> what,
                                      const Arguments&... arguments) const {
        operator()<Arguments...>(level::error, what, arguments...);
    }
    template <typename... Arguments>
    [[gnu::always_inline]] void warning(message<Arguments...> what,
                                        const Arguments&... arguments) const {
        operator()<Arguments...>(level::warning, what, arguments...);
    }
    template <typename... Arguments>
    [[gnu::always_inline]] void notice(message<Arguments...> what,
                                       const Arguments&... arguments) const {
        operator()<Arguments...>(level::notice, what, arguments...);
    }
    template <typename... Arguments>
    [[gnu::always_inline]] void info(message<Arguments...> what,
                                     const Arguments&... arguments) const {
        operator()<Arguments...>(level::info, what, arguments...);
    }
    template <typename... Arguments>
    [[gnu::always_inline]] void debug(message<Arguments...> what,
                                      const Arguments&... arguments) const {
        operator()<Arguments...>(level::debug, what, arguments...);
    }
    template <typename... Arguments>
    [[gnu::always_inline]] void trace(message<Arguments...> what,
                                      const Arguments&... arguments) const {
        operator()<Arguments...>(level::trace, what, arguments...);
    }

    /// Calls `make` only if the event is enabled, and records the text that it returns: for example
    /// `[&] { return fmt::format("{} of {}", done, all); }`. What `make` throws is passed on.
    template <std::invocable Make>
    [[gnu::always_inline]] void lazily(level how, Make&& make,
                                       const place& where = place::here()) const {
        if (event_) [[unlikely]] {
            if constexpr (detail::is_passed_on<Make>) {
                making<Make>::record(*this, make, how, where.line, where.function, where.file);
            } else {
                const auto& what = std::forward<Make>(make)();
                record(how, what, where);
            }
        }
    }

    explicit operator bool() const noexcept { return bool(event_); }
    /// Why the event is not registered, as for event<>.
    std::error_code error() const noexcept { return event_.error(); }

private:
    template <typename... Arguments>
    static constexpr bool is_formatted = sizeof...(Arguments) > 0 &&
                                         !requires(message<Arguments...> what) {
        what.what;
    };

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
            const auto& what = make();
            to.record(how, what, {file, function, line});
        }
    };
    template <typename... Arguments>
    struct formatting {
        [[gnu::noinline, gnu::visibility("hidden")]] static void
        record(const log& to, level how, std::string_view pattern, std::uint32_t line,
               const char* function, const char* file, detail::passed<Arguments>... arguments) {
            const auto& what = message<Arguments...>::make(pattern, arguments...);
            to.record(how, what, {file, function, line});
        }
    };

    // The tool knows logs by these fields: recording/severity.cpp, export/page/severity.js.
    event<Name, field<"level", level>, field<"line", std::uint32_t>,
          field<"text", std::string_view>, field<"function", std::string_view>,
          field<"file", std::string_view>>
        event_;
};

} // namespace USER_EVENTS_NAMESPACE
