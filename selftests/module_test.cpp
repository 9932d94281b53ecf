// SPDX-License-Identifier: GPL-2.0-only
// Loading and unloading the module: refused while anything is in use, complete otherwise.
// USER_EVENTS_KO names the module, which may be loaded already. It is loaded at the end.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"
#include "works.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace selftest;
using namespace selftest::module;

namespace {

bool refused_as_busy(const Outcome& outcome) {
    return outcome == fails(EWOULDBLOCK) || outcome == fails(EBUSY);
}

/// The errno with which a file opens for reading; 0 for none.
int error_of_open(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file.number() < 0 ? errno : 0;
}

bool dynamic_events_lists(const std::string& prefix) {
    for (const std::string& line : lines_of(read_text(tracing_file("dynamic_events"))))
        if (line.starts_with(prefix))
            return true;
    return false;
}

/// A file that can be had at another path as well.
class BindMount {
public:
    explicit BindMount(const std::string& file) : path_("/tmp/" + unique_name("mounted")) {
        expect(write_text(path_, "", O_CREAT), path_);
        if (mount(file.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) != 0)
            throw_errno("bind " + file);
    }
    BindMount(const BindMount&) = delete;
    BindMount& operator=(const BindMount&) = delete;
    ~BindMount() {
        umount(path_.c_str());
        unlink(path_.c_str());
    }
    const std::string& path() const { return path_; }

private:
    const std::string path_;
};

/// What stands there while the module is loaded, and not otherwise.
const char* const tracing_files[] = {"user_events_data", "user_events_status"};
const char* const limit_file = "/proc/sys/kernel/user_events_max";

} // namespace

TEST_CASE("The module loads once") {
    Loaded loaded;
    CHECK(load() == fails(EEXIST));
    check_that_it_works();
}

TEST_CASE("Unloading takes everything back, and loading brings it again") {
    Loaded loaded;
    for (const char* file : tracing_files)
        CHECK(exists(tracing_file(file)));
    CHECK(exists(limit_file));
    check_that_it_works();

    REQUIRE(eventually([] { return unload().ok(); }));
    for (const char* file : tracing_files) {
        CAPTURE(file);
        CHECK(error_of_open(tracing_file(file)) == ENOENT);
    }
    CHECK(error_of_open(limit_file) == ENOENT);
    CHECK_FALSE(exists(tracing_file("events/user_events")));
    CHECK_FALSE(exists(tracing_file("events/user_events_multi")));
    CHECK_FALSE(dynamic_events_lists("u:"));
    CHECK_FALSE(is_loaded());

    REQUIRE(load() == succeeds());
    check_that_it_works();
}

TEST_CASE("Files that somebody has kept lead nowhere once the module is unloaded") {
    Loaded loaded;
    for (const char* file : tracing_files) {
        CAPTURE(file);
        const Descriptor kept(::open(tracing_file(file).c_str(), O_PATH | O_CLOEXEC));
        const std::string handle = "/proc/self/fd/" + std::to_string(kept.number());
        const BindMount mounted(tracing_file(file));
        REQUIRE(error_of_open(handle) == 0);
        REQUIRE(error_of_open(mounted.path()) == 0);

        REQUIRE(eventually([] { return unload().ok(); }));
        CHECK(error_of_open(handle) == EIO);
        CHECK(error_of_open(mounted.path()) == EIO);
        REQUIRE(load() == succeeds());
        CHECK(error_of_open(handle) == EIO);
        CHECK(error_of_open(mounted.path()) == EIO);
        check_that_it_works();
    }
}

TEST_CASE("The module loads and unloads again and again") {
    Loaded loaded;
    REQUIRE(eventually([] { return unload().ok(); }));
    for (Rounds rounds(fewer(10, 3), 100, std::chrono::seconds(fewer(4, 3))); rounds.next();) {
        INFO("round " << rounds.begun());
        REQUIRE(load() == succeeds());
        if (rounds.begun() % 10 == 0)
            check_that_it_works();
        REQUIRE(eventually([] { return unload().ok(); }));
    }
    REQUIRE(load() == succeeds());
    check_that_it_works();
}

