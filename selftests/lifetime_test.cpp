// SPDX-License-Identifier: GPL-2.0-only
// How long an event and a registration last: what holds them, and that nothing else does.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>

using namespace selftest;

namespace {

/// Whether an event is there and stays: nothing takes it away while other events, made later, go.
bool stays(const Event& event) {
    const Event later(unique_name("later"));
    {
        Word word{0};
        DataFile file;
        file.index_of(&word, 0, later.name());
    }
    return later.goes() && event.exists() && !status_line(event.name()).empty();
}

/// Becomes a shell that lives until the channel's other end is gone, or returns the errno.
int execute_shell(Channel& channel) {
    if (dup2(channel.descriptor(), STDIN_FILENO) < 0)
        return errno;
    // The channel passes packets, which cat reads until there is no more to come.
    execl("/bin/sh", "sh", "-c", "exec cat >/dev/null", nullptr);
    return errno;
}

bool runs_cat(const Child& child) {
    const std::string path = "/proc/" + std::to_string(child.pid()) + "/comm";
    return eventually([&] { return read_text(path) == "cat\n"; });
}

int run_and_wait(const char* program) {
    const char* arguments[] = {program, nullptr};
    pid_t pid;
    int error =
        posix_spawn(&pid, program, nullptr, nullptr, const_cast<char**>(arguments), nullptr);
    if (error != 0)
        throw std::system_error(error, std::generic_category(), program);
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

} // namespace

TEST_CASE("An event goes with its last reference") {
    Word word{0};
    DataFile file, other;
    const Event event(unique_name("last"));
    file.index_of(&word, 0, event.name() + " u32 a");

    SECTION("which is a file") {
        REQUIRE(file.unregister(&word, 0) == succeeds());
        CHECK(stays(event));
        file.close();
    }
    SECTION("which is another file") {
        other.index_of(&word, 1, event.name() + " u32 a");
        REQUIRE(file.unregister(&word, 0) == succeeds());
        REQUIRE(file.unregister(&word, 1) == succeeds());
        file.close();
        CHECK(stays(event));
        other.close();
    }
    SECTION("which is a registration") {
        file.close();
        CHECK(stays(event));
        REQUIRE(other.unregister(&word, 0) == succeeds());
    }
    SECTION("which is another registration") {
        REQUIRE(other.register_event(&word, 1, event.name() + " u32 a") == succeeds());
        file.close();
        other.close();
        DataFile third;
        REQUIRE(third.unregister(&word, 0) == succeeds());
        CHECK(stays(event));
        REQUIRE(third.unregister(&word, 1) == succeeds());
    }
    SECTION("which is the top-level instance") {
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(stays(event));
        CHECK(event.disable() == succeeds(1));
    }
    SECTION("which is an instance, also one that is removed") {
        Instance instance;
        REQUIRE(instance.enable(event) == succeeds());
        REQUIRE(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(stays(event));
    }
    SECTION("which is a trigger") {
        REQUIRE(write_text(event.path("trigger"), "traceon") == succeeds(7));
        REQUIRE(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(stays(event));
        REQUIRE(write_text(event.path("trigger"), "!traceon") == succeeds(8));
    }
    CHECK(event.goes());
}

TEST_CASE("What a name was is forgotten with its event") {
    Word word{0};
    const Event event(unique_name("again"));
    for (const char* fields : {" u32 a", " char[8] b", "", " u32 a; u64 b"}) {
        CAPTURE(fields);
        DataFile file;
        CHECK(file.register_event(&word, 0, event.name() + fields) == succeeds());
        CHECK(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(event.goes());
    }
}

TEST_CASE("The files of an event that were open when it went are files of nothing") {
    // On kernels before 6.6 some of them lead to what is freed.
    const Instance instance;
    const bool in_instance = GENERATE(false, true);
    CAPTURE(in_instance);
    const Event event(unique_name("open_files"));
    const auto path = [&](const char* file) {
        return in_instance ? instance.path("events/user_events/" + event.name() + "/" + file)
                           : event.path(file);
    };
    struct Use {
        const char* file;
        /// What is written; nothing is read.
        const char* text;
        /// On those kernels it is no error, and comes to nothing.
        bool may_pass;
    };
    const Use use = GENERATE(Use{"format", nullptr, false}, Use{"trigger", nullptr, false},
                             Use{"trigger", "stacktrace", false},
                             Use{"trigger", "hist:keys=a", false}, Use{"filter", nullptr, true},
                             Use{"filter", "a > 5", true}, Use{"enable", nullptr, false},
                             Use{"enable", "1", false}, Use{"hist", nullptr, true});
    CAPTURE(use.file, use.text ? use.text : "");
    Descriptor file;
    {
        Word word{0};
        DataFile data;
        data.index_of(&word, 0, event.name() + " u32 a");
        file = Descriptor::open(path(use.file), use.text ? O_WRONLY : O_RDONLY);
    }
    REQUIRE(event.goes());
    // What it was made of is somebody else's by now.
    std::array<Word, 50> words{};
    DataFile others;
    for (Word& word : words)
        others.index_of(&word, 0, unique_name("other") + " u64 b");
    char text[256] = "";
    const Outcome outcome =
        Outcome::of(use.text ? write(file.number(), use.text, std::strlen(use.text))
                             : read(file.number(), text, sizeof(text)));
    CHECK((outcome == fails(ENODEV) || (use.may_pass && outcome.ok())));
    CHECK(std::string(text).empty());
    CHECK(status_count("Busy: ") == 0);
}

TEST_CASE("A probe that stands in our system under an event's name keeps its files") {
    const Event probe(unique_name("probe"));
    const std::string probes = tracing_file("kprobe_events");
    const std::string line = ":" + probe.system() + "/" + probe.name();
    REQUIRE(write_text(probes, "p" + line + " vfs_read", O_APPEND).ok());
    const std::string format = probe.format();
    for (const char* fields : {"", " u32 a"}) {
        CAPTURE(fields);
        Word word{0};
        DataFile file;
        // Whatever it answers: before 6.6 there is no directory for the event.
        file.register_event(&word, 0, probe.name() + fields);
    }
    CHECK(eventually([&] { return status_line(probe.name()).empty(); }));
    CHECK(probe.format() == format);
    CHECK(probe.enable() == succeeds(1));
    CHECK(probe.disable() == succeeds(1));
    CHECK(read_text(probe.path("trigger")).starts_with("#"));
    CHECK(write_text(probes, "-" + line, O_APPEND).ok());
}

TEST_CASE("An event that persists stays") {
    Word word{0};
    const Event event(unique_name("persists"));
    {
        DataFile file;
        const std::uint32_t index =
            file.index_of(&word, 0, event.name() + " u32 a", 4, USER_EVENT_REG_PERSIST);
        Enabled enabled{event};
        CHECK(file.record(index, Payload().add(1u)) == succeeds(8));
    }
    CHECK(stays(event));
    DataFile file;
    CHECK(file.register_event(&word, 0, event.name() + " u64 b") == fails(EADDRINUSE));
    CHECK(file.register_event(&word, 0, event.name() + " u32 a") == succeeds());
    CHECK(file.unregister(&word, 0) == succeeds());
    file.close();
    CHECK(stays(event));
    CHECK(eventually([&] { return DataFile().delete_event(event.name()).ok(); }));
    CHECK(event.goes());
}

TEST_CASE("A file keeps an index and its event after UNREG") {
    Word word{0};
    Instance instance;
    DataFile file;
    const Event event(unique_name("keeps"));
    const std::uint32_t index = file.index_of(&word, 0, event.name() + " u32 a");
    REQUIRE(file.unregister(&word, 0) == succeeds());
    CHECK(file.record(index, Payload().add(1u)) == fails(EBADF));
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(file.record(index, Payload().add(2u)) == succeeds(8));
    CHECK(word == 0);
    CHECK(file.index_of(&word, 0, event.name() + " u32 a") == index);
    CHECK(word == 1);
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 2);
}

TEST_CASE("A file is open until its last descriptor is closed") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("descriptors"));
    const std::uint32_t index = file.index_of(&word, 0, event.name());
    REQUIRE(file.unregister(&word, 0) == succeeds());
    DataFile copy{Descriptor(fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0))};
    file.close();
    CHECK(stays(event));
    {
        Enabled enabled{event};
        CHECK(copy.record(index) == succeeds(4));
    }
    copy.close();
    CHECK(event.goes());
}

