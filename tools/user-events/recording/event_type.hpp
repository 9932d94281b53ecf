// SPDX-License-Identifier: GPL-2.0-or-later
// Events and their fields, as formats describe them, and the values in a record.
#pragma once

#include "eventheader/event.hpp"
#include "eventheader/tracepoint_name.hpp"
#include "recording/number.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct tep_event;

namespace tool::recording {

/// What a value is. Text is up to its first NUL. `integers` is an array of integers of 2, 4 or 8
/// bytes. Other arrays, except those of `char`, are bytes, and so is a structure other than `struct
/// f32` and `struct f64`. `absent` is a value that lies outside of its record, which happens in
/// damaged files and for records that are older than their event.
enum class kind : std::uint8_t { absent, integer, natural, real, text, bytes, integers };

/// A type of the fields that programs register whose value is one number.
struct number_type {
    std::string_view name;
    recording::kind kind;
    std::uint32_t size;
};

/// Returns nullptr for another type, such as an array.
const number_type* find_number_type(std::string_view name) noexcept;

/// Where the bytes of a field are: in the field, or where its location points, counted from the
/// record's beginning (`__data_loc`) or from the end of the field (`__rel_loc`). A stack is none of
/// the kernel's fields: the tool appends its text to the record, and behind that its length.
enum class place : std::uint8_t { field, from_record, from_field, at_end };

struct field {
    std::string name;
    std::string type;
    recording::kind kind;
    recording::place place;
    bool is_signed;
    bool is_big_endian;
    std::uint32_t offset;
    std::uint32_t size;
    std::uint32_t element_size;
};

struct value {
    recording::kind kind = kind::absent;
    union {
        std::int64_t integer;
        std::uint64_t natural = 0;
        double real;
    };
    /// Of text, bytes and integers. Part of the record.
    recording::bytes data;

    std::string_view text() const noexcept {
        return {reinterpret_cast<const char*>(data.data()), data.size()};
    }
    bool is_number() const noexcept {
        return kind == kind::integer || kind == kind::natural || kind == kind::real;
    }
    /// A number as a double; others are 0.
    double number() const noexcept;
};

/// The systems that the kernel has for user events of the group "default": those whose name has one
/// format, those whose name may have several; and for marks. Another group has `user_events_GROUP`
/// and `user_events_GROUP_multi`.
inline constexpr const char* one_format_system = "user_events";
inline constexpr const char* multi_format_system = "user_events_multi";
inline constexpr const char* mark_system = "user_mark";
inline constexpr const char* user_systems[] = {one_format_system, multi_format_system, mark_system};
/// The system of records that say what a rule with a limit has left out. They are in the instance
/// of the rule, without being enabled there.
inline constexpr const char* limit_system = "user_limit";
inline constexpr std::string_view group_system_prefix = "user_events_";

/// Whether a system is one of these, or of another group.
bool is_user_system(std::string_view system) noexcept;
/// Whether programs register the events of a system, so that rules can match them. Marks are the
/// module's own.
bool is_registered_system(std::string_view system) noexcept;
/// Whether a system is one of a group's. `user_events_a_multi` is the second system of group `a`,
/// or the first one of group `a_multi`. It counts for both; the kernel never has both groups.
bool is_system_of(std::string_view system, std::string_view group) noexcept;

/// The name of an event without the number of the format, which those of multi-format events have:
/// `order` of `order.1`.
std::string_view registered_name(std::string_view system, std::string_view event) noexcept;

/// An event as its format describes it.
struct event_type {
    explicit event_type(const tep_event& event);
    /// An event without fields yet.
    event_type(int id, std::string system, std::string name)
        : id(id), system(std::move(system)), name(std::move(name)) {}
    // Others refer to the name.
    event_type(const event_type&) = delete;
    event_type& operator=(const event_type&) = delete;
    ~event_type() = default;

    std::string_view registered_name() const noexcept {
        return recording::registered_name(system, name);
    }
    /// The same event with another number.
    std::unique_ptr<event_type> copy(int id) const;

    int id;
    std::string system;
    std::string name;
    std::vector<field> fields; // without the common ones
    /// Of so many payloads, one has a record.
    std::uint32_t sample = 1;
    /// Whether the record's payload describes its own fields, as EventHeader has them or the
    /// runtime of .NET, and is to be shown by them.
    bool is_described = false;
    /// Whether exports have the stacks of the records as a field. Of records that describe
    /// themselves, it is none of `fields`: shown_stack() has it.
    bool has_stack = false;
    /// Whether the payload is that of .NET, which describes its fields only once.
    bool is_eventpipe = false;
    /// How many bytes may follow a payload that describes itself.
    std::uint8_t most_padding = eventheader::ftrace_padding;
    /// What the tracepoint's name says of an EventHeader event: provider, level, keyword, options.
    eventheader::tracepoint_name parts = eventheader::to_tracepoint_name(registered_name());
    /// Of the fields, those to show; empty for all.
    std::vector<std::string> chosen;

    /// Returns the field of this name, or nullptr.
    const field* find(std::string_view field_name) const noexcept;
};

/// Reads a field. The record may have any bytes.
value read(const field& field, bytes record) noexcept;

/// Appends what a field at place::at_end has.
void append_at_end(std::vector<std::byte>& record, std::string_view text);

/// Appends a value as text for a terminal: bytes in hexadecimal, integers as {1,2}.
void append_text(std::string& to, const field& field, const value& value);

/// Appends a value as JSON: bytes as a string in hexadecimal, integers as an array.
void append_json(std::string& to, const field& field, const value& value);

/// Calls the function for each of the integers in the value.
template <typename Function>
void for_each_integer(const field& field, const value& value, Function function) {
    for (std::size_t at = 0; at + field.element_size <= value.data.size(); at += field.element_size)
        function(read_number(value.data.data() + at, field.element_size, field.is_signed,
                             field.is_big_endian));
}

} // namespace tool::recording
