// SPDX-License-Identifier: GPL-2.0-only
// A shared library that the test loads. The same source is also a part of the test, with another
// layout of the library's objects.
#include "shared_event.hpp"

#ifdef IN_PART
#define IN_PLUGIN(name) name##_in_part
#else
#define IN_PLUGIN(name) name##_in_plugin
#endif

extern "C" [[gnu::visibility("default")]] void IN_PLUGIN(record)(std::uint32_t value) {
    shared_event(value);
}
extern "C" [[gnu::visibility("default")]] bool IN_PLUGIN(is_enabled)() {
    return bool(shared_event);
}
extern "C" [[gnu::visibility("default")]] std::size_t IN_PLUGIN(size)() {
    return sizeof(shared_event);
}

#ifdef WITH_TEMPLATE
/// Returns whether the event of the template is not the program's.
extern "C" [[gnu::visibility("default")]] bool IN_PLUGIN(record_template)(std::uint32_t value) {
    shared_template<std::uint32_t>(value);
    shared_template<std::uint32_t>.lazily([&] { return value; });
    return shared_template<std::uint32_t>.error() != std::errc::not_supported &&
           shared_template<std::uint32_t>.cut() + shared_template<std::uint32_t>.lost() == 0;
}
#endif

#ifndef IN_PART
extern "C" [[gnu::visibility("default")]] std::uint64_t number_in_plugin() {
    return user_events::flow::next().id;
}

namespace {
template <user_events::literal Name>
using number = user_events::event<Name, user_events::field<"value", std::uint32_t>>;
} // namespace

/// A class with an event, and an inline function with one.
struct with_event {
    static inline number<"in_class"> event;
};
inline const auto& event_of_function() {
    static const number<"in_function"> event;
    return event;
}

/// Uses both events, and tells why one that the kernel refused is not registered.
extern "C" [[gnu::visibility("default")]] void error_in_plugin(std::error_code& error) {
    with_event::event(1);
    event_of_function()(1);
    error = event_of_function().error();
}
#endif
