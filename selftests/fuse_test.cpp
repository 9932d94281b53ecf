// SPDX-License-Identifier: GPL-2.0-only
// Programs whose memory is a file that never answers, or comes from a device that takes its time,
// and programs that hold their mmap_lock for as long as that: they delay their own bits, nobody
// else's.
#include "child.hpp"
#include "deadline.hpp"
#include "fuse.hpp"
#include "loop_device.hpp"
#include "mapping.hpp"
#include "setting.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <catch2/catch.hpp>

#include <linux/futex.h>
#include <optional>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

/// A thread's state in /proc: S, D and so on.
char state_of(pid_t process, pid_t thread) {
    const std::string stat =
        read_text("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
    return stat.at(stat.rfind(')') + 2);
}

/// Ends the waiting for a file before whoever waits is waited for, also when a test fails.
struct EndsFirst {
    SilentFile& file;
    ~EndsFirst() { file.end(); }
};

/// Writes a mapping back to its file, until the object goes.
class WriteBack {
public:
    /// Whether it succeeds is the device's affair.
    explicit WriteBack(const Mapping& memory)
        : thread_([this, &memory] {
              number_ = gettid();
              (void)!msync(memory.at(), memory.size(), MS_SYNC);
          }) {}

    bool waits() const { return number_ != 0 && state_of(getpid(), number_) == 'D'; }

private:
    std::atomic<pid_t> number_{0};
    std::jthread thread_;
};

/// Has the kernel look every two seconds for tasks that hang, and count those it finds.
class HungTasks {
public:
    HungTasks() { timeout_.set("2"); }

    int found() const { return first_ - left(); }

private:
    static int left() { return std::stoi(read_text("/proc/sys/kernel/hung_task_warnings")); }

    Setting timeout_{"/proc/sys/kernel/hung_task_timeout_secs"};
    const int first_ = left();
};

} // namespace

TEST_CASE("A program whose page is in a file that never answers delays nobody but itself") {
    const Event event(unique_name("silent"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    constexpr unsigned often = 60;
    const auto unhindered = median_change(event, often);
    SilentFile silent;
    Child hinderer([&](Channel& channel) -> int {
        Mapping memory(1);
        DataFile own;
        own.index_of(memory.at(), 0, event.name());
        const Descriptor backing = Descriptor::open(silent.path(), O_RDWR);
        if (mmap(memory.at(), page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                 backing.number(), 0) != memory.at())
            throw_errno("mmap");
        channel.send('r');
        channel.receive<char>();
        _exit(0);
    });
    const EndsFirst ends_first{silent};
    REQUIRE(hinderer.channel().receive<char>() == 'r');
    CHECK_FALSE(silent.is_waited_for());
    own_page(word);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    CHECK(eventually([&] { return silent.is_waited_for(); }));
    REQUIRE(event.disable() == succeeds(1));
    // Were it waited for each time, a change would take 200 milliseconds more.
    CHECK(median_change(event, often) < unhindered + 100ms);
    {
        const Enabled enabled{event};
        CHECK(word == 1);
        const Instance instance;
        CHECK(exists(instance.path("trace")));
    }
    CHECK(word == 0);
    REQUIRE(file.unregister(&word, 0) == succeeds());
    file.close();
    // Killed, its memory is still waited for; the server's end is that of the waiting.
    hinderer.kill();
    silent.end();
    CHECK(event.goes());
}

TEST_CASE("A program whose mmap_lock is held for long delays nobody but itself") {
    // Whether the kernel is bringing in the bit's page when that begins; else it has still to
    // begin.
    const bool in_fault = GENERATE(false, true);
    CAPTURE(in_fault);
    const Event event(unique_name("locked"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    constexpr unsigned often = 60;
    const auto unhindered = median_change(event, often);
    SilentFile silent;
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    struct Threads {
        std::atomic<pid_t> waiter;
        /// The lock is held.
        std::atomic<bool> held;
    };
    auto& threads = *shared.at<Threads>();
    Mapping memory(1);
    Child hinderer([&](Channel& channel) -> int {
        DataFile own;
        own.index_of(memory.at(), 0, event.name());
        std::optional<Userfault> fault;
        if (in_fault) {
            fault.emplace(memory);
            channel.send_descriptor(fault->descriptor());
            channel.receive<char>();
        }
        const Descriptor backing = Descriptor::open(silent.path(), O_RDWR);
        Mapping absent(1, PROT_READ | PROT_WRITE, MAP_PRIVATE, backing.number());
        std::thread waiter([&] {
            threads.waiter = gettid();
            eventually([&] { return threads.held.load(); });
            // Waits for that, and whoever comes later waits for this.
            memory.protect(PROT_READ | PROT_WRITE);
        });
        std::thread holder([&] {
            Word here{0};
            // A thread that begins would wait for the lock.
            eventually([&] { return threads.waiter != 0; });
            // A futex operation brings in the page that it is to change with the lock held.
            syscall(SYS_futex, &here, FUTEX_WAKE_OP_PRIVATE, 1, 1, absent.at(),
                    FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0));
        });
        holder.join();
        waiter.join();
        if (fault)
            fault->answer();
        channel.send(eventually([&] { return *memory.at<Word>() == 1; }));
        _exit(0);
    });
    const EndsFirst ends_first{silent};
    own_page(word);
    const HungTasks hung;
    Descriptor fault;
    if (in_fault) {
        fault = hinderer.channel().receive_descriptor();
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(eventually([&] { return Userfault::is_waited_for(fault); }));
        hinderer.channel().send('g');
    }
    REQUIRE(eventually([&] { return silent.is_waited_for(); }));
    threads.held = true;
    const auto waits = [&] { return state_of(hinderer.pid(), threads.waiter) == 'D'; };
    REQUIRE(eventually([&] { return threads.waiter != 0 && waits(); }));
    if (in_fault)
        Userfault::wake(fault, memory);

    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    REQUIRE(event.disable() == succeeds(1));
    // Were it waited for each time, a change would take 200 milliseconds more.
    CHECK(median_change(event, often) < unhindered + 100ms);
    // A task hangs that does nothing from one look to the next.
    for (Rounds rounds(1, ~0u, 6s); rounds.next();)
        median_change(event, 2);
    CHECK(hung.found() == 0);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    // All that while it was hindered.
    CHECK(waits());
    silent.end();
    CHECK(hinderer.channel().receive<bool>());
    CHECK(hinderer.wait() == 0);
    REQUIRE(event.disable() == succeeds(1));
    CHECK(word == 0);
}

TEST_CASE("A bit in a page that waits for its device is written once that answers") {
    const Event event(unique_name("slow_device"));
    SilentFile file(SilentFile::To::writes);
    const LoopDevice device(Descriptor::open(file.path(), O_RDWR));
    const Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED, device.descriptor());
    std::optional<WriteBack> first, second;
    const EndsFirst ends_first{file};
    DataFile own;
    own.index_of(memory.at(), 0, event.name());
    first.emplace(memory);
    REQUIRE(eventually([&] { return file.is_waited_for(); }));
    // Written to again meanwhile, it is to be written back again, and locked until it can be.
    memory.at<Word>()[1] = 1;
    second.emplace(memory);
    REQUIRE(eventually([&] { return second->waits(); }));
    REQUIRE(event.enable() == succeeds(1));
    CHECK(*memory.at<Word>() == 0);
    CHECK(second->waits());
    file.speak();
    CHECK(eventually([&] { return *memory.at<Word>() == 1; }));
    REQUIRE(event.disable() == succeeds(1));
    CHECK(eventually([&] { return *memory.at<Word>() == 0; }));
}
