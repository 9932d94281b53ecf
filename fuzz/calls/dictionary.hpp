// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string_view>

/// The parts that texts are made of. They concern user events and an event's files only, so that
/// the fuzzer finds no bugs in other parts of tracing.
namespace calls {

/// The names of events. There are few, so that operations often use the same event.
inline constexpr const char* names[] = {"fuzz_a", "fuzz_b", "fuzz_c", "fuzz-d"};

/// What may follow the name in a command.
inline constexpr std::string_view formats[] = {
    "",
    " u32 a",
    " u32 a;u32 b",
    " u32  a ;u32 b;",
    " s64 a; u64 b; s16 c",
    " char[12] a",
    " unsigned char[3] a; s64 b",
    " __rel_loc char[] a",
    " __data_loc char[] a",
    " __data_loc u8[] a; u8 b",
    " u8 x; __rel_loc char[] a; u16 y",
    " struct s a 20",
    " char[1024] a; char[1024] b",
    " unsigned int a; long b",
    ";u32 a",
    " u32 a;",
    " bool a",
    " float a",
    " u32[4] a",
    " u32 a 4",
    " char[0x10] a",
    " char[1025] a",
    " char[99999999999] a",
    " struct s a",
    " struct s a 4294967294",
    " u32",
    " char[0] a",
    ":flag u32 a",
};

inline constexpr std::string_view words[] = {
    " ",
    ";",
    ":",
    "\t",
    "\n",
    "/",
    ".",
    "-",
    "u8",
    "u16",
    "u32",
    "u64",
    "s8",
    "s16",
    "s32",
    "s64",
    "int",
    "short",
    "char",
    "unsigned ",
    "long",
    "char[8]",
    "unsigned char[0x10]",
    "char[1025]",
    "__data_loc ",
    "__rel_loc ",
    "char[]",
    "u8[]",
    "struct s ",
    " 20",
    " 4294967295",
    "a",
    "b",
    "c",
    "x",
    "enable",
    "..",
    "\xc3\xa4",
    "0",
    "1",
    "-1",
};

/// Filters, with fields of `formats`.
inline constexpr std::string_view filters[] = {
    "a > 1",           "a == 0 && b != 2", "a ~ \"*x*\"", "a == \"abc\"", "common_pid != 0",
    "x & 1 || y >= 3", "!(a < 5)",         "0",           "a >",          "nothing == 1",
};

/// Values of the options of rules, and further options.
inline constexpr std::string_view rule_options[] = {
    "0",
    "1",
    "1,2",
    "1/s",
    "1000000000/s",
    "7/s/program",
    "/a/b",
    "*",
    "[!a]*",
    "4294967296",
    " pid=1",
    " uid=0",
    " comm=*",
    " exe=/*",
    "fuzz",
    "/",
    " cgroup=/",
    " max=1",
    " limit=1/s",
    " sample=1/2",
    " # c",
    "none",
    "1/0",
    " group=none",
    " if a > 1",
    " trigger traceoff:1",
};

inline constexpr std::string_view triggers[] = {
    "stacktrace",
    "!stacktrace",
    "traceoff:1",
    "traceon if a > 1",
    "!traceon",
    "hist:keys=a:size=128",
    "!hist:keys=a",
    "hist:keys=common_pid:vals=a:sort=a:size=128",
    "enable_event:user_events:fuzz_a",
    "disable_event:user_events:fuzz_b:3",
    "!enable_event:user_events:fuzz_a",
    "enable_event:user_events:fuzz_none",
};

/// Parts of payloads: locations, boundary values and strings.
inline constexpr std::string_view payloads[] = {
    {"\0\0\0\0", 4},
    {"\4\0\1\0", 4},
    {"\0\0\1\0", 4},
    {"\10\0\4\0", 4},
    {"\14\0\4\0", 4},
    {"\0\0\4\0", 4},
    {"\377\377\1\0", 4},
    {"\1\0\377\377", 4},
    {"\377\377\377\377", 4},
    {"\0\0\0\0\0\0\0\0", 8},
    {"abc\0", 4},
    {"abcd", 4},
    {"\1", 1},
    {"\0", 1},
};

} // namespace calls
