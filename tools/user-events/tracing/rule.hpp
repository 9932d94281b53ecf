// SPDX-License-Identifier: GPL-2.0-or-later
// The text of a rule, in both directions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tool::tracing {

struct event_name;

/// PATTERN[ OPTION]...[ if FILTER], or PATTERN[ OPTION]... trigger TRIGGER. Parts that are empty
/// are not there.
struct rule {
    /// The options, in the order in which the kernel shows them. Those from `pid` on are about
    /// programs.
    enum option : std::uint8_t { group, instance, max, limit, sample, pid, uid, comm, exe, cgroup };
    static constexpr std::size_t option_count = cgroup + 1;

    std::string pattern = {};
    std::array<std::string, option_count> options = {};
    std::string filter = {};
    std::string trigger = {};

    bool operator==(const rule&) const = default;

    /// What is written to the file, and what the kernel shows.
    std::string text() const;
    /// "pid=7,8 comm=orders", the options that are about programs; empty if it is for all.
    std::string programs() const { return text_of_options(pid); }
    /// N of `sample=1/N`: of so many payloads, one has a record.
    std::uint32_t sampled_of() const;
    /// Whether the rule is meant for the event.
    bool is_for(const event_name& name) const;

private:
    std::string text_of_options(std::size_t first) const;
};

/// What separates the words of a rule.
inline constexpr std::string_view spaces = " \t\n\v\f\r";

/// A text without these at its ends.
std::string_view trimmed(std::string_view text);

/// Reads a rule, and the comment behind it. For what is no rule, the kernel has the message.
std::pair<rule, std::string> to_rule(std::string_view line);

} // namespace tool::tracing
