// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace calls {

enum class Kind : std::uint8_t {
    open,
    close,
    duplicate,
    reg,
    unreg,
    del,
    control,
    write,
    line,
    event_file,
    read,
    perf,
    perf_control,
    fork,
    reap,
    map,
    limit,
    count
};
inline constexpr auto kinds = static_cast<std::size_t>(Kind::count);
const char* name_of(Kind kind);

/// One thing that a program does. What its arguments mean is the business of program.cpp; all
/// values of all of them mean something.
struct Operation {
    static constexpr std::size_t arguments_max = 6;

    Kind kind;
    std::array<std::uint8_t, arguments_max> arguments{};
    std::string text;

    bool operator==(const Operation&) const = default;
};

/// What a program does from its begin to its end.
using Input = std::vector<Operation>;

/// The input on one line: `reg:0.1.2"u32 a" close:1`. What is no printable character in a text is
/// written as \xNN; arguments that are left out at the end are 0.
std::string print(const Input& input);
std::string print(const Operation& operation);

/// The inputs of a file: operations between white space, `#` up to the end of the line for
/// comments. A line that is empty ends an input. Throws std::runtime_error for what is none.
std::vector<Input> parse(std::string_view text);

} // namespace calls