TEST_CASE("A file that was passed on keeps its indexes and events") {
    Instance instance;
    const Event event(unique_name("passed"));
    Word word{0};
    auto sender = std::make_unique<Child>([&](Channel& channel) {
        DataFile file;
        const std::uint32_t index = file.index_of(&word, 0, event.name() + " u32 a");
        channel.send(index);
        channel.send_descriptor(file.descriptor());
        channel.receive<char>();
        return 0;
    });
    const auto index = sender->channel().receive<std::uint32_t>();
    DataFile file(sender->channel().receive_descriptor());
    REQUIRE(instance.enable(event) == succeeds());

    CHECK(file.record(index, Payload().add(1u)) == succeeds(8));
    // The registration stays with the memory that it was made for.
    CHECK(file.unregister(&word, 0) == fails(ENOENT));
    CHECK(word == 0);
    sender->channel().send('e');
    REQUIRE(sender->wait() == 0);
    CHECK(stays(event));
    CHECK(file.record(index, Payload().add(2u)) == succeeds(8));
    CHECK(file.index_of(&word, 0, event.name() + " u32 a") == index);
    CHECK(word == 1);

    const auto records = instance.records();
    REQUIRE(records.size() == 2);
    CHECK(records[0].number("a") == 1);
    CHECK(records[1].number("a") == 2);
    CHECK(records[1].pid() == gettid());
}

