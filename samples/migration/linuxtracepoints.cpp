// SPDX-License-Identifier: MIT
//
// A program with LinuxTracepoints' TraceLogging: an event with a level, a keyword and fields of
// several types, and a pair of events of one activity. With eventheader::event<>, the decoders for
// these events still read the records.
#include <user_events/eventheader.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace {

namespace eh = user_events::eventheader;

struct point {
    std::int32_t x, y;
};

// TRACELOGGING_DEFINE_PROVIDER(my_provider, "MyCompany_MyComponent", (0x..., ...));
// No provider is defined. Its name is the part of the event's name before the colon. The GUID is
// derived from the name anyway.
eh::event<"MyCompany_MyComponent:Started", eh::level::information, 0x1,
          user_events::field<"arguments", std::uint32_t>,
          user_events::field<"program", std::string_view>,
          user_events::field<"numbers", std::span<const std::uint32_t>>,
          user_events::field<"from", user_events::members<user_events::member<"x", &point::x>,
                                                          user_events::member<"y", &point::y>>>>
    started;
eh::event<"MyCompany_MyComponent:Work", eh::level::verbose, 0x2,
          user_events::field<"step", std::uint32_t>>
    work;

} // namespace

int main(int argc, char* argv[]) {
    // TraceLoggingRegister(my_provider) and TraceLoggingUnregister(my_provider): the constructors
    // and destructors of the events.
    static constexpr std::uint32_t numbers[] = {1, 2, 3};
    // TraceLoggingWrite(my_provider, "Started", TraceLoggingLevel(4), TraceLoggingKeyword(0x1),
    //     TraceLoggingUInt32(argc, "arguments"), TraceLoggingString(argv[0], "program"),
    //     TraceLoggingUInt32Array(numbers, 3, "numbers"),
    //     TraceLoggingStruct(2, "from"), TraceLoggingInt32(1, "x"), TraceLoggingInt32(2, "y"));
    started(static_cast<std::uint32_t>(argc), argv[0], std::span(numbers), point{1, 2});
    // TraceLoggingWriteActivity(my_provider, "Work", &activity, NULL, TraceLoggingOpcode(1), ...);
    const auto activity = eh::activity_id::create();
    work.with({eh::opcode::start, &activity}, 1u);
    work.with({eh::opcode::stop, &activity}, 2u);
    return 0;
}
