// SPDX-License-Identifier: GPL-2.0-only
// user_events_status: one line per event, then the totals.
#include "catch.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <set>
#include <thread>

using namespace selftest;

namespace {

/// The parsed text of user_events_status.
struct Status {
    /// Throws std::runtime_error if the text is malformed.
    explicit Status(const std::string& text);

    std::vector<std::string> events; // names in the order of the file
    std::size_t used = 0;            // lines with ` # Used by`
    unsigned long active = 0, busy = 0;
};

unsigned long number_after(const std::string& line, const std::string& label) {
    if (!line.starts_with(label) || line.size() == label.size())
        throw std::runtime_error("no \"" + label + "\" in: " + line);
    std::size_t end;
    const unsigned long number = std::stoul(line.substr(label.size()), &end);
    if (label.size() + end != line.size())
        throw std::runtime_error("extra text after the number in: " + line);
    return number;
}

Status::Status(const std::string& text) {
    const auto lines = lines_of(text);
    if (lines.size() < 3 || !text.ends_with("\n") || !lines[lines.size() - 3].empty())
        throw std::runtime_error("no empty line before the totals");
    active = number_after(lines[lines.size() - 2], "Active: ");
    busy = number_after(lines[lines.size() - 1], "Busy: ");
    for (auto line = lines.begin(); line != lines.end() - 3; ++line) {
        const std::size_t comment = line->find(" #");
        events.push_back(line->substr(0, comment));
        if (events.back().empty() || events.back().find(' ') != std::string::npos)
            throw std::runtime_error("no valid name in: " + *line);
        if (comment == std::string::npos)
            continue;
        used++;
        const std::string users = line->substr(comment);
        if (!users.starts_with(" # Used by ") || users.size() == 11)
            throw std::runtime_error("no user in: " + *line);
    }
}

/// Reads the file with read() calls of `size` bytes.
std::string status_in_pieces(std::size_t size) {
    const Descriptor file = Descriptor::open(tracing_file("user_events_status"), O_RDONLY);
    std::string text, piece(size, '\0');
    ssize_t length;
    while ((length = read(file.number(), piece.data(), size)) > 0)
        text.append(piece, 0, static_cast<std::size_t>(length));
    if (length < 0)
        throw_errno("read user_events_status");
    return text;
}

/// Events that exist as long as the object lives.
class Events {
public:
    explicit Events(std::size_t count, const std::string& topic)
        : memory_(count / 1024 + 1), names_(count) {
        for (std::size_t i = 0; i < count; i++) {
            names_[i] = unique_name(topic);
            file_.must_register(memory_.at(i / 32 * 4), i % 32, names_[i]);
        }
    }
    const std::vector<std::string>& names() const { return names_; }

private:
    Mapping memory_;
    DataFile file_;
    std::vector<std::string> names_;
};

} // namespace

TEST_CASE("An event's line in user_events_status shows whether ftrace uses the event") {
    Word word{0};
    Instance instance;
    DataFile file;
    const Event event(unique_name("line"));
    CHECK(status_line(event.name()).empty());
    REQUIRE(file.register_event(&word, 0, event.name() + " u32 a") == succeeds());
    const std::string used = event.name() + " # Used by ftrace";

    CHECK(status_line(event.name()) == event.name());
    {
        Enabled enabled{event};
        CHECK(status_line(event.name()) == used);
        REQUIRE(instance.enable(event) == succeeds());
        CHECK(status_line(event.name()) == used);
    }
    CHECK(status_line(event.name()) == used);
    REQUIRE(instance.disable(event) == succeeds());
    CHECK(status_line(event.name()) == event.name());
    REQUIRE(write_text(event.path("trigger"), "traceon") == succeeds(7));
    CHECK(status_line(event.name()) == used);
    REQUIRE(write_text(event.path("trigger"), "!traceon") == succeeds(8));
    CHECK(status_line(event.name()) == event.name());
}

TEST_CASE("A multi-format event is listed by its tracepoint's name") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("multi");
    REQUIRE(file.register_event(&word, 0, name + " u32 a", 4, USER_EVENT_REG_MULTI_FORMAT) ==
            succeeds());
    REQUIRE(file.register_event(&word, 1, name + " u64 a", 4, USER_EVENT_REG_MULTI_FORMAT) ==
            succeeds());
    std::vector<Event> events;
    for (const std::string& line : Status(status()).events)
        if (line.starts_with(name))
            events.emplace_back(line, USER_EVENTS_MULTI_SYSTEM);
    REQUIRE(events.size() == 2);
    CHECK(events[0].name() != events[1].name());
    for (const Event& event : events) {
        CAPTURE(event.name());
        const std::string id = event.name().substr(name.size());
        CHECK(id.starts_with("."));
        CHECK(id.size() > 1);
        CHECK(id.find_first_not_of("0123456789abcdef", 1) == std::string::npos);
        CHECK(event.exists());
        Enabled enabled{event};
        CHECK((word == 1 || word == 2));
        CHECK(status_line(event.name()) == event.name() + " # Used by ftrace");
    }
}

TEST_CASE("Active counts all events, Busy counts the enabled ones") {
    Word word{0};
    DataFile file;
    const Event first(unique_name("totals")), second(unique_name("totals"));
    REQUIRE(file.register_event(&word, 0, first.name()) == succeeds());
    REQUIRE(file.register_event(&word, 1, second.name()) == succeeds());
    Enabled enabled{first};
    const Status now{status()};
    CHECK(now.events.size() >= 2);
    CHECK(now.used >= 1);
    CHECK(now.active == now.events.size());
    CHECK(now.busy == now.used);
    {
        Enabled also{second};
        CHECK(Status(status()).busy == now.busy + 1);
    }
}

TEST_CASE("user_events_status has the same content for reads of any size") {
    const Events events(40, "pieces");
    const Enabled enabled{Event(events.names()[7])};
    const std::string whole = status();
    REQUIRE(Status(whole).events.size() >= 40);
    // Events of earlier tests may be removed between the reads: then compare again.
    for (std::size_t size : {1, 2, 7, 64, 1000, 65536}) {
        CAPTURE(size);
        CHECK(eventually([&] {
            const std::string before = status();
            return status_in_pieces(size) == before;
        }));
    }
}

TEST_CASE("Reading user_events_status misses no event while threads create and remove others") {
    const Events before(30, "stays");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> rounds{0}, failures{0};
    std::vector<std::jthread> changing;
    changing.reserve(2);
    for (int i = 0; i < 2; i++)
        changing.emplace_back([&] {
            while (!stop) {
                Word words[4] = {};
                DataFile file;
                for (Word& word : words)
                    failures += !file.register_event(&word, 0, unique_name("comes")).ok();
                rounds++;
            }
        });
    const Events after(30, "stays");

    std::multiset<std::string> expected(before.names().begin(), before.names().end());
    expected.insert(after.names().begin(), after.names().end());
    unsigned incomplete = 0, readings = 0;
    const auto read_once = [&](std::size_t size) {
        const Status now(status_in_pieces(size));
        std::multiset<std::string> stays;
        std::ranges::copy_if(now.events, std::inserter(stays, stays.end()),
                             [](const std::string& name) { return name.starts_with("stays"); });
        incomplete += stays != expected;
        readings++;
    };
    const bool enough = eventually([&] {
        for (std::size_t size : {10, 100, 4096})
            read_once(size);
        return readings >= 60 && rounds >= 50;
    });
    stop = true;
    changing.clear();
    CHECK(enough);
    CHECK(failures == 0);
    CHECK(incomplete == 0);
}
