// SPDX-License-Identifier: GPL-2.0-only
// The C++ library with the kernel: each type of field is read back as it was written, and the
// events of a program behave as the documentation says.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "module.hpp"
#include "registered.hpp"
#include "text_file.hpp"
#include "tracing.hpp"

#include <user_events/user_events.hpp>

#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/mount.h>
#include <thread>
#include <unistd.h>

using namespace selftest;
namespace ue = user_events;

namespace {

enum class Color : std::int16_t { green = -2 };
struct Point {
    std::int32_t x, y;
};
struct Odd {
    char bytes[5];
};

template <typename T>
using f = ue::field<"a", T>;

/// Records the event of one field in an instance, and returns the record.
template <typename Event, typename Argument>
Record recorded(const Argument& argument, const char* name = "library_field") {
    const Event event;
    // The in-tree user_events removes the event of the last call only after a while.
    REQUIRE(eventually([&] { return !event.error() || !ue::retry(); }));
    Instance instance;
    REQUIRE(instance.enable(selftest::Event(name)).ok());
    event(argument);
    auto records = instance.records();
    instance.disable(selftest::Event(name));
    CHECK(event.lost() == 0);
    CHECK(event.cut() == 0);
    REQUIRE(records.size() == 1);
    return records[0];
}

/// Checks that an event with one field records each of these values.
template <typename T, typename... Values>
void check_numbers(Values... values) {
    const auto check = [](auto value) {
        const Record record = recorded<ue::event<"library_field", f<T>>>(value);
        const Bytes bytes = record.bytes("a");
        REQUIRE(bytes.size() == sizeof(value));
        CHECK(std::memcmp(bytes.data(), &value, sizeof(value)) == 0);
    };
    (check(values), ...);
}

template <typename T>
void check_limits() {
    INFO(typeid(T).name());
    check_numbers<T>(std::numeric_limits<T>::min(), T{0}, T{1}, std::numeric_limits<T>::max());
}

template <typename T, typename Value>
void check_text(const Value& value, const std::string& expected) {
    const Record record = recorded<ue::event<"library_field", f<T>>>(value);
    CHECK(record.text("a") == expected);
}

/// Returns what is recorded of an event as four threads run a function.
template <typename Function>
auto records_of_threads(const Event& event, const Function& function) {
    Instance instance;
    expect(instance.enable(event), "enable");
    std::vector<std::thread> threads(4);
    for (std::thread& thread : threads)
        thread = std::thread(function);
    for (std::thread& thread : threads)
        thread.join();
    auto records = instance.records();
    instance.disable(event);
    return records;
}

} // namespace

TEST_CASE("Integers of every type are recorded as they were written", "[long]") {
    check_limits<signed char>();
    check_limits<unsigned char>();
    check_limits<short>();
    check_limits<unsigned short>();
    check_limits<int>();
    check_limits<unsigned>();
    check_limits<long>();
    check_limits<unsigned long>();
    check_limits<long long>();
    check_limits<unsigned long long>();
    check_limits<wchar_t>();
    check_limits<char16_t>();
    check_numbers<char>('A', '\xff');
    check_numbers<bool>(false, true);
    check_numbers<Color>(Color::green);
    check_numbers<std::byte>(std::byte{200});
    int object = 0;
    check_numbers<int*>(&object, static_cast<int*>(nullptr));
    check_numbers<void*>(static_cast<void*>(&object));
}

TEST_CASE("Durations and time points are recorded as their count") {
    using namespace std::chrono;
    CHECK(
        recorded<ue::event<"library_field", f<nanoseconds>>>(nanoseconds(5000000000)).number("a") ==
        5000000000);
    CHECK(recorded<ue::event<"library_field", f<milliseconds>>>(seconds(3)).number("a") == 3000);
    const auto now = system_clock::now();
    CHECK(recorded<ue::event<"library_field", f<system_clock::time_point>>>(now).number("a") ==
          now.time_since_epoch().count());
}

TEST_CASE("Text of every type is recorded as it was written") {
    for (const std::string& text : {std::string("coffee"), std::string("café"), std::string(),
                                    std::string(400, 'x'), std::string(3000, 'y')}) {
        check_text<std::string_view>(text, text);
        check_text<std::string>(text, text);
        check_text<const char*>(text.c_str(), text);
        check_text<ue::data_loc_text>(text, text);
        check_text<std::u8string_view>(
            std::u8string_view(reinterpret_cast<const char8_t*>(text.data()), text.size()), text);
    }
    check_text<char[8]>("array", "array");
    check_text<char[8]>("arrays!", "arrays!");
    check_text<std::optional<std::string_view>>("there", "there");
    check_text<std::optional<std::string_view>>(std::nullopt, "");
}

TEST_CASE("The longest text that is not cut is recorded") {
    // A location and the NUL.
    const std::string longest(ue::max_payload - 4 - 1, 'z');
    check_text<std::string_view>(longest, longest);
}

TEST_CASE("Bytes, structures and floating-point numbers are recorded as they were written") {
    const std::array<unsigned char, 4> array = {1, 0, 255, 3};
    const std::byte bytes[] = {std::byte{1}, std::byte{0}, std::byte{255}};
    const auto same = [](const Bytes& found, const void* data, std::size_t size) {
        CHECK(found.size() == size);
        CHECK(std::memcmp(found.data(), data, std::min(size, found.size())) == 0);
    };
    same(recorded<ue::event<"library_field", f<std::array<unsigned char, 4>>>>(array).bytes("a"),
         array.data(), 4);
    same(recorded<ue::event<"library_field", f<std::span<const std::byte>>>>(
             std::span<const std::byte>(bytes))
             .bytes("a"),
         bytes, 3);
    recorded<ue::event<"library_field", f<std::span<const std::byte>>>>(
        std::span<const std::byte>());
    const Odd odd = {{'f', 'i', 'v', 'e', '5'}};
    same(recorded<ue::event<"library_field", f<ue::structure<"five", Odd>>>>(odd).bytes("a"), &odd,
         5);
    const double number = -1.5e300;
    same(recorded<ue::event<"library_field", f<double>>>(number).bytes("a"), &number, 8);
    const float small = 0.1f;
    same(recorded<ue::event<"library_field", f<float>>>(small).bytes("a"), &small, 4);
}

