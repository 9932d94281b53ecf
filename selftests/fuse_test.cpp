// SPDX-License-Identifier: GPL-2.0-only
// Programs that block updates for long, because a page comes from a FUSE server that does not reply
// or from a slow device, or because they hold their mmap_lock. They delay only their own bits.
#include "blocker.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "fuse.hpp"
#include "group.hpp"
#include "kernel_module.hpp"
#include "loop_device.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "namespaces.hpp"
#include "setting.hpp"
#include "slabs.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <algorithm>
#include <iterator>
#include <linux/futex.h>
#include <memory>
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

/// A program that registers a bit and then maps a file there whose pages a FUSE server does not
/// deliver. Killing it does not end the wait of its worker.
class FuseBlocker {
public:
    explicit FuseBlocker(const Event& event, uid_t user = 0)
        : FuseBlocker(event, DataFile(), user) {}
    FuseBlocker(const Event& event, DataFile file, uid_t user = 0)
        : child_([&, user](Channel& channel) -> int {
              Mapping memory(1);
              file.must_register(memory.at(), 0, event.name());
              const Descriptor backing = Descriptor::open(silent_.path(), O_RDWR);
              if (user != 0)
                  become_user(user);
              if (mmap(memory.at(), page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                       backing.number(), 0) != memory.at())
                  throw_errno("mmap");
              channel.send('r');
              channel.receive<char>();
              _exit(0);
          }) {
        child_.channel().receive<char>();
    }
    ~FuseBlocker() { silent_.end(); }

    bool blocks() const { return silent_.has_waiter(); }
    uid_t user_of_request() const { return silent_.user_of_waiter(); }
    void kill() { child_.kill(); }
    void end() { silent_.end(); }

private:
    UnresponsiveFile silent_;
    Child child_;
};

} // namespace