TEST_CASE("The module comes and goes while others read and write dynamic_events") {
    Loaded loaded;
    const std::string path = tracing_file("dynamic_events");
    const std::string name = unique_name("dynamic");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> made{0}, unmade{0}, read{0};
    std::vector<std::jthread> others;
    others.reserve(2);
    others.emplace_back([&] {
        while (!stop) {
            made += write_text(path, "u:" + name + " u32 a", O_APPEND).ok();
            unmade += write_text(path, "-:" + name, O_APPEND).ok();
        }
    });
    others.emplace_back([&] {
        while (!stop)
            read += !read_text(path).empty();
    });

    for (Rounds rounds(fewer(5, 2), 30, std::chrono::seconds(fewer(4, 3))); rounds.next();) {
        INFO("round " << rounds.begun());
        const unsigned before = made;
        // Both have been at work with the module there.
        REQUIRE(eventually([&] { return made > before && read > 0; }));
        REQUIRE(eventually([] { return unload().ok(); }));
        REQUIRE(load() == succeeds());
    }
    stop = true;
    others.clear();
    CHECK(made > 0);
    CHECK(unmade > 0);
    write_text(path, "-:" + name, O_APPEND);
    CHECK(status_line(name).empty());
    check_that_it_works();
}

TEST_CASE("Unloading is refused while something is in use") {
    Loaded loaded;
    Word word{0};
    const Event event(unique_name("in_use"));

    SECTION("user_events_data, open") {
        DataFile file;
        CHECK(refused_as_busy(unload()));
    }
    SECTION("user_events_status, open") {
        const Descriptor file = Descriptor::open(tracing_file("user_events_status"), O_RDONLY);
        CHECK(refused_as_busy(unload()));
    }
    SECTION("a registration, its file closed") {
        DataFile file;
        file.index_of(&word, 0, event.name());
        file.close();
        CHECK(refused_as_busy(unload()));
        CHECK(event.exists());
        CHECK(DataFile().unregister(&word, 0) == succeeds());
    }
    SECTION("the registration of another process") {
        Child child([&](Channel& channel) -> int {
            DataFile file;
            file.index_of(&word, 0, event.name());
            file.close();
            channel.send('r');
            channel.receive<char>();
            _exit(0);
        });
        REQUIRE(child.channel().receive<char>() == 'r');
        CHECK(refused_as_busy(unload()));
        child.kill();
    }
    SECTION("an event that is enabled, and nothing else") {
        {
            DataFile file;
            file.index_of(&word, 0, event.name());
            REQUIRE(event.enable() == succeeds(1));
        }
        CHECK(event.exists());
        CHECK(refused_as_busy(unload()));
        CHECK(event.disable() == succeeds(1));
    }
    SECTION("an event that is enabled in an instance, and nothing else") {
        Instance instance;
        {
            DataFile file;
            file.index_of(&word, 0, event.name());
            REQUIRE(instance.enable(event) == succeeds());
        }
        CHECK(refused_as_busy(unload()));
        CHECK(instance.disable(event) == succeeds());
    }
    SECTION("an event with a trigger, and nothing else") {
        {
            DataFile file;
            file.index_of(&word, 0, event.name());
            REQUIRE(write_text(event.path("trigger"), "traceon") == succeeds(7));
        }
        CHECK(refused_as_busy(unload()));
        CHECK(write_text(event.path("trigger"), "!traceon") == succeeds(8));
    }

    CHECK(event.goes());
    CHECK(eventually([] { return unload().ok(); }));
}

TEST_CASE("Processes that had registrations outlive the module, and end while it is unloaded") {
    constexpr unsigned processes = 8;
    const unsigned rounds = fewer(10, 2);
    Loaded loaded;
    const bool at_once = GENERATE(false, true);
    CAPTURE(at_once);
    Word word{0};
    const Event event(unique_name("had"));
    unsigned left = 0, failed = 0;
    for (unsigned round = 0; round < rounds; round++) {
        std::vector<std::unique_ptr<Child>> children;
        for (unsigned i = 0; i < processes; i++) {
            children.push_back(std::make_unique<Child>([&](Channel& channel) -> int {
                DataFile file;
                file.index_of(&word, 0, event.name());
                const int error = file.unregister(&word, 0).error();
                file.close();
                channel.send('r');
                channel.receive<char>();
                // A fork, and an end, with the module or without it.
                return error + in_child([] { return 0; });
            }));
            children.back()->channel().receive<char>();
        }
        const auto end = [&] {
            for (const auto& child : children)
                child->channel().send('e');
        };
        if (at_once)
            end();
        left += !eventually([] { return unload().ok(); });
        if (!at_once)
            end();
        for (const auto& child : children)
            failed += child->wait() != 0;
        REQUIRE(load() == succeeds());
    }
    CHECK(left == 0);
    CHECK(failed == 0);
    check_that_it_works();
}

