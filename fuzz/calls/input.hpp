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
    rule,
    mark,
    share,
    count
};
inline constexpr auto kinds = static_cast<std::size_t>(Kind::count);
const char* name_of(Kind kind);

/// One operation of a program. The functions of class Program define what its arguments mean; all
/// values of an argument are valid.
struct Operation {
    static constexpr std::size_t arguments_max = 6;

    Kind kind;
    std::array<std::uint8_t, arguments_max> arguments{};
    std::string text;

    bool operator==(const Operation&) const = default;
};

/// All operations of a program, in order.
using Input = std::vector<Operation>;

/// Returns an input on one line: `reg:0.1.2"u32 a" close:1`. Non-printable characters of a text are
/// written as \xNN. Trailing arguments that are 0 are omitted.
std::string print(const Input& input);
std::string print(const Operation& operation);

/// Returns the inputs in a file. White space separates operations, an empty line separates inputs,
/// `#` begins a comment. Throws std::runtime_error on a syntax error.
std::vector<Input> parse(std::string_view text);

} // namespace calls
