// SPDX-License-Identifier: GPL-2.0-only
// Loading and unloading the module. Unloading fails while anything is in use.
// USER_EVENTS_KO names the module. It may be loaded at the start, and is loaded at the end.
#include "basic_recording.hpp"
#include "bind_mount.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "device.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "perf.hpp"
#include "rule.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace selftest;
using namespace selftest::module;

namespace {

/// The errno of opening a file for reading, or 0.
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

/// Files that exist only while the module is loaded.
const char* const tracing_files[] = {"user_events_data", "user_events_status", "user_events_rules",
                                     "user_events_groups"};
const char* const devices[] = {"/dev/user_events/default", "/dev/user_mark"};
const char* const limit_file = "/proc/sys/kernel/user_events_max";

} // namespace

TEST_CASE("Loading the module a second time fails with EEXIST", "[waits]") {
    Loaded loaded;
    CHECK(load() == fails(EEXIST));
    check_basic_recording();
}

TEST_CASE("Unloading removes all files and events, and the module can be loaded again") {
    Loaded loaded;
    for (const char* file : tracing_files)
        CHECK(exists(tracing_file(file)));
    CHECK(exists(limit_file));
    check_basic_recording();

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
    check_basic_recording();
}

TEST_CASE("The kernel is tainted by loading the module (O), which has no signature (E), until it "
          "reboots") {
    Loaded loaded;
    // Kernels that know no signatures lack the parameter.
    const bool knows_signatures = exists("/sys/module/module/parameters/sig_enforce");
    CHECK(read_text("/sys/module/user_events/taint") == (knows_signatures ? "OE\n" : "O\n"));
    const unsigned long taint = knows_signatures ? 4096 + 8192 : 4096;
    const auto is_tainted = [&] {
        return (std::stoul(read_text("/proc/sys/kernel/tainted")) & taint) == taint;
    };
    CHECK(is_tainted());
    REQUIRE(eventually([] { return unload().ok(); }));
    CHECK(is_tainted());
    REQUIRE(load() == succeeds());
}

TEST_CASE("Unloading loses the limits, and the owners and modes of the files") {
    Loaded loaded;
    struct Limit {
        std::string file, text;
    };
    std::vector<Limit> limits;
    for (const char* name :
         {"user_events_max", "user_events_max_per_user", "user_events_registrations_max_per_user"})
        limits.push_back({std::string("/proc/sys/kernel/") + name,
                          read_text(std::string("/proc/sys/kernel/") + name)});
    std::vector<std::string> files(std::begin(devices), std::end(devices));
    for (const char* file : tracing_files)
        files.push_back(tracing_file(file));
    const auto access = [&] {
        std::vector<std::array<unsigned, 3>> all;
        for (const std::string& file : files) {
            struct stat about;
            REQUIRE(stat(file.c_str(), &about) == 0);
            all.push_back({about.st_mode, about.st_uid, about.st_gid});
        }
        return all;
    };
    const auto before = access();
    for (const Limit& limit : limits)
        REQUIRE(write_text(limit.file, "7").ok());
    for (const std::string& file : files) {
        REQUIRE(chown(file.c_str(), 1, 2) == 0);
        REQUIRE(chmod(file.c_str(), 0604) == 0);
    }
    REQUIRE(eventually([] { return unload().ok(); }));
    REQUIRE(load() == succeeds());
    for (const Limit& limit : limits)
        CHECK(read_text(limit.file) == limit.text);
    CHECK(access() == before);
}

TEST_CASE("Opening a file through an O_PATH descriptor or bind mount after unload fails with EIO",
          "[long]") {
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
        check_basic_recording();
    }
}

TEST_CASE("The module works after many rounds of loading and unloading", "[long]") {
    Loaded loaded;
    REQUIRE(eventually([] { return unload().ok(); }));
    for (Rounds rounds(fewer_if_debug(10, 3), 100, std::chrono::seconds(fewer_if_debug(4, 3)));
         rounds.next();) {
        INFO("round " << rounds.started());
        REQUIRE(load() == succeeds());
        if (rounds.started() % 10 == 0)
            check_basic_recording();
        REQUIRE(eventually([] { return unload().ok(); }));
    }
    REQUIRE(load() == succeeds());
    check_basic_recording();
}