TEST_CASE("A bit in a file of a FUSE server that never replies delays no other program's bits",
          "[waits]") {
    const Event event(unique_name("silent"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    constexpr unsigned changes = 60;
    const auto baseline = median_change_time(event, changes);
    FuseBlocker blocker(event);
    CHECK_FALSE(blocker.blocks());
    unshare_page(word);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    CHECK(eventually([&] { return blocker.blocks(); }));
    REQUIRE(event.disable() == succeeds(1));
    // If each change waited for the program, it would take 200 ms longer.
    CHECK(median_change_time(event, changes) < baseline + 100ms);
    {
        const Enabled enabled{event};
        CHECK(word == 1);
        const Instance instance;
        CHECK(exists(instance.path("trace")));
    }
    CHECK(word == 0);
    REQUIRE(file.unregister(&word, 0) == succeeds());
    file.close();
    blocker.kill();
    // The worker still waits for the page of the killed program until the server ends.
    blocker.end();
    CHECK(event.wait_removed());
}

TEST_CASE(
    "Programs that occupy all workers of a user in one group keep no bit of the user's programs in "
    "another one from changing") {
    // A group has the same workers as the first one by chance: one of 64.
    const Group group, others[3];
    const Event silent = group.event(unique_name("silent"));
    std::vector<std::unique_ptr<FuseBlocker>> blockers;
    for (unsigned i = 0; i < 4; i++)
        blockers.push_back(std::make_unique<FuseBlocker>(silent, group.open()));
    const Enabled enabled{silent};
    for (const auto& blocker : blockers)
        REQUIRE(eventually([&] { return blocker->blocks(); }));
    // Whether the bit of a program of the same user follows, for which a worker has to take a page
    // fault.
    const auto follows = [](const Group& where, std::chrono::milliseconds limit) {
        const Event event = where.event(unique_name("changes"));
        Child program([&](Channel& channel) -> int {
            DiscardableWord word(event, where.open());
            word.discard_page();
            for (;; channel.receive<char>())
                channel.send(word.word());
        });
        program.channel().receive<std::uint32_t>();
        const Enabled changed{event};
        return eventually([&] { return program.channel().ask<std::uint32_t>('?') == 1; }, limit);
    };
    CHECK_FALSE(follows(group, 1s));
    CHECK(std::any_of(std::begin(others), std::end(others),
                      [&](const Group& other) { return follows(other, wait_limit); }));
}

TEST_CASE("A file system sees the user of the program for which a worker takes a page fault") {
    const Event event(unique_name("user"));
    FuseBlocker blocker(event, unprivileged_uid);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(eventually([&] { return blocker.blocks(); }));
    CHECK(blocker.user_of_request() == unprivileged_uid);
    REQUIRE(event.disable() == succeeds(1));
    blocker.kill();
    blocker.end();
    CHECK(event.wait_removed());
}

TEST_CASE("A FUSE server in a user namespace gets the request of a worker for a program there") {
    ensure_kernel_module("/dev/fuse", "fuse");
    // As udev does.
    expect(Outcome::of(chmod("/dev/fuse", 0666)), "chmod");
    const Event event(unique_name("namespace"));
    Child container([&](Channel& channel) {
        DataFile file;
        become_user(unprivileged_uid);
        enter(CLONE_NEWUSER | CLONE_NEWNS);
        map_to_root(unprivileged_uid);
        FuseBlocker blocker(event, std::move(file));
        channel.send('r');
        channel.receive<char>();
        channel.send(eventually([&] { return blocker.blocks(); }));
        channel.send(blocker.user_of_request());
        blocker.kill();
        blocker.end();
        return 0;
    });
    container.channel().receive<char>();
    const Enabled enabled{event};
    container.channel().send('e');
    // For a user that the namespace does not know, the kernel would fail with EOVERFLOW.
    CHECK(container.channel().receive<bool>());
    CHECK(container.channel().receive<std::uint32_t>() == 0);
    CHECK(container.wait() == 0);
}

TEST_CASE("The event of a killed program is in use until its worker has got the page") {
    const Event event(unique_name("held"));
    FuseBlocker blocker(event);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(eventually([&] { return blocker.blocks(); }));
    REQUIRE(event.disable() == succeeds(1));
    blocker.kill();
    Word word{0};
    DataFile file;
    const auto register_with_other_fields = [&] {
        return file.register_event(&word, 0, event.name() + " u64 other");
    };
    CHECK(register_with_other_fields() == fails(EADDRINUSE));
    blocker.end();
    CHECK(eventually([&] { return register_with_other_fields().ok(); }));
}

TEST_CASE("Programs that end while they wait for a worker of a blocked user leave no memory") {
    constexpr unsigned slots = 4, count = 60;
    const Event event(unique_name("queued"));
    std::vector<std::unique_ptr<FuseBlocker>> blockers;
    for (unsigned i = 0; i < slots; i++)
        blockers.push_back(std::make_unique<FuseBlocker>(event));
    REQUIRE(event.enable() == succeeds(1));
    for (const auto& blocker : blockers)
        REQUIRE(eventually([&] { return blocker->blocks(); }));
    const auto address_spaces = [] { return count_slab_objects("mm_struct", ""); };
    const unsigned long before = address_spaces();
    std::vector<std::unique_ptr<Child>> queued;
    for (unsigned i = 0; i < count; i++) {
        queued.push_back(std::make_unique<Child>([&](Channel& channel) -> int {
            Mapping memory(1);
            DataFile file;
            file.must_register(memory.at(), 0, event.name());
            // The next update needs a page fault, so a worker.
            expect(Outcome::of(madvise(memory.at(), page_size, MADV_DONTNEED)), "MADV_DONTNEED");
            channel.send('r');
            channel.receive<char>();
            return 0;
        }));
        queued.back()->channel().receive<char>();
    }
    REQUIRE(event.disable() == succeeds(1));
    CHECK(address_spaces() >= before + count);
    queued.clear();
    CHECK(eventually([&] { return address_spaces() < before + count / 2; }));
    for (const auto& blocker : blockers) {
        blocker->kill();
        blocker->end();
    }
    CHECK(event.wait_removed());
}

TEST_CASE("The module cannot be unloaded while a worker waits for a page of a killed program") {
    module::Loaded loaded;
    const Event event(unique_name("stays"));
    {
        FuseBlocker blocker(event);
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(eventually([&] { return blocker.blocks(); }));
        REQUIRE(event.disable() == succeeds(1));
        blocker.kill();
        for (int round = 0; round < 100; round++)
            if (module::unload().ok())
                FAIL("unloaded while a worker waits, in round " << round);
        blocker.end();
    }
    CHECK(eventually([] { return module::unload().ok(); }));
    CHECK(module::load() == succeeds());
}

TEST_CASE("A program whose mmap_lock is held for long delays no other program's bits", "[long]") {
    // Whether a worker already waits in a page fault of the bit when the lock is taken.
    const bool in_fault = GENERATE(false, true);
    CAPTURE(in_fault);
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
        if (fault)
            fault->answer();
        channel.send(eventually([&] { return *memory.at<Word>() == 1; }));
        _exit(0);
    });
    const EndsFirst ends_first{silent};
    unshare_page(word);
    const HungTasks hung;
    Descriptor fault;
    if (in_fault) {
        fault = blocker.channel().receive_descriptor();
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(eventually([&] { return Userfault::has_waiter(fault); }));
        blocker.channel().send('g');
    }
    REQUIRE(eventually([&] { return silent.has_waiter(); }));
    threads.lock_held = true;
    const auto waits = [&] { return state_of(blocker.pid(), threads.waiter) == 'D'; };
    REQUIRE(eventually([&] { return threads.waiter != 0 && waits(); }));
    if (in_fault)
        Userfault::wake(fault, memory);

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

TEST_CASE("A bit in a page under writeback is written as soon as the device answers") {
    const Event event(unique_name("slow_device"));
    UnresponsiveFile file(UnresponsiveFile::Kind::writes);
    const LoopDevice device(Descriptor::open(file.path(), O_RDWR));
    const Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED, device.descriptor());
    // Another process: the program itself can write to a page that is mapped, whatever locks it.
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
    CHECK(*memory.at<Word>() == 0);
    CHECK(second->waits());
    file.respond();
    CHECK(eventually([&] { return *memory.at<Word>() == 1; }));
    REQUIRE(event.disable() == succeeds(1));
    CHECK(eventually([&] { return *memory.at<Word>() == 0; }));
}
