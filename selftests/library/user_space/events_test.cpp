// SPDX-License-Identifier: GPL-2.0-only
// Events of the library, with a fake user_events_data: what is registered and written, and when.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/user_events.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <ios>
#include <iterator>
#include <new>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <utility>

using namespace selftest;
namespace ue = user_events;

namespace {

thread_local std::size_t allocations = 0;

} // namespace

void* operator new(std::size_t size) {
    allocations++;
    if (void* const memory = std::malloc(size))
        return memory;
    throw std::bad_alloc();
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    allocations++;
    return std::malloc(size);
}

// Not inline: g++ would otherwise warn of free() where it sees that `new` made the memory.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using Order =
    ue::event<"order", ue::field<"number", std::uint32_t>, ue::field<"item", std::string_view>>;
constexpr const char* order = "order u32 number;__rel_loc char[] item";

using Number = ue::event<"number", ue::field<"value", std::uint64_t>>;
constexpr const char* number = "number u64 value";

Bytes record_of_number(std::uint64_t value) {
    return Payload().add<std::uint32_t>(0).add(value).bytes();
}

Bytes record_of_order(std::uint32_t value, const std::string& item) {
    return Payload()
        .add<std::uint32_t>(0)
        .add(value)
        .add(location(0, static_cast<std::uint32_t>(item.size() + 1)))
        .add_string(item)
        .bytes();
}

/// The state of a process in wait().
int exit_status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_CASE("An event is registered by its constructor and unregistered by its destructor") {
    FakeFile file;
    {
        Order event;
        CHECK(!event.error());
        CHECK(!ue::error());
        CHECK(commands() == std::vector<std::string>{order});
        CHECK(registrations() == 1);
        Order same;
        CHECK(registrations() == 2);
        CHECK(commands().size() == 1);
    }
    CHECK(registrations() == 0);
}

TEST_CASE("The file is closed with the last event") {
    FakeFile file;
    int descriptor;
    {
        Order event;
        descriptor = last_descriptor();
        CHECK(fcntl(descriptor, F_GETFD) == FD_CLOEXEC);
    }
    CHECK(fcntl(descriptor, F_GETFD) == -1);
}

TEST_CASE("An event is written only while it is enabled") {
    FakeFile file;
    Number event;
    event(1);
    CHECK(!event);
    CHECK(file.take().empty());
    file.enable(number);
    CHECK(event);
    event(2);
    CHECK(file.take() == record_of_number(2));
    file.disable(number);
    event(3);
    CHECK(file.take().empty());
    CHECK(event.lost() == 0);
}

TEST_CASE("lazily() makes the arguments only while the event is enabled") {
    FakeFile file;
    Order event;
    int made = 0;
    const auto make = [&] {
        made++;
        return std::tuple(7, std::string("a string that is too long for the small buffer"));
    };
    event.lazily(make);
    CHECK(made == 0);
    file.enable(order);
    event.lazily(make);
    CHECK(made == 1);
    CHECK(file.take() == record_of_order(7, "a string that is too long for the small buffer"));
}

TEST_CASE("lazily() takes a single argument without a tuple") {
    FakeFile file;
    Number event;
    file.enable(number);
    event.lazily([] { return 5; });
    CHECK(file.take() == record_of_number(5));
}

TEST_CASE("lazily() keeps the state of a function object of the program") {
    FakeFile file;
    Number event;
    file.enable(number);
    auto count = [made = 0]() mutable { return ++made; };
    for (std::uint64_t i = 1; i <= 3; i++) {
        event.lazily(count);
        CHECK(file.take() == record_of_number(i));
    }
    CHECK(count() == 4);
}

TEST_CASE("All kinds of strings are written alike") {
    FakeFile file;
    Order event;
    file.enable(order);
    const Bytes expected = record_of_order(1, "tea");
    const std::string string = "tea";
    const char array[10] = "tea";
    const char* const pointer = array;
    event(1, "tea");
    CHECK(file.take() == expected);
    event(1, string);
    CHECK(file.take() == expected);
    event(1, std::string_view("teapot", 3));
    CHECK(file.take() == expected);
    event(1, array);
    CHECK(file.take() == expected);
    event(1, pointer);
    CHECK(file.take() == expected);
    event(1, u8"tea");
    CHECK(file.take() == expected);
    event(1, std::u8string_view(u8"tea"));
    CHECK(file.take() == expected);
}