TEST_CASE("The module can be unloaded and loaded while threads read and write dynamic_events",
          "[long]") {
    Loaded loaded;
    const std::string path = tracing_file("dynamic_events");
    const std::string name = unique_name("dynamic");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> created{0}, deleted{0}, read{0};
    std::vector<std::jthread> threads;
    threads.reserve(2);
    threads.emplace_back([&] {
        while (!stop) {
            created += write_text(path, "u:" + name + " u32 a", O_APPEND).ok();
            deleted += write_text(path, "-:" + name, O_APPEND).ok();
        }
    });
    threads.emplace_back([&] {
        while (!stop)
            read += !read_text(path).empty();
    });

    for (Rounds rounds(fewer_if_debug(3, 2), 30, std::chrono::seconds(3)); rounds.next();) {
        INFO("round " << rounds.started());
        const unsigned before = created;
        REQUIRE(eventually([&] { return created > before && read > 0; }));
        REQUIRE(eventually([] { return unload().ok(); }));
        REQUIRE(load() == succeeds());
    }
    stop = true;
    threads.clear();
    CHECK(created > 0);
    CHECK(deleted > 0);
    write_text(path, "-:" + name, O_APPEND);
    CHECK(status_line(name).empty());
    check_basic_recording();
}

TEST_CASE("Unloading fails while an open file, a registration or a recorder uses the module",
          "[long]") {
    Loaded loaded;
    Word word{0};
    const Event event(unique_name("in_use"));

    SECTION("an open user_events_data") {
        DataFile file;
        CHECK(unload_is_refused());
    }
    SECTION("an open device") {
        const DataFile file = open_device(GENERATE(O_RDONLY, O_WRONLY, O_RDWR));
        CHECK(unload_is_refused());
    }
    SECTION("a device that has the indexes of a closed file") {
        DataFile file = open_device();
        REQUIRE(file.share_indexes(DataFile()) == succeeds());
        CHECK(unload_is_refused());
    }
    SECTION("an open user_events_status") {
        const Descriptor file = Descriptor::open(tracing_file("user_events_status"), O_RDONLY);
        CHECK(unload_is_refused());
    }
    SECTION("an open user_events_rules") {
        const Descriptor file = Descriptor::open(tracing_file("user_events_rules"), O_RDONLY);
        CHECK(unload_is_refused());
    }
    SECTION("an open user_events_groups") {
        const Descriptor file = Descriptor::open(tracing_file("user_events_groups"), O_RDONLY);
        CHECK(unload_is_refused());
    }
    SECTION("a registration whose file is closed") {
        DataFile file;
        file.must_register(&word, 0, event.name());
        file.close();
        CHECK(unload_is_refused());
        CHECK(event.exists());
        CHECK(DataFile().unregister(&word, 0) == succeeds());
    }
    SECTION("a registration of another process") {
        Child child([&](Channel& channel) -> int {
            DataFile file;
            file.must_register(&word, 0, event.name());
            file.close();
            channel.send('r');
            channel.receive<char>();
            _exit(0);
        });
        REQUIRE(child.channel().receive<char>() == 'r');
        CHECK(unload_is_refused());
        child.kill();
    }
    SECTION("a registration that only a child still has") {
        std::optional<Child> child;
        {
            DataFile file;
            file.must_register(&word, 0, event.name());
            child.emplace([](Channel& channel) -> int { return channel.receive<char>(); });
            REQUIRE(file.unregister(&word, 0) == succeeds());
        }
        CHECK(unload_is_refused());
        CHECK(event.exists());
        child->kill();
    }
    SECTION("an enabled event without other users") {
        {
            DataFile file;
            file.must_register(&word, 0, event.name());
            REQUIRE(event.enable() == succeeds(1));
        }
        CHECK(event.exists());
        CHECK(unload_is_refused());
        CHECK(event.disable() == succeeds(1));
    }
    SECTION("an event without other users that is enabled in an instance") {
        Instance instance;
        {
            DataFile file;
            file.must_register(&word, 0, event.name());
            REQUIRE(instance.enable(event) == succeeds());
        }
        CHECK(unload_is_refused());
        CHECK(instance.disable(event) == succeeds());
    }
    SECTION("an event whose bit is 0 as the program has written beyond a limit") {
        Instance instance;
        const Rule rule(event.name() + " instance=" + instance.name() + " limit=1/s");
        {
            DataFile file;
            const auto index = file.must_register(&word, 0, event.name());
            CHECK(word == 1);
            CHECK(eventually([&] { return file.record(index).error() == 0 && word == 0; }));
            CHECK(unload_is_refused());
            CHECK(file.unregister(&word, 0) == succeeds());
        }
        CHECK(unload_is_refused());
        // At the end, a work item of the module is still waiting.
    }
    SECTION("an event that perf counts, without other users") {
        std::optional<PerfEvent> perf;
        {
            DataFile file;
            file.must_register(&word, 0, event.name());
            perf.emplace(perf_attributes(event));
        }
        CHECK(event.exists());
        CHECK(unload_is_refused());
    }
    SECTION("an event with a trigger, without other users") {
        {
            DataFile file;
            file.must_register(&word, 0, event.name());
            REQUIRE(write_text(event.path("trigger"), "traceon") == succeeds(7));
        }
        CHECK(unload_is_refused());
        CHECK(write_text(event.path("trigger"), "!traceon") == succeeds(8));
    }

    CHECK(event.wait_removed());
    CHECK(eventually([] { return unload().ok(); }));
}

