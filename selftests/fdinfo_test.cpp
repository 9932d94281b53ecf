// SPDX-License-Identifier: GPL-2.0-only
// /proc/PID/fdinfo of user_events_data and of the device: the events that the file may write.
#include "as_user.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace {

using Lines = std::vector<std::string>;

std::string path_of(const DataFile& file) {
    return "/proc/self/fdinfo/" + std::to_string(file.descriptor());
}

/// The lines about events.
Lines events_of(const DataFile& file) {
    Lines result = lines_of(read_text(path_of(file)));
    std::erase_if(result, [](const std::string& line) { return !line.starts_with("user_event-"); });
    return result;
}

} // namespace

TEST_CASE("fdinfo lists the events of a file by their indexes, and which are enabled") {
    const bool is_device = GENERATE(false, true);
    CAPTURE(is_device);
    Word word{0};
    DataFile file =
        is_device ? DataFile(Descriptor::open("/dev/user_events/default", O_RDWR)) : DataFile();
    const std::string first = unique_name("fdinfo"), second = unique_name("fdinfo");
    CHECK(events_of(file).empty());
    file.must_register(&word, 0, first + " u32 a");
    file.must_register(&word, 1, second);
    const Enabled enabled{Event(second)};
    CHECK(events_of(file) == Lines{"user_event-0:\tuser_events/" + first,
                                   "user_event-1:\tuser_events/" + second + " enabled"});
}

TEST_CASE("fdinfo names an event that was unregistered, as the file may still write it") {
    Word word{0};
    DataFile file, other;
    const std::string name = unique_name("fdinfo");
    file.must_register(&word, 0, name);
    CHECK(file.unregister(&word, 0).ok());
    CHECK(events_of(file) == Lines{"user_event-0:\tuser_events/" + name});
    CHECK(events_of(other).empty());
}

TEST_CASE("fdinfo has the tracepoint's name of a multi-format event") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("fdinfo");
    file.must_register(&word, 0, name + " u32 a", 4, USER_EVENT_REG_MULTI_FORMAT);
    const Lines lines = events_of(file);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].starts_with("user_event-0:\tuser_events_multi/" + name + "."));
}

TEST_CASE("fdinfo lists the events of the file whose indexes a file shares") {
    Word word{0};
    DataFile file, sharer;
    REQUIRE(sharer.share_indexes(file).ok());
    const std::string name = unique_name("fdinfo");
    file.must_register(&word, 0, name);
    CHECK(events_of(sharer) == Lines{"user_event-0:\tuser_events/" + name});
}

TEST_CASE("fdinfo lists more events than fit into its first buffer") {
    constexpr unsigned events = 600;
    std::vector<LongWord> words(events);
    DataFile file;
    const std::string name = unique_name("fdinfo");
    Lines expected;
    for (unsigned i = 0; i < events; i++) {
        const std::string event = name + "_" + std::to_string(i);
        file.must_register(&words[i], 0, event);
        expected.push_back("user_event-" + std::to_string(i) + ":\tuser_events/" + event);
    }
    CHECK(events_of(file) == expected);
}

TEST_CASE("fdinfo is closed to other users") {
    const DataFile file;
    const std::string path =
        "/proc/" + std::to_string(getpid()) + "/fdinfo/" + std::to_string(file.descriptor());
    Child child([&](Channel&) {
        const AsUser user(65534);
        return ::open(path.c_str(), O_RDONLY) < 0 ? errno : 0;
    });
    CHECK(child.wait() == EACCES);
}