TEST_CASE("Null, and a default string_view, are empty strings") {
    FakeFile file;
    Order event;
    file.enable(order);
    const Bytes expected = record_of_order(1, "");
    event(1, nullptr);
    CHECK(file.take() == expected);
    event(1, static_cast<const char*>(nullptr));
    CHECK(file.take() == expected);
    event(1, std::string_view());
    CHECK(file.take() == expected);
}

TEST_CASE("Strings of every length are written whole up to 4064 bytes of payload") {
    FakeFile file;
    Order event;
    file.enable(order);
    const auto check = [&](unsigned length) {
        CAPTURE(length);
        std::string item;
        for (unsigned i = 0; i < length; i++)
            item.push_back(static_cast<char>('0' + i % 71));
        // Without a NUL after it, so that the sanitizer sees if more is read.
        const std::vector<char> exact(item.begin(), item.end());
        event(1, std::string_view(exact.data(), exact.size()));
        CHECK(file.take() == record_of_order(1, item));
        event(1, item);
        CHECK(file.take() == record_of_order(1, item));
    };
    for (unsigned length = 0; length <= 300; length++)
        check(length);
    for (const unsigned length :
         {400u, 1014u, 1015u, 1016u, 1022u, 1023u, 1024u, 1025u, 3000u, 4055u})
        check(length);
    CHECK(event.cut() == 0);
    CHECK(event.lost() == 0);
}