TEST_CASE("An event without fields is recorded") {
    const ue::event<"library_nothing"> event;
    REQUIRE(!event.error());
    Instance instance;
    expect(instance.enable(Event("library_nothing")), "enable");
    event();
    const auto records = instance.records();
    instance.disable(Event("library_nothing"));
    CHECK(records.size() == 1);
}

TEST_CASE("What the library counts as lost and cut is not in the buffer, and the rest is") {
    const ue::event<"library_cut", f<std::string_view>> event;
    Instance instance;
    const Event name("library_cut");
    expect(instance.enable(name), "enable");
    event(std::string(10'000, 'x'));
    CHECK(event.cut() == 1);
    CHECK(event.lost() == 0);
    const auto records = instance.records();
    instance.disable(name);
    REQUIRE(records.size() == 1);
    CHECK(records[0].text("a") == std::string(ue::max_payload - 5, 'x'));
}

TEST_CASE("A conflicting format is an error of the event, unless it has several formats") {
    const ue::event<"library_conflict", f<int>> first;
    const ue::event<"library_conflict", f<long>> second;
    CHECK(!first.error());
    CHECK(second.error() == std::errc::address_in_use);
    const ue::event<"library_conflict", ue::multi_format, f<int>> third;
    const ue::event<"library_conflict", ue::multi_format, f<long>> fourth;
    CHECK(!third.error());
    CHECK(!fourth.error());
}

TEST_CASE("A persistent event stays, and needs the capability") {
    {
        const ue::event<"library_persistent", ue::persistent, f<int>> event;
        CHECK(!event.error());
    }
    CHECK(!status_line("library_persistent").empty());
    DataFile file;
    // The in-tree user_events answers EBUSY for a while.
    CHECK(eventually([&] { return file.delete_event("library_persistent").ok(); }));
}

TEST_CASE("Bit 31 of a word of the program can be used") {
    static std::atomic<std::uint32_t> word{0};
    const ue::event<"library_high", ue::word<word>, ue::bit<31>, f<int>> event;
    REQUIRE(!event.error());
    const Enabled enabled(Event("library_high"));
    CHECK(word == 0x80000000);
    CHECK(event);
}

TEST_CASE("A child of fork() has the events, and a change of state reaches it", "[race]") {
    const ue::event<"library_forked", f<int>> event;
    Instance instance;
    const Event name("library_forked");
    Child child([&](Channel& channel) {
        channel.receive<int>();
        const bool enabled = bool(event);
        event(7);
        channel.send(enabled && event.lost() == 0);
        return 0;
    });
    expect(instance.enable(name), "enable");
    CHECK(child.channel().ask<bool>(1));
    CHECK(child.wait() == 0);
    const auto records = instance.records();
    instance.disable(name);
    REQUIRE(records.size() == 1);
    CHECK(records[0].pid() == child.pid());
}

TEST_CASE("A daemon that has closed all descriptors records its events again") {
    const ue::event<"library_daemon", f<int>> event;
    Instance instance;
    const Event name("library_daemon");
    expect(instance.enable(name), "enable");
    const int result = in_child([&] {
        closefrom(3);
        for (int i = 0; i < 20; i++)
            open("/dev/null", O_RDWR);
        event(8);
        // The state of the event still reaches the new registration.
        return event && event.lost() == 0 ? 0 : 1;
    });
    CHECK(result == 0);
    const auto records = instance.records();
    instance.disable(name);
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 8);
}

TEST_CASE("Without permission events are off, and retry() registers them later") {
    const int result = in_child([] {
        setenv("USER_EVENTS_FILE", tracing_file("user_events_data").c_str(), 1);
        if (setresuid(unprivileged_uid, unprivileged_uid, 0) != 0)
            return 1;
        const ue::event<"library_denied", f<int>> event;
        if (event || event.error() != std::errc::permission_denied)
            return 2;
        if (setresuid(0, 0, 0) != 0 || ue::retry() || event.error())
            return 3;
        return 0;
    });
    CHECK(result == 0);
}

TEST_CASE("The file is found in tracefs") {
    CHECK(in_child([] {
              unsetenv("USER_EVENTS_FILE");
              const ue::event<"library_found", f<int>> event;
              return event.error() ? 1 : 0;
          }) == 0);
}

TEST_CASE("Threads that write one event record all of it", "[race]") {
    static const ue::event<"library_threads", f<int>> event;
    const auto records = records_of_threads(Event("library_threads"), [] {
        for (int i = 0; i < 50; i++)
            event(i);
    });
    CHECK(records.size() == 200);
    CHECK(event.lost() == 0);
}

TEST_CASE("A thousand events are registered and unregistered") {
    struct Many {
        ue::event<"library_many", f<int>> events[1000];
    };
    const auto before = stable_status_count("Active: ");
    {
        const auto many = std::make_unique<Many>();
        CHECK(!many->events[0].error());
        CHECK(!many->events[999].error());
        const Enabled enabled(Event("library_many"));
        CHECK((many->events[999] && many->events[0]));
    }
    CHECK(stable_status_count("Active: ") <= before + 1);
}
