// SPDX-License-Identifier: GPL-2.0-only
// Other parts of the kernel work on a registered program at the same time: they stop it, dump or
// reap its memory, move its pages, or take a CPU away.
#include "catch.hpp"
#include "child.hpp"
#include "control_group.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "kernel_log.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "overlaps.hpp"
#include "registered.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <csignal>
#include <linux/seccomp.h>
#include <memory>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

using namespace selftest;

namespace {

/// Enables and disables an event in a thread, for as long as the object lives.
class Toggling {
public:
    Toggling(const Event& event, const SharedOverlaps& overlaps)
        : thread_([&event, &overlaps, this](const std::stop_token& stop) {
              while (!stop.stop_requested())
                  overlaps->theirs([&] {
                      failures_ += !event.enable().ok();
                      failures_ += !event.disable().ok();
                  });
          }) {}

    /// Stops the thread. Returns how many changes have failed.
    unsigned failures() {
        thread_ = {};
        return failures_;
    }

private:
    unsigned failures_ = 0;
    std::jthread thread_;
};

/// A program with a registered word in private memory. It does nothing more.
class Program {
public:
    /// The program calls `prepare` before it registers.
    explicit Program(
        const Event& event, const std::function<void()>& prepare = [] {})
        : child_([&](Channel& channel) {
              prepare();
              Word word{0};
              DataFile file;
              file.must_register(&word, 0, event.name());
              channel.send(&word);
              channel.receive<char>();
              return 0;
          }),
          word_(child_.channel().receive<const void*>()) {}

    pid_t pid() const { return child_.pid(); }
    /// Reads the word as a debugger would, also while the program cannot run.
    std::uint32_t word() const {
        const Descriptor memory =
            Descriptor::open("/proc/" + std::to_string(pid()) + "/mem", O_RDONLY);
        std::uint32_t word = 0;
        if (pread(memory.number(), &word, sizeof(word), reinterpret_cast<off_t>(word_)) !=
            sizeof(word))
            throw_errno("read the program's word");
        return word;
    }
    void kill() { child_.kill(); }
    Child& child() { return child_; }

private:
    Child child_;
    const void* word_;
};

/// Keeps a program from running for as long as the object lives.
class Stopped {
public:
    Stopped() = default;
    Stopped(const Stopped&) = delete;
    Stopped& operator=(const Stopped&) = delete;
    virtual ~Stopped() = default;
};

class StoppedBySignal : public Stopped {
public:
    explicit StoppedBySignal(Program& program, const ControlGroup&) : pid_(program.pid()) {
        if (kill(pid_, SIGSTOP) != 0)
            throw_errno("SIGSTOP");
        if (!eventually([&] { return state_of(pid_, pid_) == 'T'; }))
            throw std::runtime_error("the program does not stop");
    }
    ~StoppedBySignal() override { kill(pid_, SIGCONT); }

private:
    pid_t pid_;
};

class StoppedByDebugger : public Stopped {
public:
    explicit StoppedByDebugger(Program& program, const ControlGroup&) : pid_(program.pid()) {
        if (ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr) != 0 ||
            ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) != 0)
            throw_errno("ptrace");
        int status = 0;
        if (waitpid(pid_, &status, __WALL) != pid_ || !WIFSTOPPED(status))
            throw std::runtime_error("the program does not stop");
    }
    ~StoppedByDebugger() override { ptrace(PTRACE_DETACH, pid_, nullptr, nullptr); }

private:
    pid_t pid_;
};

class Frozen : public Stopped {
public:
    explicit Frozen(Program&, const ControlGroup& group) : group_(group) {
        group_.set("cgroup.freeze", "1");
        if (!eventually([&] { return has_line(group_.read("cgroup.events"), "frozen 1"); }))
            throw std::runtime_error("the control group does not freeze");
    }
    ~Frozen() override { group_.set("cgroup.freeze", "0"); }

private:
    const ControlGroup& group_;
};

/// The program's core is piped to a process that does not read it.
class DumpingCore : public Stopped {
public:
    ~DumpingCore() override {
        // The kernel has started it, so nothing else ends it.
        in_child([] { return execlp("pkill", "pkill", "-f", "sleep 1000", nullptr); });
    }
    explicit DumpingCore(Program& program, const ControlGroup&) {
        pattern_.set("|/bin/busybox sleep 1000");
        kill(program.pid(), SIGQUIT);
        if (!eventually([&] { return dumps(program.pid()); }))
            throw std::runtime_error("the program does not dump its core");
    }

private:
    static bool dumps(pid_t pid) {
        return has_line(read_text("/proc/" + std::to_string(pid) + "/status"), "CoreDumping:\t1");
    }

    Setting pattern_{"/proc/sys/kernel/core_pattern"};
};

