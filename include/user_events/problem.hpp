// SPDX-License-Identifier: MIT
// What an event is declared with, and what can be wrong with it. The compiler reports the first
// problem of an event or a call, by one sentence, and nothing that follows from it.
#pragma once

#include "command.hpp"
#include "field.hpp"
#include "file.h"
#include "payload.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace USER_EVENTS_NAMESPACE {

/// An option of an event: the event stays when it has no users any more, until it is deleted. The
/// program needs CAP_PERFMON or CAP_SYS_ADMIN, otherwise error() is EPERM.
struct persistent {};

/// An option of an event: other programs may register events of the same name with other fields.
/// The event is in the subsystem user_events_multi, with a dot and a number after its name.
struct multi_format {};

/// An option of an event: the number of the enable bit in its word. 0 is the least significant one.
template <unsigned Number>
struct bit {};

/// An option of an event: the word of the enable bit, a variable of static storage duration that
/// the event shares with others. It has 4 or 8 bytes, or is a std::atomic of that size. Each event
/// that uses the variable needs another bit<> of it. The program must not change these bits, and
/// may change others atomically.
template <auto& Variable>
struct word {};

namespace detail {

template <typename Part>
inline constexpr bool is_field = false;
template <literal Name, typename T>
inline constexpr bool is_field<field<Name, T>> = true;

/// The enable bit, and the flags of the registration, of an event without options. The name is
/// short because it is in those of the linker.
struct no_option {
    static constexpr bool is_known = true;
    /// A bit for each kind of option.
    static constexpr unsigned kind = 0;
    static constexpr bool is_repeated = false;
    static constexpr unsigned bit = 0;
    static constexpr unsigned flags = 0;
    static constexpr std::size_t word_size = 0;
    static constexpr void* address() { return nullptr; }
};
template <typename Option>
struct option : no_option {
    static constexpr bool is_known = false;
};
template <>
struct option<persistent> : no_option {
    static constexpr unsigned kind = 1;
    static constexpr unsigned flags = USER_EVENTS_PERSIST;
};
template <>
struct option<multi_format> : no_option {
    static constexpr unsigned kind = 2;
    static constexpr unsigned flags = USER_EVENTS_MULTI_FORMAT;
};
template <unsigned Number>
struct option<bit<Number>> : no_option {
    static constexpr unsigned kind = 4;
    static constexpr unsigned bit = Number;
};
template <auto& Variable>
struct option<word<Variable>> : no_option {
    static constexpr unsigned kind = 8;
    static constexpr std::size_t word_size = sizeof(Variable);
    static constexpr void* address() {
        return const_cast<void*>(static_cast<const volatile void*>(&Variable));
    }
};

template <typename... Parts>
struct field_list {};

/// A structure of the program that is derived from fields<>.
template <typename... Fields>
field_list<Fields...> listed(const fields<Fields...>*);
template <typename Part>
concept named_list = requires(const Part* part) {
    detail::listed(part);
};

/// The fields that one template argument of an event stands for.
template <typename Part>
struct fields_in {
    using type = field_list<>;
};
template <literal Name, typename T>
struct fields_in<field<Name, T>> {
    using type = field_list<field<Name, T>>;
};
template <named_list Part>
struct fields_in<Part> {
    using type = decltype(detail::listed(static_cast<const Part*>(nullptr)));
};

/// The fields of a list that also has options.
template <typename List, typename... Lists>
struct fields_among {
    using type = List;
};
template <typename... Fields, typename... More, typename... Rest>
struct fields_among<field_list<Fields...>, field_list<More...>, Rest...>
    : fields_among<field_list<Fields..., More...>, Rest...> {};
template <typename... Parts>
struct fields_of : fields_among<field_list<>, typename fields_in<Parts>::type...> {};
template <typename... Fields>
requires(is_field<Fields>&&...) struct fields_of<Fields...> {
    using type = field_list<Fields...>;
};

template <typename... Options>
struct options_among {
    static constexpr unsigned bit = (0 | ... | option<Options>::bit);
    static constexpr unsigned flags = (0 | ... | option<Options>::flags);
    static constexpr std::size_t word_size = (0 + ... + option<Options>::word_size);
    static constexpr bool is_repeated =
        (0u | ... | option<Options>::kind) != (0u + ... + option<Options>::kind);
    static constexpr void* address() {
        void* found = nullptr;
        ((found = option<Options>::word_size ? option<Options>::address() : found), ...);
        return found;
    }
};

/// The options of a list that also has fields. The type does not name the fields: the linker's
/// names would be long.
template <typename List, typename... Parts>
struct options_in {
    using type = List;
};
template <typename... Options, typename Part, typename... Rest>
struct options_in<options_among<Options...>, Part, Rest...>
    : options_in<std::conditional_t<is_field<Part> || named_list<Part>, options_among<Options...>,
                                    options_among<Options..., Part>>,
                 Rest...> {};
template <typename... Parts>
struct options_of : options_in<options_among<>, Parts...> {};
template <typename... Fields>
requires(is_field<Fields>&&...) struct options_of<Fields...> {
    using type = no_option;
};

enum class problem {
    none,
    bad_event_name,
    long_event_name,
    bad_header_name,
    empty_field_name,
    bad_field_name,
    common_field_name,
    not_a_part,
    not_recordable,
    not_recordable_structure,
    not_recordable_elements,
    large_array,
    not_copyable,
    bad_tag,
    wrong_member,
    duplicate_field,
    long_command,
    large_payload,
    many_located,
    bad_word,
    bad_bit,
    repeated_option,
    number_of_arguments,
    real_for_integer,
    long_for_short,
    number_for_bool,
    bool_for_number,
    number_for_text,
    text_for_number,
    wrong_argument,
    lazily_would_cut,
};

/// What the compiler names in a message, with its name as text instead of a number.
template <auto Name, typename... Parts>
struct event_named {};
template <auto Name, typename T>
struct field_named {};
template <auto Name, typename T>
struct member_named {};
template <auto Tag, typename T>
struct structure_named {};

template <typename Part>
struct readable {
    using type = Part;
};
template <literal Name, typename T>
struct readable<field<Name, T>> {
    using type = field_named<unpack<Name>(), typename readable<T>::type>;
};
template <literal Name, auto Pointer, typename T>
struct readable<member<Name, Pointer, T>> {
    using type = member_named<unpack<Name>(), typename readable<T>::type>;
};
template <typename... Members>
struct readable<members<Members...>> {
    using type = members<typename readable<Members>::type...>;
};
template <literal Tag, typename T>
struct readable<structure<Tag, T>> {
    using type = structure_named<unpack<Tag>(), T>;
};

/// Reports a problem. The compiler names About: the field and the type of the argument.
template <problem What, typename... About>
struct report {
    static_assert(
        What != problem::bad_event_name,
        "user_events: the name of an event must not be empty, '.', '..', 'enable' or 'filter', "
        "nor contain white space, a control character, '/', ':' or ';'");
    static_assert(
        What != problem::long_event_name,
        "user_events: the name of an event is too long: at most 255 bytes, with multi_format 246");
    static_assert(
        What != problem::bad_header_name,
        "user_events: the name of an EventHeader event is PROVIDER:NAME; the provider has letters, "
        "digits and _, and the name no colon, semicolon or NUL");
    static_assert(What != problem::empty_field_name, "user_events: the name of a field is empty");
    static_assert(What != problem::bad_field_name,
                  "user_events: the name of a field must not contain white space, a "
                  "semicolon or a control character");
    static_assert(What != problem::common_field_name,
                  "user_events: the name of a field must not begin with common_, as those of the "
                  "fields that tracing itself adds");
    static_assert(What != problem::not_a_part,
                  "user_events: this is neither a field<> nor an option of an event");
    static_assert(
        What != problem::not_recordable,
        "user_events: a field cannot have this type: declare it as a number, text, or an array "
        "of numbers (see user_events::field), and convert the argument");
    static_assert(
        What != problem::not_recordable_structure,
        "user_events: a field cannot have a structure as its type: write structure<\"TAG\", S> "
        "for its bytes, or members<member<\"NAME\", &S::NAME>...> for its members");
    static_assert(
        What != problem::not_recordable_elements,
        "user_events: a field cannot have a type with elements that are not numbers: record each "
        "element, or text that describes them");
    static_assert(What != problem::large_array,
                  "user_events: a char[N] or std::array of bytes has 1 to 1024 of them: write "
                  "std::string_view or std::span instead");
    static_assert(What != problem::not_copyable,
                  "user_events: the type in structure<> must be trivially copyable");
    static_assert(What != problem::bad_tag,
                  "user_events: the tag in structure<> must consist of letters, digits and _");
    static_assert(What != problem::wrong_member,
                  "user_events: the type in member<> cannot hold each value of the member: leave "
                  "it out, or write one that can");
    static_assert(What != problem::duplicate_field, "user_events: two fields have the same name");
    static_assert(What != problem::long_command,
                  "user_events: the event's name and fields have more than 511 bytes as text");
    static_assert(
        What != problem::large_payload,
        "user_events: the fields have more than 4064 bytes, which is what ftrace can record");
    static_assert(What != problem::many_located,
                  "user_events: an event has at most 100 fields of text or of any length");
    static_assert(What != problem::bad_word,
                  "user_events: the variable in word<> must have 4 or 8 bytes");
    static_assert(What != problem::bad_bit,
                  "user_events: the number in bit<> is too large for the word of the enable bit");
    static_assert(What != problem::repeated_option,
                  "user_events: an event has each option at most once: one word<>, one bit<>");
    static_assert(What != problem::number_of_arguments,
                  "user_events: an event takes as many arguments as it has fields");
    static_assert(
        What != problem::real_for_integer,
        "user_events: the field is an integer and the argument a floating-point number: convert "
        "it, or declare the field as double");
    static_assert(What != problem::long_for_short,
                  "user_events: the argument is longer than the field: convert it, or "
                  "declare the field with the argument's type");
    static_assert(What != problem::number_for_bool,
                  "user_events: the field is a bool and the argument another number: "
                  "compare it with 0");
    static_assert(What != problem::bool_for_number,
                  "user_events: the field is a number and the argument a bool: declare "
                  "the field as bool");
    static_assert(What != problem::number_for_text,
                  "user_events: the field is text and the argument a number: convert it, "
                  "or declare the field with the argument's type");
    static_assert(What != problem::text_for_number,
                  "user_events: the field is a number and the argument text: declare the "
                  "field as std::string_view");
    static_assert(What != problem::wrong_argument,
                  "user_events: the argument does not convert to the field's type");
    static_assert(What != problem::lazily_would_cut,
                  "user_events: lazily() would cut the number: return a type that fits "
                  "the field");
};
template <typename... About>
struct report<problem::none, About...> {};

/// The first problem of an event, and the number of the part that has it; a large number for the
/// event as a whole.
struct finding {
    problem what = problem::none;
    std::size_t part = 0;