TEST_CASE("A process that ends leaves nothing behind") {
    const Event event(unique_name("ends"));
    Word word{0};
    const bool closes = GENERATE(false, true);
    const bool killed = GENERATE(false, true);
    CAPTURE(closes, killed);
    Child child([&](Channel& channel) -> int {
        DataFile file;
        file.index_of(&word, 0, event.name());
        if (closes)
            file.close();
        channel.send('r');
        channel.receive<char>();
        // No destructors: what is left is the kernel's to clean up.
        _exit(0);
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    CHECK(stays(event));
    if (killed) {
        child.kill();
    } else {
        child.channel().send('e');
        CHECK(child.wait() == 0);
    }
    CHECK(event.goes());
}

TEST_CASE("The name of an event is free as soon as its only process was waited for") {
    Rounds rounds(2, 40, std::chrono::seconds(5));
    const std::string name = unique_name("free");
    const std::string directory = tracing_file("instances/" + name);
    const bool with_instances = GENERATE(false, true);
    CAPTURE(with_instances);
    std::atomic<unsigned> instances{0};
    std::jthread making([&](const std::stop_token& stop) {
        while (with_instances && !stop.stop_requested())
            instances += mkdir(directory.c_str(), 0755) == 0 && rmdir(directory.c_str()) == 0;
    });

    Word word{0};
    unsigned refused_to_child = 0, refused = 0;
    while (rounds.next()) {
        Child child([&](Channel& channel) -> int {
            DataFile file;
            channel.send(file.register_event(&word, 0, name + " u32 a").error());
            channel.receive<char>();
            // No destructors: what is left is the kernel's to clean up.
            _exit(0);
        });
        refused_to_child += child.channel().receive<int>() != 0;
        if (rounds.begun() % 2 == 0)
            child.channel().send('e');
        else
            kill(child.pid(), SIGKILL);
        if (waitpid(child.pid(), nullptr, 0) != child.pid())
            throw_errno("waitpid");
        DataFile file;
        refused += !file.register_event(&word, 0, name + " u64 b").ok();
    }
    CHECK(refused_to_child == 0);
    CHECK(refused == 0);
    if (with_instances)
        CHECK(eventually([&] { return instances > 0; }));
    making.request_stop();
    making.join();
    CHECK(Event(name).goes());
}

TEST_CASE("A process that ends leaves an event to those who record it") {
    Instance instance;
    const Event event(unique_name("recorded"));
    Word word{0};
    REQUIRE(in_child([&] {
                DataFile file;
                const std::uint32_t index = file.index_of(&word, 0, event.name() + " u32 a");
                expect(instance.enable(event), "enable");
                return file.record(index, Payload().add(77u)).error();
            }) == 0);
    CHECK(stays(event));
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 77);
    CHECK(instance.disable(event) == succeeds());
    CHECK(event.goes());
}

TEST_CASE("exec drops the registrations") {
    const Event event(unique_name("exec"));
    Word word{0};
    // Either way the registration is all that would hold the event: the file goes at exec, or did
    // so before.
    const bool closes = GENERATE(false, true);
    CAPTURE(closes);
    Child child([&](Channel& channel) {
        DataFile file;
        file.index_of(&word, 0, event.name());
        if (closes)
            file.close();
        channel.send('r');
        channel.receive<char>();
        return execute_shell(channel);
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    CHECK(stays(event));
    child.channel().send('e');
    CHECK(event.goes());
    CHECK(runs_cat(child));
}

TEST_CASE("exec of what cannot be executed changes nothing") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("no_exec"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    CHECK(execl("/nonexistent", "nonexistent", nullptr) == -1);
    Enabled enabled{event};
    CHECK(word == 1);
    CHECK(file.unregister(&word, 0) == succeeds());
}

TEST_CASE("A child that ends or execs leaves its parent's registrations alone") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("parent"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    SECTION("forked") {
        CHECK(in_child([] { return 0; }) == 0);
    }
    SECTION("forked, and closing the file") {
        CHECK(in_child([&] {
                  file.close();
                  return 0;
              }) == 0);
    }
    SECTION("spawned, with the memory shared until its exec") {
        CHECK(run_and_wait("/bin/true") == 0);
    }
    {
        Enabled enabled{event};
        CHECK(eventually([&] { return word == 1; }));
    }
    CHECK(eventually([&] { return word == 0; }));
    CHECK(file.register_event(&word, 0, event.name()) == fails(EADDRINUSE));
    CHECK(file.unregister(&word, 0) == succeeds());
    file.close();
    CHECK(event.goes());
}

TEST_CASE("Many processes that come and go leave nothing behind") {
    const std::string topic = unique_name("many");
    Word words[2] = {};
    unsigned failures = 0;
    for (unsigned i = 0; i < fewer(100); i++)
        failures += in_child([&]() -> int {
                        DataFile file;
                        file.index_of(&words[0], 0, topic + "_shared");
                        file.index_of(&words[1], 0, topic + "_own_" + std::to_string(i));
                        _exit(0);
                    }) != 0;
    CHECK(failures == 0);
    CHECK(eventually([&] { return status().find(topic) == std::string::npos; }));
}
