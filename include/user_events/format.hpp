// SPDX-License-Identifier: MIT
// Messages of logs with arguments: `messages.info("{} of {}", done, all)`. For standard libraries
// that have <format>. user_events.hpp does not include this header, because <format> is large.
#pragma once

#include "log.hpp"
#include "place.hpp"

#include <concepts>
#include <string>
#include <string_view>
#include <version>

#ifndef __cpp_lib_format
#error "this standard library has no <format>: use lazily() with another library"
#endif

#include <format>

namespace USER_EVENTS_NAMESPACE::detail {

/// The compiler checks the text, as for std::format(). The arguments are formatted only if the
/// event is enabled. What formatting throws is passed on to the caller of the log.
template <typename... Arguments>
struct message {
    template <typename Text>
    requires std::convertible_to<const Text&, std::string_view>
    // NOLINTNEXTLINE(google-explicit-constructor): programs pass a literal.
    consteval message(const Text& from, const place& at = place::here())
        : pattern(from), where(at) {}

    static std::string make(std::string_view pattern, const Arguments&... arguments) {
        return std::vformat(pattern, std::make_format_args(arguments...));
    }

    std::format_string<const Arguments&...> pattern;
    place where;
};

} // namespace USER_EVENTS_NAMESPACE::detail