struct Way {
    const char* name;
    std::unique_ptr<Stopped> (*stop)(Program&, const ControlGroup&);
    bool ends;
};

template <typename T>
Way way(const char* name, bool ends = false) {
    return {name,
            [](Program& program, const ControlGroup& group) -> std::unique_ptr<Stopped> {
                return std::make_unique<T>(program, group);
            },
            ends};
}

const Way ways[] = {way<StoppedBySignal>("SIGSTOP"), way<StoppedByDebugger>("a debugger"),
                    way<Frozen>("the freezer"), way<DumpingCore>("a core dump", true)};

} // namespace

TEST_CASE("The bit of a program that cannot run follows its event") {
    const Way& stop = GENERATE(from_range(std::begin(ways), std::end(ways)));
    CAPTURE(stop.name);
    const Event event(unique_name("stopped"));
    {
        const ControlGroup group("memory");
        Program program(event, [&] { group.enter(); });
        CHECK(program.word() == 0);
        {
            const auto stopped = stop.stop(program, group);
            for (int round = 0; round < 3; round++) {
                const Enabled enabled{event};
                CHECK(program.word() == 1);
            }
            CHECK(program.word() == 0);
        }
        if (!stop.ends) {
            program.child().channel().send('e');
            CHECK(program.child().wait() == 0);
        } else {
            program.kill();
        }
    }
    CHECK(event.wait_removed());
}

TEST_CASE("A program that may only read and write (seccomp) still records, and its bit follows") {
    struct Seen {
        std::uint32_t before, after;
        bool recorded;
    };
    Registered registered(" u32 number");
    Child child([&](Channel& channel) -> int {
        unshare_page(registered.word);
        const Bytes record = Payload().add(registered.index).add(std::uint32_t{7}).bytes();
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
            return 1;
        const int socket = channel.descriptor(), file = registered.file.descriptor();
        Seen seen{registered.word, 0, false};
        char request = 'r';
        if (write(socket, &request, 1) != 1 || read(socket, &request, 1) != 1)
            syscall(SYS_exit, 2);
        seen.recorded =
            write(file, record.data(), record.size()) == static_cast<ssize_t>(record.size());
        seen.after = registered.word;
        if (write(socket, &seen, sizeof(seen)) != sizeof(seen))
            syscall(SYS_exit, 3);
        syscall(SYS_exit, 0);
        return 4;
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    child.channel().send('w');
    const auto seen = child.channel().receive<Seen>();
    CHECK(seen.before == 0);
    CHECK(seen.after == 1);
    CHECK(seen.recorded);
    CHECK(child.wait() == 0);
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("number") == 7);
    CHECK(instance.disable(registered.event) == succeeds());
}

TEST_CASE("Bits are right and no record is lost while a CPU goes offline and online", "[race]") {
    Setting online("/sys/devices/system/cpu/cpu1/online");
    Registered registered(" u32 number");
    Instance instance;
    // The writer goes on for as long as the CPU takes.
    REQUIRE(write_text(instance.path("buffer_size_kb"), "4096").ok());
    REQUIRE(instance.enable(registered.event) == succeeds());
    const Event toggled(unique_name("hotplug"));
    Word word{0};
    DataFile file;
    file.must_register(&word, 0, toggled.name());
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* const stop = shared.at<std::atomic<bool>>();
    Child writer([&](Channel& channel) {
        std::uint32_t written = 0;
        bool ok = true;
        for (; !*stop && ok; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
            ok = registered.record(Payload().add(written)) == succeeds(8);
            written += ok;
        }
        channel.send(ok ? written : 0);
        return 0;
    });

    for (unsigned round = 0; round < fewer_if_debug(10, 2); round++)
        for (const char* const state : {"0", "1"}) {
            online.set(state);
            const Enabled enabled{toggled};
            CHECK(word == 1);
        }
    CHECK(word == 0);
    *stop = true;
    const auto written = writer.channel().receive<std::uint32_t>();
    REQUIRE(written > 0);
    const auto records = instance.records();
    REQUIRE(records.size() == written);
    for (std::uint32_t number = 0; number < written; number++)
        REQUIRE(records[number].number("number") == number);
    CHECK(instance.disable(registered.event) == succeeds());
}

namespace {

/// A program with a registered word in each of many pages.
class Victim : public Child {
public:
    /// On request, a program in a control group uses memory until the kernel kills it.
    explicit Victim(const Event& event, const ControlGroup* group = nullptr)
        : Child([&](Channel& channel) {
              if (group)
                  group->enter();
              Mapping memory(pages);
              DataFile file;
              for (std::size_t page = 0; page < pages; page++)
                  file.must_register(memory.at(page * page_size), 0, event.name());
              channel.send('r');
              channel.receive<char>();
              std::vector<std::byte> used((64U << 20), std::byte{1});
              return 0;
          }) {
        channel().receive<char>();
    }

    static constexpr std::size_t pages = 512;
};

} // namespace

TEST_CASE("A killed program's memory is reaped while its bits are being written", "[race]") {
    Registered registered("");
    const SharedOverlaps overlaps;
    unsigned reaped = 0;
    {
        Toggling toggling(registered.event, overlaps);
        Rounds rounds(fewer_if_debug(40, 4), 400, std::chrono::seconds(3));
        while (rounds.next()) {
            Victim program(registered.event);
            const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, program.pid(), 0)));
            kill(program.pid(), SIGKILL);
            // ESRCH: the program has already freed its memory.
            const Outcome outcome = overlaps->ours(
                [&] { return Outcome::of(syscall(SYS_process_mrelease, process.number(), 0)); });
            reaped += outcome.ok();
            CHECK((outcome.ok() || outcome == fails(ESRCH)));
            program.kill();
        }
        CHECK(toggling.failures() == 0);
    }
    CHECK(reaped > 0);
    CHECK(overlaps->count() > 0);
    CHECK(registered.word == 0);
    CHECK(registered.status().empty());
}

