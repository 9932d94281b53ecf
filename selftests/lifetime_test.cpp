// SPDX-License-Identifier: GPL-2.0-only
// The lifetime of events and registrations: what keeps an event in use, and when it is removed.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>

using namespace selftest;

namespace {

/// Whether an event still exists after an event that was created later has been removed.
bool stays(const Event& event) {
    const Event later(unique_name("later"));
    {
        Word word{0};
        DataFile file;
        file.must_register(&word, 0, later.name());
    }
    return later.wait_removed() && event.exists() && !status_line(event.name()).empty();
}

/// Executes a shell that runs until the other end of the channel is closed, or returns the errno.
int execute_shell(Channel& channel) {
    if (dup2(channel.descriptor(), STDIN_FILENO) < 0)
        return errno;
    // The channel is a packet socket, which cat reads until the other end is closed.
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

TEST_CASE("An event is removed with its last user", "[race][slow]") {
    Word word{0};
    DataFile file, other;
    const Event event(unique_name("last"));
    file.must_register(&word, 0, event.name() + " u32 a");

    SECTION("an open file") {
        REQUIRE(file.unregister(&word, 0) == succeeds());
        CHECK(stays(event));
        file.close();
    }
    SECTION("the second of two open files") {
        other.must_register(&word, 1, event.name() + " u32 a");
        REQUIRE(file.unregister(&word, 0) == succeeds());
        REQUIRE(file.unregister(&word, 1) == succeeds());
        file.close();
        CHECK(stays(event));
        other.close();
    }
    SECTION("a registration") {
        file.close();
        CHECK(stays(event));
        REQUIRE(other.unregister(&word, 0) == succeeds());
    }
    SECTION("the second of two registrations") {
        REQUIRE(other.register_event(&word, 1, event.name() + " u32 a") == succeeds());
        file.close();
        other.close();
        DataFile third;
        REQUIRE(third.unregister(&word, 0) == succeeds());
        CHECK(stays(event));
        REQUIRE(third.unregister(&word, 1) == succeeds());
    }
    SECTION("the top-level instance") {
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(stays(event));
        CHECK(event.disable() == succeeds(1));
    }
    SECTION("an instance that is removed") {
        Instance instance;
        REQUIRE(instance.enable(event) == succeeds());
        REQUIRE(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(stays(event));
    }
    SECTION("a trigger") {
        REQUIRE(write_text(event.path("trigger"), "traceon") == succeeds(7));
        REQUIRE(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(stays(event));
        REQUIRE(write_text(event.path("trigger"), "!traceon") == succeeds(8));
    }
    CHECK(event.wait_removed());
}

TEST_CASE("After an event is removed, its name can be registered with other fields") {
    Word word{0};
    const Event event(unique_name("again"));
    for (const char* fields : {" u32 a", " char[8] b", "", " u32 a; u64 b"}) {
        CAPTURE(fields);
        DataFile file;
        CHECK(file.register_event(&word, 0, event.name() + fields) == succeeds());
        CHECK(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(event.wait_removed());
    }
}

TEST_CASE("Open tracefs files of a removed event fail with ENODEV or have no effect", "[long]") {
    // On kernels before 6.6, some of these files refer to freed memory.
    const Instance instance;
    const bool in_instance = GENERATE(false, true);
    CAPTURE(in_instance);
    const Event event(unique_name("open_files"));
    const auto path = [&](const char* file) {
        return in_instance ? instance.path(event, file) : event.path(file);
    };
    struct Use {
        const char* file;
        /// The text to write, or null to read.
        const char* text;
        /// On those kernels, the call can succeed without any effect.
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
        data.must_register(&word, 0, event.name() + " u32 a");
        file = Descriptor::open(path(use.file), use.text ? O_WRONLY : O_RDONLY);
    }
    REQUIRE(event.wait_removed());
    // Make the kernel reuse the memory of the removed event.
    std::array<Word, 50> words{};
    DataFile other_events;
    for (Word& word : words)
        other_events.must_register(&word, 0, unique_name("other") + " u64 b");
    char text[256] = "";
    const Outcome outcome =
        Outcome::of(use.text ? write(file.number(), use.text, std::strlen(use.text))
                             : read(file.number(), text, sizeof(text)));
    CHECK((outcome == fails(ENODEV) || (use.may_pass && outcome.ok())));
    CHECK(std::string(text).empty());
    CHECK(status_count("Busy: ") == 0);
}

TEST_CASE("REG of a name used by a kprobe in the system user_events keeps the kprobe's files") {
    const Event probe(unique_name("probe"));
    const std::string probes = tracing_file("kprobe_events");
    const std::string line = ":" + probe.system() + "/" + probe.name();
    REQUIRE(write_text(probes, "p" + line + " vfs_read", O_APPEND).ok());
    const std::string format = probe.format();
    for (const char* fields : {"", " u32 a"}) {
        CAPTURE(fields);
        Word word{0};
        DataFile file;
        // The result depends on the kernel: before 6.6, the event gets no directory.
        file.register_event(&word, 0, probe.name() + fields);
    }
    CHECK(eventually([&] { return status_line(probe.name()).empty(); }));
    CHECK(probe.format() == format);
    CHECK(probe.enable() == succeeds(1));
    CHECK(probe.disable() == succeeds(1));
    CHECK(read_text(probe.path("trigger")).starts_with("#"));
    CHECK(write_text(probes, "-" + line, O_APPEND).ok());
}

TEST_CASE("A persistent event remains without users") {
    Word word{0};
    const Event event(unique_name("persists"));
    {
        DataFile file;
        const std::uint32_t index =
            file.must_register(&word, 0, event.name() + " u32 a", 4, USER_EVENT_REG_PERSIST);
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
    CHECK(event.wait_removed());
}

TEST_CASE("PERSIST has no effect on an event that exists, nor has its absence") {
    const bool persists = GENERATE(false, true);
    CAPTURE(persists);
    const unsigned persist = USER_EVENT_REG_PERSIST;
    Word word{0};
    const Event event(unique_name("creator"));
    {
        DataFile file, other;
        file.must_register(&word, 0, event.name() + " u32 a", 4, persists ? persist : 0);
        other.must_register(&word, 1, event.name() + " u32 a", 4, persists ? 0 : persist);
    }
    if (persists) {
        CHECK(stays(event));
        CHECK(eventually([&] { return DataFile().delete_event(event.name()).ok(); }));
    }
    CHECK(event.wait_removed());
}

TEST_CASE("An open file keeps an index and its event after UNREG") {
    Word word{0};
    Instance instance;
    DataFile file;
    const Event event(unique_name("keeps"));
    const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
    REQUIRE(file.unregister(&word, 0) == succeeds());
    CHECK(file.record(index, Payload().add(1u)) == fails(EBADF));
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(file.record(index, Payload().add(2u)) == succeeds(8));
    CHECK(word == 0);
    CHECK(file.must_register(&word, 0, event.name() + " u32 a") == index);
    CHECK(word == 1);
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 2);
}

TEST_CASE("A file keeps its event until its last descriptor is closed") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("descriptors"));
    const std::uint32_t index = file.must_register(&word, 0, event.name());
    REQUIRE(file.unregister(&word, 0) == succeeds());
    DataFile copy{Descriptor(fcntl(file.descriptor(), F_DUPFD_CLOEXEC, 0))};
    file.close();
    CHECK(stays(event));
    {
        Enabled enabled{event};
        CHECK(copy.record(index) == succeeds(4));
    }
    copy.close();
    CHECK(event.wait_removed());
}

TEST_CASE("A file passed to another process keeps its indexes and events") {
    Instance instance;
    const Event event(unique_name("passed"));
    Word word{0};
    auto sender = std::make_unique<Child>([&](Channel& channel) {
        DataFile file;
        const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
        channel.send(index);
        channel.send_descriptor(file.descriptor());
        channel.receive<char>();
        return 0;
    });
    const auto index = sender->channel().receive<std::uint32_t>();
    DataFile file(sender->channel().receive_descriptor());
    REQUIRE(instance.enable(event) == succeeds());

    CHECK(file.record(index, Payload().add(1u)) == succeeds(8));
    // The registration belongs to the address space of the sender.
    CHECK(file.unregister(&word, 0) == fails(ENOENT));
    CHECK(word == 0);
    sender->channel().send('e');
    REQUIRE(sender->wait() == 0);
    CHECK(stays(event));
    CHECK(file.record(index, Payload().add(2u)) == succeeds(8));
    CHECK(file.must_register(&word, 0, event.name() + " u32 a") == index);
    CHECK(word == 1);

    const auto records = instance.records();
    REQUIRE(records.size() == 2);
    CHECK(records[0].number("a") == 1);
    CHECK(records[1].number("a") == 2);
    CHECK(records[1].pid() == gettid());
}

TEST_CASE("An event is removed when its only process exits or is killed") {
    const Event event(unique_name("ends"));
    Word word{0};
    const bool closes = GENERATE(false, true);
    const bool killed = GENERATE(false, true);
    CAPTURE(closes, killed);
    Child child([&](Channel& channel) -> int {
        DataFile file;
        file.must_register(&word, 0, event.name());
        if (closes)
            file.close();
        channel.send('r');
        channel.receive<char>();
        // Run no destructors: the kernel has to clean up.
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
    CHECK(event.wait_removed());
}

TEST_CASE("The name of an event is free as soon as its only process has been reaped", "[long]") {
    Rounds rounds(2, 40, std::chrono::seconds(5));
    const std::string name = unique_name("free");
    const std::string directory = tracing_file("instances/" + name);
    const bool with_instances = GENERATE(false, true);
    CAPTURE(with_instances);
    std::atomic<unsigned> instances{0};
    std::jthread creating_instances([&](const std::stop_token& stop) {
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
            // Run no destructors: the kernel has to clean up.
            _exit(0);
        });
        refused_to_child += child.channel().receive<int>() != 0;
        if (rounds.started() % 2 == 0)
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
    creating_instances.request_stop();
    creating_instances.join();
    CHECK(Event(name).wait_removed());
}

TEST_CASE("A recorder keeps the event and its records after the only process has exited") {
    Instance instance;
    const Event event(unique_name("recorded"));
    Word word{0};
    REQUIRE(in_child([&] {
                DataFile file;
                const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
                expect(instance.enable(event), "enable");
                return file.record(index, Payload().add(77u)).error();
            }) == 0);
    CHECK(stays(event));
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 77);
    CHECK(instance.disable(event) == succeeds());
    CHECK(event.wait_removed());
}

TEST_CASE("exec removes the registrations and thereby the event") {
    const Event event(unique_name("exec"));
    Word word{0};
    // The file is closed before or during exec. Only the registration could keep the event.
    const bool closes = GENERATE(false, true);
    const bool in_thread = GENERATE(false, true);
    CAPTURE(closes, in_thread);
    Child child([&](Channel& channel) {
        DataFile file;
        file.must_register(&word, 0, event.name());
        if (closes)
            file.close();
        channel.send('r');
        channel.receive<char>();
        if (in_thread)
            std::thread([&] { _exit(execute_shell(channel)); }).join();
        return execute_shell(channel);
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    CHECK(stays(event));
    child.channel().send('e');
    CHECK(event.wait_removed());
    CHECK(runs_cat(child));
}

TEST_CASE("An event is removed when its only process unmaps all of its memory") {
    const Event event(unique_name("unmaps"));
    Word word{0};
    Child child([&](Channel&) -> int {
        DataFile file;
        file.must_register(&word, 0, event.name());
        // All of the address space but its last page, which no program can map. A size of more
        // bits than the processor has is EINVAL.
        for (unsigned bits = 57; bits >= 47; bits--)
            syscall(SYS_munmap, nullptr, (1UL << bits) - page_size);
        return 1;
    });
    CHECK(child.wait() == -SIGSEGV);
    CHECK(event.wait_removed());
}

TEST_CASE("An exec that fails keeps the registrations") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("no_exec"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    CHECK(execl("/nonexistent", "nonexistent", nullptr) == -1);
    Enabled enabled{event};
    CHECK(word == 1);
    CHECK(file.unregister(&word, 0) == succeeds());
}

TEST_CASE("Exit or exec of a child does not affect its parent's registrations") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("parent"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    SECTION("the child exits") {
        CHECK(in_child([] { return 0; }) == 0);
    }
    SECTION("the child closes the file and exits") {
        CHECK(in_child([&] {
                  file.close();
                  return 0;
              }) == 0);
    }
    SECTION("the child of posix_spawn shares the memory until exec") {
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
    CHECK(event.wait_removed());
}

TEST_CASE("Many short-lived processes leave no event behind") {
    const std::string topic = unique_name("many");
    Word words[2] = {};
    unsigned failures = 0;
    for (unsigned i = 0; i < fewer_if_debug(100); i++)
        failures += in_child([&]() -> int {
                        DataFile file;
                        file.must_register(&words[0], 0, topic + "_shared");
                        file.must_register(&words[1], 0, topic + "_own_" + std::to_string(i));
                        _exit(0);
                    }) != 0;
    CHECK(failures == 0);
    CHECK(eventually([&] { return status().find(topic) == std::string::npos; }));
}