    constexpr bool operator==(const finding&) const = default;
};
inline constexpr std::size_t whole_event = 1000;

/// The type of a part, or the last type.
template <std::size_t At, typename First, typename... Rest>
struct part_at : part_at<At - 1, Rest...> {};
template <std::size_t At, typename Last>
struct part_at<At, Last> {
    using type = Last;
};
template <typename First, typename Second, typename... Rest>
struct part_at<0, First, Second, Rest...> {
    using type = First;
};

template <typename T>
struct type_check {
    static consteval problem find() {
        if constexpr (!recordable<T>) {
            if constexpr (std::is_array_v<T> || requires { typename T::value_type; })
                return problem::not_recordable_elements;
            else
                return std::is_class_v<T> && std::is_trivially_copyable_v<T>
                           ? problem::not_recordable_structure
                           : problem::not_recordable;
        } else if constexpr (requires { recorded<T>::array_size; }) {
            return recorded<T>::array_size > max_array ? problem::large_array : problem::none;
        } else if constexpr (requires { recorded<T>::has_good_tag; }) {
            return !recorded<T>::is_copyable    ? problem::not_copyable
                   : !recorded<T>::has_good_tag ? problem::bad_tag
                                                : problem::none;
        } else {
            return problem::none;
        }
    }
};
template <optional_like T>
struct type_check<T> : type_check<typename T::value_type> {};

constexpr problem problem_of_name(std::string_view name) {
    return name.empty()           ? problem::empty_field_name
           : !is_field_name(name) ? problem::bad_field_name
                                  : problem::none;
}

template <typename Member>
struct member_check {
    static consteval problem find() { return problem::not_recordable; }
};
/// No call passes the member: what its type must be for that of its field is checked here.
template <literal Name, auto Pointer, typename T>
struct member_check<member<Name, Pointer, T>> {
    static consteval problem find() {
        const problem of_name = problem_of_name(view_of<Name>()), of_type = type_check<T>::find();
        if (of_name != problem::none || of_type != problem::none)
            return of_name != problem::none ? of_name : of_type;
        if constexpr (recordable<T>) {
            using from = typename member_of<Pointer>::type;
            if constexpr (recorded<T>::template accepts<from>)
                return recorded<T>::template keeps<from> ? problem::none : problem::wrong_member;
        }
        return problem::wrong_member;
    }
};
template <typename First, typename... Rest>
struct type_check<members<First, Rest...>> {
    static consteval problem find() {
        problem found = member_check<First>::find();
        ((found = found == problem::none ? member_check<Rest>::find() : found), ...);
        return found;
    }
};

/// The names of members begin with that of the field, and an underscore.
template <typename T>
inline constexpr bool has_members = requires {
    typename recorded<T>::object_type;
};

template <typename Part>
struct part_check {
    static constexpr problem find() {
        if constexpr (!option<Part>::is_known)
            return problem::not_a_part;
        else
            return option<Part>::word_size % 4 || option<Part>::word_size > 8 ? problem::bad_word
                                                                              : problem::none;
    }
};
template <literal Name, typename T>
struct part_check<field<Name, T>> {
    static constexpr problem find() {
        const std::string_view name = view_of<Name>();
        return problem_of_name(name) != problem::none ? problem_of_name(name)
               : is_common_field(name) || (has_members<T> && name == "common")
                   ? problem::common_field_name
                   : type_check<T>::find();
    }
};

template <named_list Part>
struct part_check<Part> {
    template <typename... Fields>
    static constexpr problem find_in(field_list<Fields...>) {
        problem found = problem::none;
        ((found = found == problem::none ? part_check<Fields>::find() : found), ...);
        return found;
    }
    static constexpr problem find() { return find_in(typename fields_in<Part>::type()); }
};

/// Looks at the event as a whole, when its parts are good.
template <literal Name, typename Options, typename Fields>
struct whole_check;

template <literal Name, typename... Parts>
consteval finding find_problem() {
    using options = typename options_of<Parts...>::type;
    const std::string_view name = view_of<Name>();
    if (!is_event_name(name))
        return {problem::bad_event_name, whole_event};
    if (name.size() + (options::flags & USER_EVENTS_MULTI_FORMAT ? max_suffix : 0) > max_name)
        return {problem::long_event_name, whole_event};
    const problem of_parts[] = {part_check<Parts>::find()..., problem::none};
    for (std::size_t i = 0; i < sizeof...(Parts); i++)
        if (of_parts[i] != problem::none)
            return {of_parts[i], i};
    if (options::is_repeated)
        return {problem::repeated_option, whole_event};
    if constexpr (((part_check<Parts>::find() == problem::none) && ...)) {
        using fields = typename fields_of<Parts...>::type;
        const problem of_whole = whole_check<Name, options, fields>::find();
        if (of_whole != problem::none)
            return {of_whole, whole_event};
    }
    return {};
}

/// What is wrong with an argument of type From for a field of type T.
template <typename T, typename From>
consteval problem problem_of_argument() {
    using to = typename present<T>::type;
    using from = arithmetic_of<typename present<From>::type>;
    if constexpr (recorded<T>::template accepts<From>)
        return problem::none;
    else if constexpr (number<to> && std::floating_point<from>)
        return problem::real_for_integer;
    else if constexpr (std::same_as<to, bool> && std::is_arithmetic_v<from>)
        return problem::number_for_bool;
    else if constexpr (std::is_arithmetic_v<to> && std::same_as<from, bool>)
        return problem::bool_for_number;
    else if constexpr (std::is_arithmetic_v<to> && std::is_arithmetic_v<from>)
        return problem::long_for_short;
    else if constexpr (std::is_arithmetic_v<to> && std::convertible_to<const from&, text>)
        return problem::text_for_number;
    else if constexpr (std::convertible_to<const to&, text> && std::is_arithmetic_v<from>)
        return problem::number_for_text;
    else
        return problem::wrong_argument;
}

/// may_be_cut: whether the argument's type is longer than the field's. fits(): whether the field
/// can hold the value all the same.
template <typename T, typename From>
inline constexpr bool may_be_cut = false;
template <number T, typename From>
requires std::integral<arithmetic_of<From>>
inline constexpr bool may_be_cut<T, From> = sizeof(arithmetic_of<From>) > sizeof(T);
template <optional_like T, typename From>
inline constexpr bool may_be_cut<T, From> =
    may_be_cut<typename present<T>::type, typename present<From>::type>;

template <typename T, typename From>
[[gnu::always_inline]] constexpr bool fits([[maybe_unused]] const From& from) {
    if constexpr (!may_be_cut<T, From>) {
        return true;
    } else if constexpr (optional_like<From>) {
        return !from.has_value() || fits<typename present<T>::type>(*from);
    } else if constexpr (optional_like<T>) {
        return fits<typename present<T>::type>(from);
    } else {
        const auto value = static_cast<arithmetic_of<From>>(from);
        return static_cast<arithmetic_of<From>>(static_cast<T>(value)) == value;
    }
}

} // namespace detail
} // namespace USER_EVENTS_NAMESPACE
