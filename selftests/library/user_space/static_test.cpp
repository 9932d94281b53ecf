// SPDX-License-Identifier: GPL-2.0-only
// Events that static constructors and destructors use, also before the event's constructor and
// after its destructor.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/user_events.hpp>

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace selftest;
namespace ue = user_events;

namespace {

using Step = ue::event<"step", ue::field<"where", std::string_view>>;
constexpr const char* step_command = "step __rel_loc char[] where";

// Events of other translation units, as this one sees them.
extern Step step;
extern std::uint32_t shared_word;
extern ue::event<"shared", ue::word<shared_word>, ue::bit<3>> shared;

FakeFile& file() {
    static FakeFile& only = *new FakeFile;
    return only;
}

/// What happened in the constructors.
std::vector<Bytes> written;

std::error_code early_error;

/// The exit status of a process whose static destructors find what they should; see below.
int status_at_exit = -1;

void use_events(const char* where) {
    step(where);
    step.lazily([&] { return where; });
    shared();
}

/// Constructed before the events, and so destroyed after them.
struct Outer {
    Outer() {
        file().enable(step_command);
        file().enable("shared");
        early_error = step.error();
        use_events("before the constructor");
        written.push_back(file().take());
    }
    ~Outer() {
        if (status_at_exit < 0)
            return;
        use_events("after the destructor");
        if (step || shared || shared_word != 0 || !file().take().empty())
            status_at_exit = 2;
        if (registrations() != 0)
            status_at_exit = 3;
        if (step.lost() || step.cut())
            status_at_exit = 4;
        // Nothing registers them again.
        if (ue::retry() || registrations() != 0)
            status_at_exit = 5;
        _exit(status_at_exit);
    }
} outer;

Step step;
std::uint32_t shared_word;
ue::event<"shared", ue::word<shared_word>, ue::bit<3>> shared;

/// Constructed after the events.
struct Inner {
    Inner() {
        use_events("static constructor");
        written.push_back(file().take());
    }
    ~Inner() {
        if (status_at_exit < 0)
            return;
        use_events("static destructor");
        if (file().take() != written[1])
            status_at_exit = 1;
    }
} inner;

} // namespace

TEST_CASE("Before its constructor an event does nothing") {
    REQUIRE(written.size() == 2);
    CHECK(written[0].empty());
    CHECK(early_error == std::errc::resource_unavailable_try_again);
}

TEST_CASE("A static constructor can record an event") {
    CHECK(registrations() == 2);
    const Bytes record = Payload()
                             .add<std::uint32_t>(0)
                             .add(location(0, sizeof("static constructor")))
                             .add_string("static constructor")
                             .bytes();
    CHECK(written.at(1).size() == 2 * record.size() + 4);
    CHECK(Bytes(written.at(1).begin(),
                written.at(1).begin() + static_cast<std::ptrdiff_t>(record.size())) == record);
}

TEST_CASE("A static destructor can record an event, and after its destructor it does nothing") {
    const pid_t child = fork();
    if (child == 0) {
        status_at_exit = 0;
        written[1].clear();
        use_events("static destructor");
        written[1] = file().take();
        std::exit(9);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