TEST_CASE("A longer string is cut and counted") {
    FakeFile file;
    Order event;
    file.enable(order);
    event(1, std::string(4056, 'x'));
    CHECK(file.take() == record_of_order(1, std::string(4055, 'x')));
    CHECK(event.cut() == 1);
    event(1, std::string(100'000, 'x'));
    CHECK(file.take() == record_of_order(1, std::string(4055, 'x')));
    CHECK(event.cut() == 2);
}

TEST_CASE("A string is cut between characters of UTF-8") {
    FakeFile file;
    Order event;
    file.enable(order);
    for (const std::string character : {"é", "€", "😀"})
        for (std::size_t before = 0; before < 4; before++) {
            CAPTURE(character, before);
            std::string item(before, 'x');
            while (item.size() < 5000)
                item += character;
            event(1, item);
            const std::size_t fits = (4055 - before) / character.size() * character.size();
            CHECK(file.take() == record_of_order(1, item.substr(0, before + fits)));
        }
    CHECK(event.cut() == 12);
    event(1, std::string(5000, '\x80'));
    CHECK(file.take().size() == 4 + 4064);
}

TEST_CASE("Two long strings share the space, and both end with NUL") {
    FakeFile file;
    ue::event<"two", ue::field<"a", std::string>, ue::field<"b", std::string>> event;
    file.enable("two __rel_loc char[] a;__rel_loc char[] b");
    event(std::string(1000, 'a'), std::string(1000, 'b'));
    CHECK(file.take() == Payload()
                             .add<std::uint32_t>(0)
                             .add(location(4, 1001))
                             .add(location(1001, 1001))
                             .add_string(std::string(1000, 'a'))
                             .add_string(std::string(1000, 'b'))
                             .bytes());
    CHECK(event.cut() == 0);
    event(std::string(5000, 'a'), std::string(5000, 'b'));
    CHECK(file.take() == Payload()
                             .add<std::uint32_t>(0)
                             .add(location(4, 4055))
                             .add(location(4055, 1))
                             .add_string(std::string(4054, 'a'))
                             .add_string("")
                             .bytes());
    CHECK(event.cut() == 2);
}

TEST_CASE("If the fixed fields leave room for the NUL of a text only, the text is cut to nothing") {
    FakeFile file;
    struct Blob {
        char bytes[4059];
    };
    const Blob blob{};
    const ue::event<"full", ue::field<"a", ue::structure<"blob", Blob>>,
                    ue::field<"b", std::string>>
        event;
    file.enable("full struct blob a 4059;__rel_loc char[] b");
    event(blob, "");
    const Bytes empty = file.take();
    CHECK(empty.size() == 4 + 4064);
    CHECK(event.cut() == 0);
    event(blob, std::string(100'000, 'x'));
    CHECK(file.take() == empty);
    CHECK(event.cut() == 1);
}

TEST_CASE("An array is cut at the end of an element") {
    FakeFile file;
    const std::vector<std::uint64_t> numbers(1000, 7);
    const ue::event<"listed", ue::field<"n", std::uint8_t>,
                    ue::field<"a", std::vector<std::uint64_t>>>
        event;
    file.enable("listed u8 n;__rel_loc u64[] a");
    event(std::uint8_t{1}, numbers);
    // 507 elements: with the fields before, 4061 of 4064 bytes.
    Payload expected;
    expected.add<std::uint8_t>(1).add(location(0, 507 * 8));
    for (int i = 0; i < 507; i++)
        expected.add<std::uint64_t>(7);
    const auto record = [&](std::uint32_t index) {
        return Payload().add(index).add_bytes(expected.bytes()).bytes();
    };
    CHECK(file.take() == record(0));
    CHECK(event.cut() == 1);
    const auto dynamic = ue::dynamic_event::create(
        "dynamic", {{"n", ue::field_type::u8}, {"a", ue::field_type::u64_array}});
    REQUIRE(dynamic);
    file.enable("dynamic u8 n;__rel_loc u64[] a");
    CHECK(!dynamic->write({1, numbers}));
    CHECK(file.take() == record(1));
    CHECK(dynamic->cut() == 1);
}

TEST_CASE("A char array is cut with a NUL, between characters, and filled up with zeros") {
    FakeFile file;
    ue::event<"array", ue::field<"a", char[8]>> event;
    file.enable("array char[8] a");
    const auto expected = [](std::string_view text) {
        return Payload().add<std::uint32_t>(0).add_characters(text).bytes();
    };
    event("1234567");
    CHECK(file.take() == expected({"1234567\0", 8}));
    event("12");
    CHECK(file.take() == expected({"12\0\0\0\0\0\0", 8}));
    CHECK(event.cut() == 0);
    event("12345678");
    CHECK(file.take() == expected({"1234567\0", 8}));
    event("123456é");
    CHECK(file.take() == expected({"123456\0\0", 8}));
    CHECK(event.cut() == 2);
}

TEST_CASE("Nothing after the end of an array of characters is read") {
    FakeFile file;
    struct Task {
        char comm[16], neighbour[16];
    } task;
    std::memcpy(task.comm, "0123456789abcdef", 16);
    std::memcpy(task.neighbour, "secret", 7);
    Order event;
    file.enable(order);
    event(1, task.comm);
    CHECK(file.take() == record_of_order(1, "0123456789abcdef"));
    std::memcpy(task.comm, "short", 6);
    event(1, task.comm);
    CHECK(file.take() == record_of_order(1, "short"));
    event(1, std::as_const(task).comm);
    CHECK(file.take() == record_of_order(1, "short"));
    std::memcpy(task.comm, "0123456789abcdef", 16);
    ue::event<"in_array", ue::field<"comm", char[32]>> in_array;
    file.enable("in_array char[32] comm");
    in_array(task.comm);
    const Bytes record = file.take();
    REQUIRE(record.size() == 36);
    CHECK(std::memcmp(record.data() + 4, "0123456789abcdef\0\0\0\0\0\0\0\0", 24) == 0);
    auto dynamic = ue::dynamic_event::create("dynamic", {{"a", ue::field_type::text}});
    REQUIRE(dynamic);
    file.enable("dynamic __rel_loc char[] a");
    CHECK(!dynamic->write({task.comm}));
    CHECK(file.take() == Payload()
                             .add<std::uint32_t>(2)
                             .add(location(0, 17))
                             .add_string("0123456789abcdef")
                             .bytes());
}

TEST_CASE("An absent optional is 0 or empty") {
    FakeFile file;
    ue::event<"maybe", ue::field<"a", std::optional<int>>,
              ue::field<"b", std::optional<std::string_view>>>
        event;
    file.enable("maybe s32 a;__rel_loc char[] b");
    event(std::nullopt, std::nullopt);
    CHECK(file.take() ==
          Payload().add<std::uint32_t>(0).add(0).add(location(0, 1)).add_string("").bytes());
    event(5, "x");
    CHECK(file.take() ==
          Payload().add<std::uint32_t>(0).add(5).add(location(0, 2)).add_string("x").bytes());
}

TEST_CASE("An integer that its field cannot hold is truncated and counted") {
    FakeFile file;
    ue::event<"narrow", ue::field<"a", std::uint8_t>, ue::field<"b", std::int16_t>> event;
    file.enable("narrow u8 a;s16 b");
    int a = 255, b = -32768;
    event(a, b);
    CHECK(event.cut() == 0);
    a = 256;
    event(a, b);
    CHECK(event.cut() == 1);
    a = -1;
    b = 40000;
    event(a, b);
    CHECK(event.cut() == 2);
    CHECK(file.take() == Payload()
                             .add<std::uint32_t>(0)
                             .add<std::uint8_t>(255)
                             .add<std::int16_t>(-32768)
                             .add<std::uint32_t>(0)
                             .add<std::uint8_t>(0)
                             .add<std::int16_t>(-32768)
                             .add<std::uint32_t>(0)
                             .add<std::uint8_t>(255)
                             .add(static_cast<std::int16_t>(40000 - 65536))
                             .bytes());
}

TEST_CASE("Numbers in an optional, an atomic or an enumeration are truncated and counted alike") {
    FakeFile file;
    ue::event<"narrow", ue::field<"a", std::optional<std::uint8_t>>, ue::field<"b", std::uint8_t>,
              ue::field<"c", std::uint8_t>>
        event;
    file.enable("narrow u8 a;u8 b;u8 c");
    enum : unsigned { small = 255, large = 300 };
    std::atomic<int> counter{255};
    event(255, counter, small);
    for (const std::optional<int> each : {std::optional(255), std::optional<int>()})
        event(each, counter, small);
    CHECK(event.cut() == 0);
    event(300, counter, small);
    CHECK(event.cut() == 1);
    event(std::optional(300), counter, small);
    CHECK(event.cut() == 2);
    event(1, counter, large);
    CHECK(event.cut() == 3);
    counter = 300;
    file.take();
    event(1, counter, small);
    CHECK(event.cut() == 4);
    CHECK(file.take() == Payload()
                             .add<std::uint32_t>(0)
                             .add<std::uint8_t>(1)
                             .add<std::uint8_t>(44)
                             .add<std::uint8_t>(255)
                             .bytes());
}

TEST_CASE("A bit-field can be an argument") {
    FakeFile file;
    Number event;
    file.enable(number);
    struct {
        unsigned low : 3, high : 5;
    } bits{5, 6};
    event(bits.high);
    CHECK(file.take() == record_of_number(6));
}

TEST_CASE("errno is preserved, also by an event that cannot be written") {
    FakeFile file;
    errno = 123;
    Order event;
    CHECK(errno == 123);
    file.enable(order);
    event(1, "x");
    CHECK(errno == 123);
    ::close(last_descriptor());
    event(2, "x");
    CHECK(errno == 123);
    event.lazily([] { return std::tuple(1, std::string(100'000, 'x')); });
    CHECK(errno == 123);
    ue::retry();
    CHECK(errno == 123);
}

TEST_CASE("Recording allocates no memory") {
    FakeFile file;
    Order event;
    file.enable(order);
    for (const std::size_t size : {0ul, 10ul, 1000ul, 2000ul, 4000ul, 100000ul}) {
        CAPTURE(size);
        const std::string item(size, 'x');
        const std::size_t before = allocations;
        event(1, item);
        event.lazily([&] { return std::tuple(2, std::string_view(item)); });
        CHECK(allocations == before);
        CHECK_FALSE(file.take().empty());
    }
}

TEST_CASE("Events can share a word, with a bit each") {
    FakeFile file;
    static std::atomic<std::uint32_t> word{0};
    static std::uint64_t long_word = 0;
    ue::event<"high", ue::word<word>, ue::bit<31>, ue::field<"a", int>> high;
    ue::event<"low", ue::word<word>, ue::field<"a", int>> low;
    ue::event<"long", ue::word<long_word>, ue::bit<40>, ue::multi_format> in_long;
    CHECK(!high.error());
    CHECK(!low.error());
    CHECK(!in_long.error());
    file.enable("high s32 a");
    CHECK(word == 0x80000000);
    CHECK(high);
    CHECK(!low);
    low(1);
    CHECK(file.take().empty());
    high(1);
    CHECK(file.take().size() == 8);
    file.enable("long");
    CHECK(long_word == std::uint64_t{1} << 40);
    CHECK(in_long);
    in_long();
    CHECK(file.take() == Payload().add<std::uint32_t>(2).bytes());
}

TEST_CASE("The bits of an event are clear after its destructor, also without the file") {
    static std::uint64_t word;
    word = std::uint64_t{1} << 39;
    {
        FakeFile file;
        ue::event<"owner", ue::word<word>, ue::bit<40>> event;
        file.enable("owner");
        CHECK(event);
        unlink(file.path().c_str());
        closefrom(last_descriptor());
    }
    CHECK(word == std::uint64_t{1} << 39);
}

TEST_CASE("Names of any length are registered as they are written") {
    FakeFile file;
    // Literals are template arguments of 16 bytes.
    const ue::event<"a", ue::field<"of_15_character", int>, ue::field<"of_16_characters", int>,
                    ue::field<"of_17__characters", int>>
        short_event;
    const ue::event<"of_15_character"> event_15;
    const ue::event<"of_16_characters"> event_16;
    const ue::event<"of_17__characters"> event_17;
    const ue::event<"\u00fc\u00ff_of_32_bytes_with_characters"> event_32;
    CHECK(registrations("a s32 of_15_character;s32 of_16_characters;s32 of_17__characters") == 1);
    CHECK(registrations("of_15_character") == 1);
    CHECK(registrations("of_16_characters") == 1);
    CHECK(registrations("of_17__characters") == 1);
    CHECK(registrations("\u00fc\u00ff_of_32_bytes_with_characters") == 1);
}

TEST_CASE("Without a file, events are never enabled, and error() says why") {
    setenv("USER_EVENTS_FILE", "/nowhere", 1);
    Order event;
    event(1, "x");
    CHECK(!event);
    CHECK(event.error() == std::errc::no_such_file_or_directory);
    CHECK(ue::error() == std::errc::no_such_file_or_directory);
    CHECK(ue::explain(event.error()).find("user_events_data") != std::string::npos);
    // Other errors, and those of others.
    CHECK(ue::explain(std::make_error_code(std::errc::file_exists)) ==
          std::make_error_code(std::errc::file_exists).message());
    CHECK(ue::explain(std::make_error_code(std::io_errc::stream)) ==
          std::make_error_code(std::io_errc::stream).message());
    unsetenv("USER_EVENTS_FILE");
}

TEST_CASE("A file that is no user_events_data is refused") {
    setenv("USER_EVENTS_FILE", "/dev/null", 1);
    {
        Order event;
        CHECK(event.error() == std::errc::inappropriate_io_control_operation);
        CHECK(!event);
    }
    unsetenv("USER_EVENTS_FILE");
}

TEST_CASE("With USER_EVENTS=off nothing is opened") {
    const auto open_files = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                             std::filesystem::directory_iterator());
    };
    FakeFile file;
    setenv("USER_EVENTS", "off", 1);
    const auto before = open_files();
    {
        Order event;
        CHECK(event.error() == std::errc::operation_canceled);
        CHECK(registrations() == 0);
        CHECK(open_files() == before);
    }
    unsetenv("USER_EVENTS");
}

TEST_CASE("retry() registers what could not be registered before") {
    setenv("USER_EVENTS_FILE", "/nowhere", 1);
    Order event;
    Number other;
    CHECK(ue::retry() == std::errc::no_such_file_or_directory);
    FakeFile file;
    CHECK(event.error());
    CHECK(!ue::retry());
    CHECK(!event.error());
    CHECK(!ue::error());
    CHECK(registrations() == 2);
    file.enable(order);
    event(1, "x");
    CHECK(file.take().size() == 14);
    CHECK(!ue::retry());
    CHECK(registrations() == 2);
}

TEST_CASE("An event that the kernel refuses says why, and the others work") {
    FakeFile file;
    file.fail_with(EADDRINUSE);
    Order event;
    file.fail_with(0);
    Number other;
    CHECK(event.error() == std::errc::address_in_use);
    CHECK(!other.error());
    CHECK(!ue::error());
    CHECK(!ue::retry());
    CHECK(!event.error());
}

TEST_CASE("A registration that the kernel does not end is not made again, and counted") {
    FakeFile file;
    const std::uint32_t before = ue::kept();
    {
        Number event;
        // As in a child of fork() whose user has too many registrations.
        file.keep_registrations(EMFILE);
        ::close(last_descriptor());
        CHECK(ue::retry() == std::errc::too_many_files_open);
        CHECK(event.error() == std::errc::too_many_files_open);
        CHECK(registrations() == 1);
        CHECK(ue::retry() == std::errc::too_many_files_open);
        file.keep_registrations(0);
        CHECK(!ue::retry());
        CHECK(!event.error());
        file.enable(number);
        event(1);
        CHECK(file.take() == record_of_number(1));
        CHECK(ue::kept() == before);
        file.keep_registrations(EMFILE);
    }
    CHECK(ue::kept() == before + 1);
    file.keep_registrations(0);
}

TEST_CASE("The descriptor has a high number") {
    FakeFile file;
    Order event;
    rlimit files;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
    // fork() copies the table of descriptors up to the highest one.
    const auto limit = static_cast<int>(std::min<rlim_t>(files.rlim_cur, 256));
    CHECK(last_descriptor() >= limit - limit / 4);
    CHECK(last_descriptor() < limit);
}

TEST_CASE("If the descriptor has been closed, the file is opened again and no record is lost") {
    FakeFile file;
    Number event;
    Order other;
    file.enable(number);
    const int before = last_descriptor();
    REQUIRE(::close(before) == 0);
    event(1);
    CHECK(file.take() == record_of_number(1));
    CHECK(last_descriptor() != before);
    CHECK(event.lost() == 0);
    CHECK(registrations() == 2);
    CHECK(!other.error());
    file.enable(order);
    other(1, "x");
    CHECK(file.take().size() == 14);
}

TEST_CASE("An event that is created just after the file was lost opens it again") {
    FakeFile file;
    const Number event;
    const int before = last_descriptor();
    REQUIRE(::close(before) == 0);
    const int other = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (GENERATE(false, true))
        REQUIRE(dup2(other, before) == before);
    // The library has not looked at the file for some milliseconds yet.
    const Order next;
    CHECK(!next.error());
    CHECK(last_descriptor() != before);
    close(before);
    close(other);
}

TEST_CASE("A descriptor number that belongs to another file by now is not written to") {
    FakeFile file;
    Number event;
    file.enable(number);
    event(1);
    file.take();
    const int before = last_descriptor();
    const std::string path = file.path() + "_other";
    const int other = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(dup2(other, before) == before);
    // The check is made in each epoch of some milliseconds.
    const std::uint32_t epoch = user_events_epoch();
    while (user_events_epoch() == epoch)
        std::this_thread::yield();
    event(2);
    CHECK(file.take() == record_of_number(2));
    struct stat status;
    fstat(other, &status);
    CHECK(status.st_size == 0);
    // Neither is it closed.
    CHECK(fcntl(before, F_GETFD) == 0);
    close(other);
    close(before);
    unlink(path.c_str());
}

TEST_CASE("Another descriptor of the same file is not mistaken for the library's") {
    FakeFile file;
    Number event;
    const int before = last_descriptor();
    const int other = open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(dup2(other, before) == before);
    file.enable(number);
    const std::uint32_t epoch = user_events_epoch();
    while (user_events_epoch() == epoch)
        std::this_thread::yield();
    event(1);
    CHECK(last_descriptor() != before);
    CHECK(file.take() == record_of_number(1));
    close(other);
    close(before);
}

TEST_CASE("If the file cannot be opened again, records are lost and counted until retry()") {
    FakeFile file;
    Number event;
    file.enable(number);
    ::close(last_descriptor());
    const std::string away = file.path() + "_away";
    REQUIRE(std::rename(file.path().c_str(), away.c_str()) == 0);
    event(1);
    event(2);
    CHECK(event.lost() == 2);
    CHECK(file.take().empty());
    REQUIRE(std::rename(away.c_str(), file.path().c_str()) == 0);
    CHECK(!ue::retry());
    event(3);
    CHECK(file.take() == record_of_number(3));
}

TEST_CASE(
    "If the kernel refuses the event with the file opened again, the record is lost and counted") {
    FakeFile file;
    const Number event;
    const auto made = ue::dynamic_event::create("made", {{"value", ue::field_type::u32}});
    REQUIRE(made);
    file.enable(number);
    file.enable("made u32 value");
    ::close(last_descriptor());
    file.fail_with(EMFILE);
    event(1);
    CHECK(event.lost() == 1);
    CHECK(event.error() == std::errc::too_many_files_open);
    CHECK(made->write({1}) == std::errc::too_many_files_open);
    CHECK(made->lost() == 1);
    // From now on, the events are not enabled.
    event(2);
    CHECK(!made->write({2}));
    CHECK(event.lost() == 1);
    CHECK(made->lost() == 1);
    CHECK(file.take().empty());
    file.fail_with(0);
    CHECK(!ue::retry());
    event(3);
    CHECK(file.take() == record_of_number(3));
}

TEST_CASE("A limit of few open files is respected") {
    FakeFile file;
    rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{64, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    {
        Number event;
        CHECK(!event.error());
        CHECK(last_descriptor() >= 48);
        CHECK(last_descriptor() < 64);
    }
    setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("A child of fork() writes its events") {
    FakeFile file;
    Number event;
    file.enable(number);
    const pid_t child = fork();
    if (child == 0) {
        event(7);
        _exit(event.lost() == 0 ? 0 : 1);
    }
    CHECK(exit_status_of(child) == 0);
    CHECK(file.take() == record_of_number(7));
}

TEST_CASE("A daemon that closes all descriptors still writes its events") {
    FakeFile file;
    Number event;
    file.enable(number);
    const pid_t child = fork();
    if (child == 0) {
        closefrom(3);
        // Other files take the lowest numbers.
        for (int i = 0; i < 50; i++)
            open("/dev/null", O_RDWR);
        event(8);
        _exit(event.lost() == 0 ? 0 : 1);
    }
    CHECK(exit_status_of(child) == 0);
    CHECK(file.take() == record_of_number(8));
}

TEST_CASE("A child of a process with registering threads can call retry()", "[threads]") {
    FakeFile file;
    std::atomic<bool> stop{false};
    std::thread registering([&] {
        while (!stop)
            Order event;
    });
    for (int i = 0; i < 50; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            ue::retry();
            // The mutex of the fake is not safe for forks, so nothing is registered here.
            _exit(0);
        }
        CHECK(exit_status_of(child) == 0);
    }
    stop = true;
    registering.join();
}

TEST_CASE("Threads can register, write and unregister at the same time", "[threads]") {
    FakeFile file;
    file.enable(order);
    file.enable(number);
    Number shared;
    std::vector<std::thread> threads(4);
    for (std::thread& each : threads)
        each = std::thread([&] {
            for (int j = 0; j < 100; j++) {
                Order event;
                event(1, "x");
                shared(2);
                ue::retry();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(registrations() == 1);
    CHECK(shared.lost() == 0);
}

TEST_CASE("Threads that find the file closed at the same time open it once", "[threads]") {
    FakeFile file;
    file.enable(number);
    Number event;
    for (int round = 0; round < 20; round++) {
        ::close(last_descriptor());
        std::vector<std::thread> threads(4);
        for (std::thread& each : threads)
            each = std::thread([&] {
                for (int j = 0; j < 10; j++)
                    event(1);
            });
        for (std::thread& thread : threads)
            thread.join();
        // A thread that finds another one at it does not wait, and loses its record.
        CHECK(file.take().size() >= 12);
        CHECK(!event.error());
    }
}

TEST_CASE("A signal handler can record an event, also during a registration") {
    FakeFile file;
    file.enable(number);
    const Number event;
    static const Number* in_handler;
    in_handler = &event;
    struct sigaction action {};
    action.sa_handler = [](int) { (*in_handler)(1); };
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often{{0, 200}, {0, 200}}, never{};
    setitimer(ITIMER_REAL, &often, nullptr);
    std::size_t taken = 0;
    for (int i = 0; i < 2000 || taken == 0; i++) {
        Order other;
        taken += file.take().size();
    }
    setitimer(ITIMER_REAL, &never, nullptr);
    signal(SIGALRM, SIG_DFL);
    CHECK(taken > 0);
    CHECK(event.lost() == 0);
}

TEST_CASE("USER_EVENT() evaluates its arguments only if the event is recorded") {
    FakeFile file;
    const Number event;
    const ue::event<"empty"> empty;
    const ue::counter<"count"> counter;
    const ue::log<"log"> messages;
    int calls = 0;
    const auto value = [&] { return ++calls; };
    USER_EVENT(event, static_cast<std::uint64_t>(value()));
    USER_EVENT(counter, value());
    USER_EVENT(messages, ue::level::info, std::to_string(value()));
    CHECK(calls == 0);
    file.enable(number);
    file.enable("empty");
    USER_EVENT(event, static_cast<std::uint64_t>(value()));
    CHECK(file.take() == record_of_number(1));
    CHECK(calls == 1);
    USER_EVENT(empty);
    CHECK(file.take().size() == 4);
}
