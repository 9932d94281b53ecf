// SPDX-License-Identifier: GPL-2.0-only
// Programs that would block updates for long, because a page comes from a FUSE server that does not
// reply or from a slow device, or because they hold their mmap_lock.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "fuse.hpp"
#include "loop_device.hpp"
#include "mapping.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <linux/futex.h>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

/// Ends all waits for a file before the test waits for its threads and children, even if it fails.
struct EndsFirst {
    UnresponsiveFile& file;
    ~EndsFirst() { file.end(); }
};

/// Writes a mapping back to its file in a thread, which the destructor waits for.
class WriteBack {
public:
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

/// Lets the kernel look for hung tasks every two seconds, and counts those that it reports.
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

// The program might be the server itself.
TEST_CASE("The kernel waits for no page of a FUSE file, and writes the bit once it is there") {
    const Event event(unique_name("silent"));
    UnresponsiveFile silent;
    Child program([&](Channel& channel) -> int {
        Mapping memory(1);
        DataFile file;
        file.must_register(memory.at(), 0, event.name());
        const Descriptor backing = Descriptor::open(silent.path(), O_RDWR);
        if (mmap(memory.at(), page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                 backing.number(), 0) != memory.at())
            throw_errno("mmap");
        channel.send('r');
        // It runs on without its bit, and then has the page filled.
        channel.receive<char>();
        channel.send('g');
        channel.receive<char>();
        channel.send(memory.at<Word>()->load());
        channel.receive<char>();
        channel.send(memory.at<Word>()->load());
        channel.receive<char>();
        _exit(0);
    });
    const EndsFirst ends_first{silent};
    program.channel().receive<char>();
    REQUIRE(event.enable() == succeeds(1));
    CHECK(program.channel().ask<char>('g') == 'g');
    CHECK_FALSE(silent.has_waiter());
    program.channel().send('r');
    CHECK(eventually([&] { return silent.has_waiter(); }));
    silent.respond();
    CHECK(program.channel().receive<std::uint32_t>() == 0);
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(event.enable() == succeeds(1));
    CHECK(program.channel().ask<std::uint32_t>('r') == 1);
    REQUIRE(event.disable() == succeeds(1));
    program.channel().send('e');
    CHECK(program.wait() == 0);
}

TEST_CASE("A program whose mmap_lock is held for long delays no other program's bits", "[long]") {
    const Event event(unique_name("locked"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    constexpr unsigned changes = 60;
    const auto baseline = median_change_time(event, changes);
    UnresponsiveFile silent;
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    struct Threads {
        std::atomic<pid_t> waiter;
        std::atomic<bool> lock_held;
    };
    auto& threads = *shared.at<Threads>();
    Mapping memory(1);
    Child blocker([&](Channel& channel) -> int {
        DataFile own;
        own.must_register(memory.at(), 0, event.name());
        const Descriptor backing = Descriptor::open(silent.path(), O_RDWR);
        Mapping absent(1, PROT_READ | PROT_WRITE, MAP_PRIVATE, backing.number());
        std::thread waiter([&] {
            threads.waiter = gettid();
            eventually([&] { return threads.lock_held.load(); });
            // This writer waits for the holder, and all later lockers wait for this writer.
            memory.protect(PROT_READ | PROT_WRITE);
        });
        std::thread holder([&] {
            Word here{0};
            // Take the lock after the waiter has started, since starting a thread needs it.
            eventually([&] { return threads.waiter != 0; });
            // A futex operation faults its page in while it holds the lock.
            syscall(SYS_futex, &here, FUTEX_WAKE_OP_PRIVATE, 1, 1, absent.at(),
                    FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0));
        });
        holder.join();
        waiter.join();
        channel.send(eventually([&] { return *memory.at<Word>() == 1; }));
        _exit(0);
    });
    const EndsFirst ends_first{silent};
    unshare_page(word);
    const HungTasks hung;
    REQUIRE(eventually([&] { return silent.has_waiter(); }));
    threads.lock_held = true;
    const auto waits = [&] { return state_of(blocker.pid(), threads.waiter) == 'D'; };
    REQUIRE(eventually([&] { return threads.waiter != 0 && waits(); }));

    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    REQUIRE(event.disable() == succeeds(1));
    // If each change waited for the program, it would take 200 ms longer.
    CHECK(median_change_time(event, changes) < baseline + 100ms);
    // The kernel reports a task that has not run between two checks.
    for (Rounds rounds(1, ~0u, 6s); rounds.next();)
        median_change_time(event, 2);
    CHECK(hung.found() == 0);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    // The program was blocked until here.
    CHECK(waits());
    silent.end();
    CHECK(blocker.channel().receive<bool>());
    CHECK(blocker.wait() == 0);
    REQUIRE(event.disable() == succeeds(1));
    CHECK(word == 0);
}

TEST_CASE("A program writes its bit to a page under writeback without waiting for the device") {
    const Event event(unique_name("slow_device"));
    UnresponsiveFile file(UnresponsiveFile::Kind::writes);
    const LoopDevice device(Descriptor::open(file.path(), O_RDWR));
    const Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED, device.descriptor());
    // Another process cannot lock the page.
    Child administrator([&](Channel& channel) {
        channel.receive<char>();
        return event.enable().ok() ? 0 : 1;
    });
    std::optional<WriteBack> first, second;
    const EndsFirst ends_first{file};
    DataFile data;
    data.must_register(memory.at(), 0, event.name());
    first.emplace(memory);
    REQUIRE(eventually([&] { return file.has_waiter(); }));
    // The page is dirty again. The second writeback locks it while it waits for the first.
    memory.at<Word>()[1] = 1;
    second.emplace(memory);
    REQUIRE(eventually([&] { return second->waits(); }));
    administrator.channel().send('e');
    REQUIRE(administrator.wait() == 0);
    CHECK(*memory.at<Word>() == 1);
    CHECK(second->waits());
    file.respond();
    REQUIRE(event.disable() == succeeds(1));
    CHECK(*memory.at<Word>() == 0);
}
