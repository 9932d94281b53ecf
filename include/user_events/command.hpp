// SPDX-License-Identifier: MIT
// The rules for names and commands. They are used at compile time by event.hpp, and at run time by
// dynamic_event.hpp.
#pragma once

#include "abi.h"
#include "version.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace USER_EVENTS_NAMESPACE {

/// The longest payload, in bytes: what ftrace can record in a page of 4096 bytes. Longer strings
/// are cut.
inline constexpr std::size_t max_payload = 4064;

/// The longest `char[N]`, in bytes.
inline constexpr std::size_t max_array = 1024;

/// The longest command, in bytes: the event's name and its fields as text.
inline constexpr std::size_t max_command = USER_EVENTS_COMMAND_MAX;

namespace detail {

/// The longest name of an event's directory before Linux 6.6. The kernel appends a dot and a number
/// to a name with several formats; this allows for eight digits.
inline constexpr std::size_t max_name = 255, max_suffix = 9;

/// U+0080 to U+009F are control characters, too: 0xc2, and a byte below 0xa0.
[[gnu::visibility("hidden")]] constexpr bool has_space_or_control(std::string_view text) {
    unsigned char before = 0;
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte <= ' ' || byte == 0x7f || (before == 0xc2 && byte >= 0x80 && byte < 0xa0))
            return true;
        before = byte;
    }
    return false;
}

/// Each event has a directory of its name in tracefs.
[[gnu::visibility("hidden")]] constexpr bool is_event_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name != "enable" && name != "filter" &&
           name.find_first_of("/:;") == name.npos && !has_space_or_control(name);
}

/// Tools parse the print format of the event, in which the names of fields occur.
[[gnu::visibility("hidden")]] constexpr bool is_field_name(std::string_view name) {
    return !name.empty() && name.find(';') == name.npos && !has_space_or_control(name);
}

/// std::string_view::find() of g++ 12 is not constant here with -fsanitize=undefined.
[[gnu::visibility("hidden")]] constexpr bool contains(std::string_view text,
                                                      std::string_view part) {
    for (; text.size() >= part.size(); text.remove_prefix(1))
        if (text.substr(0, part.size()) == part)
            return true;
    return false;
}

/// The tag of a structure: letters, digits and underscores.
[[gnu::visibility("hidden")]] constexpr bool is_tag(std::string_view tag) {
    for (const char character : tag)
        if (!(character == '_' || (character >= '0' && character <= '9') ||
              (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z')))
            return false;
    return !tag.empty() && !contains(tag, "cpumask_t") && !contains(tag, "__data_loc") &&
           !contains(tag, "__rel_loc");
}

/// Whether filters and histograms would take it for a field that tracing itself adds to records.
[[gnu::visibility("hidden")]] constexpr bool is_common_field(std::string_view name) {
    return name.starts_with("common_");
}

/// Puts the text of a command together. Counts what does not fit.
template <std::size_t Capacity, std::size_t Fields>
struct command_writer {
    char text[Capacity + 1] = {};
    std::size_t size = 0;
    /// Where the names of the fields are.
    struct {
        std::uint16_t start, size;
    } names[Fields + 1] = {};
    std::size_t fields = 0;

    constexpr void add(std::string_view part) {
        for (std::size_t i = 0; i < part.size() && size + i < Capacity; i++)
            text[size + i] = part[i];
        size += part.size();
    }
    [[gnu::visibility("hidden")]] constexpr void add_number(std::size_t number) {
        if (number >= 10)
            add_number(number / 10);
        const char digit = static_cast<char>('0' + number % 10);
        add({&digit, 1});
    }

    constexpr void begin_field() { add(fields++ == 0 ? " " : ";"); }
    constexpr void begin_name() { begin_ = size; }
    constexpr void end_name() {
        if (fields <= Fields)
            names[fields - 1] = {static_cast<std::uint16_t>(begin_),
                                 static_cast<std::uint16_t>(size - begin_)};
    }

    constexpr bool fits() const { return size <= Capacity; }
    /// The name of a field of a command that fits.
    constexpr std::string_view name(std::size_t field) const {
        return {text + names[field].start, names[field].size};
    }
    /// Whether two fields have the same name.
    constexpr bool has_duplicate() const {
        for (std::size_t i = 1; i < fields; i++)
            for (std::size_t j = 0; j < i; j++)
                if (name(i) == name(j))
                    return true;
        return false;
    }

private:
    std::size_t begin_ = 0;
};

} // namespace detail
} // namespace USER_EVENTS_NAMESPACE