TEST_CASE("Processes that have unregistered can fork and exit during or after unloading",
          "[long]") {
    constexpr unsigned processes = 8;
    const unsigned rounds = fewer_if_debug(5, 2);
    Loaded loaded;
    const bool during_unload = GENERATE(false, true);
    CAPTURE(during_unload);
    Word word{0};
    const Event event(unique_name("had"));
    unsigned not_unloaded = 0, failed = 0;
    for (unsigned round = 0; round < rounds; round++) {
        std::vector<std::unique_ptr<Child>> children;
        for (unsigned i = 0; i < processes; i++) {
            children.push_back(std::make_unique<Child>([&](Channel& channel) -> int {
                DataFile file;
                file.must_register(&word, 0, event.name());
                const int error = file.unregister(&word, 0).error();
                file.close();
                channel.send('r');
                channel.receive<char>();
                return error + in_child([] { return 0; });
            }));
            children.back()->channel().receive<char>();
        }
        const auto end_children = [&] {
            for (const auto& child : children)
                child->channel().send('e');
        };
        if (during_unload)
            end_children();
        not_unloaded += !eventually([] { return unload().ok(); });
        if (!during_unload)
            end_children();
        for (const auto& child : children)
            failed += child->wait() != 0;
        REQUIRE(load() == succeeds());
    }
    CHECK(not_unloaded == 0);
    CHECK(failed == 0);
    check_basic_recording();
}

// The module learns of forks and exits by ftrace.
TEST_CASE("kernel.ftrace_enabled must be 1 to load the module, and stays so until it is unloaded",
          "[long]") {
    Loaded loaded;
    Setting enabled("/proc/sys/kernel/ftrace_enabled");
    CHECK(write_text("/proc/sys/kernel/ftrace_enabled", "0") == fails(EBUSY));
    check_basic_recording();
    REQUIRE(eventually([] { return unload().ok(); }));
    enabled.set("0");
    CHECK(load() == fails(EBUSY));
    enabled.set("1");
    REQUIRE(load() == succeeds());
    check_basic_recording();
}

TEST_CASE("Unloading removes a persistent event that has no users") {
    Loaded loaded;
    const Event event(unique_name("persists"));
    Word word{0};
    {
        DataFile file;
        file.must_register(&word, 0, event.name() + " u32 a", 4, USER_EVENT_REG_PERSIST);
    }
    REQUIRE(event.exists());
    CHECK(eventually([] { return unload().ok(); }));
    CHECK_FALSE(event.exists());
    REQUIRE(load() == succeeds());
    CHECK_FALSE(event.exists());
    CHECK(status_line(event.name()).empty());
}