TEST_CASE("The OOM reaper frees the memory of a program while its bits are being written") {
    Registered registered("");
    const SharedOverlaps overlaps;
    const ControlGroup group("memory");
    group.set("memory.max", "16M");
    KernelLog log;
    {
        Victim program(registered.event, &group);
        // A killed task stops before it frees its memory, so that the reaper has to.
        REQUIRE(ptrace(PTRACE_SEIZE, program.pid(), nullptr, PTRACE_O_TRACEEXIT) == 0);
        Toggling toggling(registered.event, overlaps);
        program.channel().send('e');
        int status = 0;
        REQUIRE(waitpid(program.pid(), &status, __WALL) == program.pid());
        REQUIRE(status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8));
        CHECK(has_line(group.read("memory.events"), "oom_kill 1"));
        const std::string reaped =
            "oom_reaper: reaped process " + std::to_string(program.pid()) + " ";
        std::string messages;
        CHECK(overlaps->ours([&] {
            return eventually(
                [&] { return (messages += log.read()).find(reaped) != std::string::npos; });
        }));
        // No page stays pinned, also while there are changes of bits that have no memory any more.
        const unsigned long before = overlaps->begun();
        CHECK(eventually([&] { return overlaps->begun() >= before + 10; }));
        // Setting memory.high returns the pages that each CPU has charged in advance: up to 64.
        const std::size_t enough = Victim::pages * page_size / 2;
        CHECK(eventually([&] {
            group.set("memory.high", std::to_string(enough));
            return std::stoul(group.read("memory.current")) < enough;
        }));
        CHECK(ptrace(PTRACE_DETACH, program.pid(), nullptr, nullptr) == 0);
        CHECK(program.wait() == -SIGKILL);
        CHECK(toggling.failures() == 0);
    }
    CHECK(overlaps->count() > 0);
    CHECK(registered.word == 0);
    CHECK(registered.status().empty());
}

TEST_CASE("Bits are right while the kernel moves their pages between nodes", "[race]") {
    constexpr std::size_t pages = 32;
    Mapping memory(pages);
    const Event event(unique_name("moved"));
    std::atomic<unsigned long> moved_to[2] = {};
    {
        DataFile file;
        for (std::size_t page = 0; page < pages; page++)
            file.must_register(memory.at(page * page_size), 0, event.name());
        std::jthread mover([&](const std::stop_token& stop) {
            const auto move = [](void* page, const int* node) {
                int status = -1;
                return syscall(SYS_move_pages, 0, 1, &page, node, &status, 0) == 0 ? status : -1;
            };
            for (int node = 0; !stop.stop_requested(); node = 1 - node)
                for (std::size_t page = 0; page < pages; page++) {
                    void* const address = memory.at(page * page_size);
                    // Without a node, the call tells where the page is.
                    if (move(address, nullptr) == 1 - node && move(address, &node) == node)
                        moved_to[node]++;
                }
        });
        Rounds rounds(fewer_if_debug(50, 5), 1000, std::chrono::seconds(3));
        unsigned wrong = 0;
        while (rounds.next())
            for (const std::uint32_t value : {1, 0}) {
                REQUIRE((value ? event.enable() : event.disable()) == succeeds(1));
                for (std::size_t page = 0; page < pages; page++)
                    wrong += *memory.at<Word>(page * page_size) != value;
            }
        CHECK(wrong == 0);
        REQUIRE(eventually([&] { return moved_to[0] > pages && moved_to[1] > pages; }));
    }
    CHECK(event.wait_removed());
}