TEST_CASE("An event that persists and that nobody uses goes with the module") {
    Loaded loaded;
    const Event event(unique_name("persists"));
    Word word{0};
    {
        DataFile file;
        file.index_of(&word, 0, event.name() + " u32 a", 4, USER_EVENT_REG_PERSIST);
    }
    REQUIRE(event.exists());
    CHECK(eventually([] { return unload().ok(); }));
    CHECK_FALSE(event.exists());
    REQUIRE(load() == succeeds());
    CHECK_FALSE(event.exists());
    CHECK(status_line(event.name()).empty());
}

TEST_CASE("Records go with the module, which alone can read them") {
    Loaded loaded;
    Instance instance;
    const Event event(unique_name("outlived"));
    Word word{0};
    {
        DataFile file;
        const std::uint32_t index = file.index_of(&word, 0, event.name() + " u32 a");
        REQUIRE(instance.enable(event) == succeeds());
        REQUIRE(file.record(index, Payload().add(1u)) == succeeds(8));
        REQUIRE(instance.disable(event) == succeeds());
    }
    CHECK(instance.trace(event).size() == 1);
    CHECK(eventually([] { return unload().ok(); }));
    const auto records = [&] {
        return std::ranges::count_if(lines_of(read_text(instance.path("trace"))),
                                     [](const std::string& line) { return line[0] != '#'; });
    };
    CHECK(records() == 0);
    REQUIRE(load() == succeeds());
    CHECK(records() == 0);
    check_that_it_works();
}

// A probe has pointers to the fields of the event that it was made for, and looks that up by name.
TEST_CASE("Event probes go with the module") {
    Loaded loaded;
    const Event event(unique_name("probed")), probe(unique_name("probe"), "selftests");
    const std::string definition = "e:selftests/" + probe.name() + " user_events." + event.name();
    Word word{0};
    {
        DataFile file;
        file.index_of(&word, 0, event.name() + " char[1000] a; u32 b");
        REQUIRE(
            write_text(tracing_file("dynamic_events"), definition + " b=$b:u32", O_APPEND).ok());
    }
    REQUIRE(probe.exists());
    REQUIRE(eventually([] { return unload().ok(); }));
    CHECK_FALSE(dynamic_events_lists("e:"));
    CHECK_FALSE(probe.exists());
    REQUIRE(load() == succeeds());
    check_that_it_works();
}

// Who lists the directory has it locked, and can be made to wait.
TEST_CASE("Files are shut before they are taken out of their directory") {
    Loaded loaded;
    Mapping memory(1);
    Userfault fault(memory);
    const Descriptor directory = Descriptor::open(tracing_file(""), O_RDONLY | O_DIRECTORY);
    std::jthread lister(
        [&] { syscall(SYS_getdents64, directory.number(), memory.at(), memory.size()); });
    REQUIRE(eventually([&] { return fault.is_waited_for(); }));
    std::jthread unloader([] { CHECK(eventually([] { return unload().ok(); })); });
    // The one that is being taken out has no name any more, on 6.1.
    const auto is_shut = [](int error) { return error == EIO || error == ENOENT; };
    for (const char* file : tracing_files) {
        CAPTURE(file);
        const std::string path = tracing_file(file);
        struct stat about;
        CHECK(eventually([&] { return stat(path.c_str(), &about) != 0 && is_shut(errno); }));
        CHECK(is_shut(error_of_open(path)));
    }
    fault.answer();
    lister.join();
    unloader.join();
    REQUIRE(load() == succeeds());
    check_that_it_works();
}

TEST_CASE("Files of an event that has gone may be open when the module goes") {
    Loaded loaded;
    const Instance instance;
    const Event event(unique_name("open"));
    const std::string paths[] = {event.path(""),
                                 instance.path("events/user_events/" + event.name() + "/")};
    std::vector<Descriptor> triggers, filters;
    {
        Word word{0};
        DataFile file;
        file.index_of(&word, 0, event.name() + " u32 a");
        for (const std::string& path : paths) {
            triggers.push_back(Descriptor::open(path + "trigger", O_WRONLY));
            filters.push_back(Descriptor::open(path + "filter", O_WRONLY));
        }
    }
    REQUIRE(event.goes());
    REQUIRE(eventually([] { return unload().ok(); }));
    for (const Descriptor& file : triggers)
        CHECK(Outcome::of(write(file.number(), "stacktrace", 10)) == fails(ENODEV));
    for (const Descriptor& file : filters) {
        const Outcome outcome = Outcome::of(write(file.number(), "a > 5", 5));
        // No error before 6.6.
        CHECK((outcome == fails(ENODEV) || outcome.ok()));
    }
    REQUIRE(load() == succeeds());
    check_that_it_works();
}