TEST_CASE("Unloading clears no trace buffer, and no later event gets an old type number",
          "[long]") {
    Loaded loaded;
    Instance instance;
    const Event event(unique_name("outlived"));
    int number = 0;
    Word word{0};
    {
        DataFile file;
        const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
        REQUIRE(instance.enable(event) == succeeds());
        REQUIRE(file.record(index, Payload().add(1u)) == succeeds(8));
        number = event.id();
        REQUIRE(instance.disable(event) == succeeds());
    }
    REQUIRE(write_text(instance.path("trace_marker"), "of others\n").ok());
    CHECK(instance.trace(event).size() == 1);
    CHECK(eventually([] { return unload().ok(); }));
    const auto check_printed = [&] {
        const std::string printed = read_text(instance.path("trace"));
        CHECK_THAT(printed, Catch::Contains("Unknown type " + std::to_string(number) + "\n"));
        CHECK_THAT(printed, Catch::Contains("of others"));
    };
    check_printed();
    const std::string made = unique_name("made");
    const Definition synthetic("synthetic_events", made + " u32 a", "!" + made);
    CHECK(Event(made, "synthetic").id() != number);
    REQUIRE(load() == succeeds());
    const Event later(unique_name("later"));
    DataFile file;
    file.must_register(&word, 0, later.name() + " __rel_loc char[] a");
    CHECK(later.id() != number);
    check_printed();
    check_basic_recording();
}

// An event probe keeps pointers to the fields of its event.
TEST_CASE("Unloading removes event probes on user events") {
    Loaded loaded;
    const Event event(unique_name("probed")), probe(unique_name("probe"), "selftests");
    const std::string definition = "e:selftests/" + probe.name() + " user_events." + event.name();
    Word word{0};
    {
        DataFile file;
        file.must_register(&word, 0, event.name() + " char[1000] a; u32 b");
        REQUIRE(
            write_text(tracing_file("dynamic_events"), definition + " b=$b:u32", O_APPEND).ok());
    }
    REQUIRE(probe.exists());
    REQUIRE(eventually([] { return unload().ok(); }));
    CHECK_FALSE(dynamic_events_lists("e:"));
    CHECK_FALSE(probe.exists());
    REQUIRE(load() == succeeds());
    check_basic_recording();
}

namespace {

/// Keeps files from being created or removed in a directory: getdents64() holds its lock during a
/// page fault.
class LockedDirectory {
public:
    explicit LockedDirectory(const std::string& path)
        : directory_(Descriptor::open(path, O_RDONLY | O_DIRECTORY)), lister_([this] {
              syscall(SYS_getdents64, directory_.number(), memory_.at(), memory_.size());
          }) {
        if (!eventually([this] { return fault_.has_waiter(); }))
            throw std::runtime_error("nothing lists " + path);
    }
    ~LockedDirectory() { unlock(); }

    void unlock() {
        if (lister_.joinable()) {
            fault_.answer();
            lister_.join();
        }
    }

private:
    Mapping memory_{1};
    Userfault fault_{memory_};
    Descriptor directory_;
    std::jthread lister_;
};

} // namespace

TEST_CASE("Opening the module's files in tracefs fails with ENODEV while it is being loaded") {
    Loaded loaded;
    REQUIRE(eventually([] { return unload().ok(); }));
    // The first device is created after these files.
    LockedDirectory locked("/dev");
    Outcome outcome = fails(EAGAIN);
    std::jthread loader([&] { outcome = load(); });
    for (const char* file : tracing_files) {
        CAPTURE(file);
        CHECK(eventually([&] { return exists(tracing_file(file)); }));
        CHECK(error_of_open(tracing_file(file)) == ENODEV);
    }
    locked.unlock();
    loader.join();
    CHECK(outcome == succeeds());
    check_basic_recording();
}

