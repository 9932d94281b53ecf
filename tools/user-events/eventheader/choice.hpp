// SPDX-License-Identifier: GPL-2.0-or-later
// Which events are wanted, by what the names of their tracepoints say: provider, level, keyword.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool::eventheader {

/// As in ETW and .NET, an event of level 0 has any level, and an event of keyword 0 any keyword.
struct choice {
    /// This level and those that are more severe, which are smaller.
    std::optional<std::uint8_t> level = {};
    /// Events that have one of these bits; all events if it is 0.
    std::uint64_t keyword = 0;

    bool is_all() const noexcept { return !level && keyword == 0; }
    /// Whether the tracepoint is wanted. With a level or a keyword, a tracepoint is wanted only if
    /// its name has the form `Provider_L4K1f`.
    bool includes(std::string_view tracepoint) const noexcept;
};

/// The names of levels, the most severe one first.
std::vector<std::string> level_names();
/// `warning`, `warn` or `3`. Throws text::usage_error for anything else.
std::uint8_t to_level(std::string_view text);
/// `0x1f` or `31`, not 0. Throws text::usage_error for anything else.
std::uint64_t to_keyword(std::string_view text);

/// Globs of the kernel. At least one of them matches each tracepoint that is wanted and whose
/// provider matches the glob. Few other names match.
std::vector<std::string> tracepoint_globs(std::string_view provider, const choice& choice);

/// A pattern `Provider:Event`, two globs: the event's name is what the payload says.
class event_pattern {
public:
    /// A text without a colon matches no event.
    explicit event_pattern(std::string_view text);

    const std::string& provider() const noexcept { return provider_; }
    /// Whether events of the tracepoint can match.
    bool may_match(std::string_view tracepoint) const;
    bool matches(std::string_view tracepoint, const std::string& event) const;
    bool matches_event(std::string_view provider, const std::string& event) const;
    /// Whether the text has a colon.
    bool is_complete() const noexcept { return !provider_.empty(); }

private:
    std::string provider_;
    std::string event_;
};

} // namespace tool::eventheader
