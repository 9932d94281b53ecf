// SPDX-License-Identifier: MIT
//
// The first program of LTTng-UST's guide: a tracepoint with a number and a text, for each argument
// of the program. There, a header of its own declares the tracepoint with macros. A source file of
// its own includes that header, and so makes the code of the tracepoint.
//
//	lttng [TEXT...]
#include <user_events/user_events.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

namespace {

// LTTNG_UST_TRACEPOINT_EVENT(hello_world, my_first_tracepoint,
//     LTTNG_UST_TP_ARGS(int, my_integer_arg, char *, my_string_arg),
//     LTTNG_UST_TP_FIELDS(
//         lttng_ust_field_string(my_string_field, my_string_arg)
//         lttng_ust_field_integer(int, my_integer_field, my_integer_arg)))
user_events::event<"hello_world_my_first_tracepoint",
                   user_events::field<"my_string_field", std::string_view>,
                   user_events::field<"my_integer_field", std::int32_t>>
    my_first_tracepoint;

int count_letters(std::string_view text) {
    int letters = 0;
    for (const char each : text)
        letters += (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
    return letters;
}

} // namespace

int main(int argc, char* argv[]) {
    // lttng_ust_tracepoint(hello_world, my_first_tracepoint, 23, "hi there!");
    my_first_tracepoint("hi there!", 23);
    int number = 0;
    for (const char* argument : std::span(argv, static_cast<std::size_t>(argc)))
        my_first_tracepoint(argument, number++);
    // LTTng's macro calls the function only if the tracepoint is recorded:
    // lttng_ust_tracepoint(hello_world, my_first_tracepoint, count_letters(argv[0]), "letters");
    my_first_tracepoint.lazily([&] { return std::tuple("letters", count_letters(argv[0])); });
    return 0;
}