// The first device is created in a directory that exists; the creation of the second one waits. It
// holds the lock that open() needs, and the mark events are created after that.
TEST_CASE("Opening the first device fails with ENODEV while the module is being loaded", "[long]") {
    Loaded loaded;
    REQUIRE(eventually([] { return unload().ok(); }));
    REQUIRE(mkdir("/dev/user_events", 0755) == 0);
    CHECK(eventually([] {
        eventually([] { return !is_loaded() || unload().ok(); });
        LockedDirectory locked("/dev");
        Outcome outcome = fails(EAGAIN);
        std::jthread loader([&] { outcome = load(); });
        eventually([] { return exists(devices[0]); });
        int error = 0;
        std::atomic<pid_t> number{0};
        std::atomic<bool> opened{false}, ends{false};
        std::jthread opener([&] {
            number = gettid();
            error = error_of_open(devices[0]);
            opened = true;
            ends.wait(false);
        });
        // Until open() waits, or has returned.
        eventually([&] { return opened || (number != 0 && state_of(getpid(), number) != 'R'); });
        locked.unlock();
        ends = true;
        ends.notify_one();
        opener.join();
        loader.join();
        expect(outcome, "load");
        return error == ENODEV;
    }));
    REQUIRE(eventually([] { return unload().ok(); }));
    CHECK(rmdir("/dev/user_events") == 0);
    REQUIRE(load() == succeeds());
    check_basic_recording();
}

// The device exists before the module is ready: the module then creates the events of marks.
TEST_CASE("Opening the device of the marks fails with ENODEV while the module is being loaded",
          "[long]") {
    Loaded loaded;
    CHECK(eventually([] {
        if (!eventually([] { return !is_loaded() || unload().ok(); }))
            throw std::runtime_error("the module is not unloaded");
        Outcome outcome = fails(EAGAIN);
        std::atomic<bool> returned{false};
        std::jthread loader([&] {
            outcome = load();
            returned = true;
        });
        int error = ENOENT;
        while (error == ENOENT && !returned)
            error = error_of_open(devices[1]);
        loader.join();
        expect(outcome, "load");
        return error == ENODEV;
    }));
    check_basic_recording();
}

TEST_CASE("The module's files cannot be opened while unloading waits to remove one of them") {
    Loaded loaded;
    LockedDirectory locked(tracing_file(""));
    bool unloaded = false;
    std::jthread unloader([&] { unloaded = eventually([] { return unload().ok(); }); });
    // On 6.1, the file that is being removed has no name any more.
    const auto is_inaccessible = [](int error) { return error == EIO || error == ENOENT; };
    for (const char* file : tracing_files) {
        CAPTURE(file);
        const std::string path = tracing_file(file);
        struct stat about;
        CHECK(
            eventually([&] { return stat(path.c_str(), &about) != 0 && is_inaccessible(errno); }));
        CHECK(is_inaccessible(error_of_open(path)));
    }
    for (const char* device : devices) {
        CAPTURE(device);
        const int error = error_of_open(device);
        CHECK((error == ENODEV || error == ENXIO));
    }
    locked.unlock();
    unloader.join();
    CHECK(unloaded);
    REQUIRE(load() == succeeds());
    check_basic_recording();
}

TEST_CASE("The module can be unloaded while files of a removed event are open") {
    Loaded loaded;
    const Instance instance;
    const Event event(unique_name("open"));
    const std::string paths[] = {event.path(""), instance.path(event, "")};
    std::vector<Descriptor> triggers, filters;
    {
        Word word{0};
        DataFile file;
        file.must_register(&word, 0, event.name() + " u32 a");
        for (const std::string& path : paths) {
            triggers.push_back(Descriptor::open(path + "trigger", O_WRONLY));
            filters.push_back(Descriptor::open(path + "filter", O_WRONLY));
        }
    }
    REQUIRE(event.wait_removed());
    REQUIRE(eventually([] { return unload().ok(); }));
    for (const Descriptor& file : triggers)
        CHECK(Outcome::of(write(file.number(), "stacktrace", 10)) == fails(ENODEV));
    for (const Descriptor& file : filters) {
        const Outcome outcome = Outcome::of(write(file.number(), "a > 5", 5));
        // Before 6.6, writing the filter of a removed event succeeds.
        CHECK((outcome == fails(ENODEV) || outcome.ok()));
    }
    REQUIRE(load() == succeeds());
    check_basic_recording();
}
