// SPDX-License-Identifier: GPL-2.0-only
// Ten thousand registrations and five hundred processes: all bits are updated, memory is charged to
// the cgroup of the program, and everything is freed at the end.
#include "catch.hpp"
#include "child.hpp"
#include "control_group.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "on_cpu.hpp"
#include "perf.hpp"
#include "registered.hpp"
#include "slabs.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace {

constexpr unsigned bits_of_word = 32;

/// Counts the words that do not have all their registered bits set, or cleared.
unsigned wrong_words(const Mapping& memory, unsigned registrations, bool set) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < registrations; i += bits_of_word) {
        const unsigned bits = std::min(bits_of_word, registrations - i);
        const std::uint32_t all = bits == bits_of_word ? ~0u : (1u << bits) - 1;
        wrong += memory.at<Word>()[i / bits_of_word] != (set ? all : 0);
    }
    return wrong;
}

/// Registers `count` bits for an event in order. Returns how many were registered.
unsigned register_bits(DataFile& file, const Mapping& memory, unsigned count,
                       const std::string& command) {
    unsigned registered = 0;
    user_reg reg = registration(nullptr, 0, command.c_str());
    for (; registered < count; registered++) {
        reg.enable_addr = address_of(&memory.at<Word>()[registered / bits_of_word]);
        reg.enable_bit = static_cast<std::uint8_t>(registered % bits_of_word);
        if (!file.control(DIAG_IOCSREG, &reg).ok())
            break;
    }
    return registered;
}

/// Compares the number of events at the end of a test with the number at its start.
class EventCount {
public:
    bool is_restored() const {
        return eventually([&] { return status_count("Active: ") == active_; });
    }

private:
    unsigned long active_ = stable_status_count("Active: ");
};

/// A control group with the memory controller.
class MemoryGroup : public ControlGroup {
public:
    MemoryGroup() : ControlGroup("memory") {}

    /// Sets memory.high, which throttles tasks, or memory.max, which kills them.
    void limit(const std::string& file, unsigned long bytes) const {
        set(file, std::to_string(bytes));
    }
    /// Whether memory.high has throttled a task.
    bool was_throttled() const { return !has_line(read("memory.events"), "high 0"); }
    unsigned long current() const { return std::stoul(read("memory.current")); }
    bool falls_below(unsigned long bytes) const {
        return eventually([&] {
            flush_slabs();
            return current() < bytes;
        });
    }
    unsigned long kernel_memory() const { return bytes_of("kernel "); }
    unsigned long slabs() const { return bytes_of("slab "); }
    unsigned long page_tables() const { return bytes_of("pagetables "); }

private:
    unsigned long bytes_of(const std::string& label) const {
        for (const std::string& line : lines_of(read("memory.stat")))
            if (line.starts_with(label))
                return std::stoul(line.substr(label.size()));
        throw std::runtime_error("memory.stat has no " + label);
    }
};

} // namespace

TEST_CASE("10000 bits of a program follow the event, and exit ends their registrations",
          "[slow][long]") {
    const unsigned count = fewer_if_debug(10000);
    const EventCount event_count;
    const Event event(unique_name("ten_thousand"));
    Child child([&](Channel& channel) -> int {
        Mapping memory(1);
        DataFile file;
        channel.send(register_bits(file, memory, count, event.name()));
        for (char what = channel.receive<char>(); what != 'e'; what = channel.receive<char>())
            channel.send(wrong_words(memory, count, what == 's'));
        _exit(0);
    });
    REQUIRE(child.channel().receive<unsigned>() == count);
    const auto wrong = [&](bool set) {
        child.channel().send(set ? 's' : 'c');
        return child.channel().receive<unsigned>();
    };
    for (int round = 0; round < 3; round++) {
        REQUIRE(event.enable() == succeeds(1));
        CHECK(wrong(true) == 0);
        REQUIRE(event.disable() == succeeds(1));
        CHECK(wrong(false) == 0);
    }
    child.channel().send('e');
    CHECK(child.wait() == 0);
    CHECK(event.wait_removed());
    CHECK(event_count.is_restored());
}

TEST_CASE("10000 registrations can be unregistered one by one") {
    const unsigned count = fewer_if_debug(10000);
    const EventCount event_count;
    const Event event(unique_name("one_by_one"));
    Mapping memory(1);
    DataFile file;
    REQUIRE(register_bits(file, memory, count, event.name()) == count);
    unsigned failed = 0;
    {
        const Enabled enabled{event};
        CHECK(wrong_words(memory, count, true) == 0);
        for (unsigned i = 0; i < count; i++)
            failed += !file.unregister(&memory.at<Word>()[i / bits_of_word], i % bits_of_word).ok();
        CHECK(wrong_words(memory, count, false) == 0);
    }
    CHECK(failed == 0);
    file.close();
    CHECK(event.wait_removed());
    CHECK(event_count.is_restored());
}

namespace {

/// Changes the state several times. After each change, 500 processes check their bits.
void check_five_hundred_processes(bool inherits) {
    const unsigned processes = fewer_if_debug(500);
    constexpr unsigned each = 20;
    const EventCount event_count;
    const Event event(unique_name("five_hundred"));
    struct Shared {
        std::atomic<unsigned> registered, answered, wrong;
        std::atomic<bool> set;
    };
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto& state = *shared.at<Shared>();
    // The parent creates the children. They exit when its end of their channels is closed.
    auto parent = std::make_unique<Child>([&](Channel& channel) -> int {
        Mapping memory(1);
        DataFile file;
        if (inherits && register_bits(file, memory, each, event.name()) != each)
            return 1;
        std::vector<std::unique_ptr<Child>> children;
        for (unsigned i = 0; i < processes; i++)
            children.push_back(std::make_unique<Child>([&](Channel& to_parent) -> int {
                if (!inherits && register_bits(file, memory, each, event.name()) != each)
                    return 1;
                state.registered++;
                // Until the parent has exited.
                for (char byte; read(to_parent.descriptor(), &byte, 1) == 1;) {
                    state.wrong += wrong_words(memory, each, state.set) != 0;
                    state.answered++;
                }
                _exit(0);
            }));
        channel.send('r');
        while (channel.receive<char>() == '?')
            for (auto& child : children)
                child->channel().send('?');
        return 0;
    });
    REQUIRE(parent->channel().receive<char>() == 'r');
    REQUIRE(eventually([&] { return state.registered == processes; }));
    // Waits for all answers, so that no process checks its bits after the next state change.
    const auto all_are_updated = [&] {
        state.answered = state.wrong = 0;
        parent->channel().send('?');
        return eventually([&] { return state.answered == processes; }) && state.wrong == 0;
    };
    for (unsigned round = 0; round < 4; round++) {
        const bool set = round % 2 == 0;
        state.set = set;
        REQUIRE((set ? event.enable() : event.disable()) == succeeds(1));
        CHECK(all_are_updated());
    }
    parent->kill();
    parent.reset();
    CHECK(event.wait_removed());
    CHECK(event_count.is_restored());
}

/// More registrations than the memory limits of the tests allow.
constexpr unsigned endless_pages = 64;
const unsigned endless = endless_pages * static_cast<unsigned>(page_size) * 8;

/// Enters the group and registers bits until a registration fails.
int register_without_end(const MemoryGroup& group, const Event& event,
                         std::atomic<unsigned>& registered) {
    group.enter();
    Mapping memory(endless_pages);
    DataFile file;
    user_reg reg = registration(nullptr, 0, event.name().c_str());
    for (; registered < endless; registered++) {
        reg.enable_addr = address_of(&memory.at<Word>()[registered / bits_of_word]);
        reg.enable_bit = static_cast<std::uint8_t>(registered % bits_of_word);
        if (!file.control(DIAG_IOCSREG, &reg).ok())
            return 1;
    }
    _exit(2);
}

/// A program that registers bits. `file` is the limit of its group: memory.high or memory.max.
struct Endless {
    Endless(const std::string& topic, const std::string& file)
        : event(unique_name(topic)), child([this, file](Channel&) {
              group.limit(file, limit);
              return register_without_end(group, event, registered);
          }) {}

    // Each CPU caches up to 64 pages of charges.
    const unsigned long limit = fewer_if_debug(4 << 20, 1 << 20);
    const Event event;
    const Mapping shared{1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
    std::atomic<unsigned>& registered = *shared.at<std::atomic<unsigned>>();
    const MemoryGroup group;
    Child child;
};

} // namespace

TEST_CASE("Bits that 500 processes registered follow the event") {
    check_five_hundred_processes(false);
}

TEST_CASE("Bits that 500 processes inherited follow the event") {
    check_five_hundred_processes(true);
}

TEST_CASE("Registrations are charged to the program's memory cgroup and freed when it exits") {
    // Each CPU charges memory in batches of 64 pages.
    const unsigned count = fewer_if_debug(10000, 5000);
    const Event event(unique_name("charged"));
    const MemoryGroup group;
    Child child([&](Channel& channel) -> int {
        group.enter();
        Mapping memory(1);
        DataFile file;
        // The first registration needs additional memory; it is allocated before the measurement.
        DataFile().must_register(memory.at(page_size - 4), 0, event.name());
        file.must_register(memory.at(page_size - 4), 0, event.name());
        channel.send(group.kernel_memory());
        channel.send(register_bits(file, memory, count, event.name()));
        channel.receive<char>();
        _exit(0);
    });
    const auto before = child.channel().receive<unsigned long>();
    REQUIRE(child.channel().receive<unsigned>() == count);
    // An enabler holds an address, a bit, an event, a tree node and a list node: over 64 bytes.
    // Some kernels update memory.stat every two seconds only.
    unsigned long after = 0;
    CHECK(eventually([&] { return (after = group.kernel_memory()) >= before + count * 64ul; }));
    // "About 100 bytes", of which the limit for a user makes 100 MB. The debug kernel adds its own.
    if (fewer_if_debug(2) == 2)
        CHECK(after < before + count * 128ul);
    child.channel().send('e');
    CHECK(child.wait() == 0);
    CHECK(event.wait_removed());
    CHECK(eventually([&] {
        flush_slabs();
        return group.kernel_memory() < after - count * 32ul;
    }));
}

namespace {

/// Counts the threads of a process that wait in a function of the kernel.
unsigned threads_in(pid_t process, const std::string& function) {
    unsigned count = 0;
    for (const auto& thread :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task"))
        count += read_text(thread.path() / "wchan") == function;
    return count;
}

} // namespace

TEST_CASE("The buffer of a write that waits in a page fault is charged to the memory cgroup") {
    const unsigned writers = fewer_if_debug(256, 128);
    // The first one needs no memory. The others take 8 KiB, which may be what the CPU keeps.
    const std::size_t size = GENERATE(1024, 1025, 8180);
    CAPTURE(size);
    Registered registered("");
    const PerfEvent perf(perf_attributes(registered.event));
    const MemoryGroup group;
    Child child([&](Channel& channel) -> int {
        group.enter();
        // Each CPU charges memory in batches of 64 pages.
        const OnCpu one_cpu(0);
        Mapping memory(3);
        auto fault = std::make_unique<Userfault>(memory);
        become_user(unprivileged_uid);
        std::atomic<unsigned> started{0}, written{0};
        std::atomic<bool> begin{false};
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < writers; i++)
            threads.emplace_back([&] {
                iovec parts[] = {{const_cast<std::uint32_t*>(&registered.index), 4},
                                 {memory.at(), size}};
                started++;
                begin.wait(false);
                written += Outcome::of(writev(registered.file.descriptor(), parts, 2)).ok();
            });
        if (!eventually([&] { return started == writers; }))
            return 1;
        channel.send('s');
        channel.receive<char>();
        begin = true;
        begin.notify_all();
        channel.receive<char>();
        fault.reset();
        threads.clear();
        return written == writers ? 0 : 2;
    });
    child.channel().receive<char>();
    // Not exact, because of the batch.
    const unsigned long before = group.current(), held = writers * 8192ul;
    child.channel().send('b');
    REQUIRE(eventually([&] { return threads_in(child.pid(), "handle_userfault") == writers; }));
    const unsigned long after = group.current();
    if (size <= 1024)
        CHECK(after < before + held / 2);
    else
        CHECK(after >= before + held / 4 * 3);

    // Other programs write on.
    for (unsigned round = 0; round < 100; round++)
        CHECK(registered.record(Payload().add_bytes(Bytes(size))).ok());
    child.channel().send('e');
    CHECK(child.wait() == 0);
    CHECK(eventually([&] {
        flush_slabs();
        return size <= 1024 || group.current() < after - held / 2;
    }));
}

namespace {

/// A process in a memory group that writes large payloads of an event.
class LargeWriter {
public:
    LargeWriter(Registered& registered, const MemoryGroup& group)
        : group_(group), child_([&](Channel& channel) -> int {
              group.enter();
              Mapping memory(1);
              DataFile file;
              // What all this takes is allocated before the measurement.
              const bool small = write(registered, 1024);
              file.must_register(memory.at(page_size - 4), 0, registered.event.name());
              channel.send(small);
              for (int cpu; (cpu = channel.receive<int>()) >= 0;) {
                  const OnCpu one(cpu);
                  channel.send(write(registered, 1025) && write(registered, 8180));
              }
              // Each CPU counts up to a page later.
              const OnCpu one(0);
              channel.send(register_bits(file, memory, marks(), registered.event.name()) ==
                           marks());
              channel.receive<int>();
              _exit(0);
          }) {
        if (!child_.channel().receive<bool>())
            throw std::runtime_error("cannot write");
        before_ = group.slabs();
    }

    /// Returns whether the writes succeed.
    bool write_on(int cpu) { return child_.channel().ask<bool>(cpu); }
    /// Registers bits, to see when the kernel has counted all that was taken before.
    bool mark() { return child_.channel().ask<bool>(-1); }
    static unsigned marks() { return static_cast<unsigned>(page_size / 32); }

    /// Waits until the group was charged for so many bytes.
    bool takes(unsigned long least) const {
        return eventually([&] { return group_.slabs() >= before_ + least; });
    }
    unsigned long taken() const { return group_.slabs() - before_; }
    void end() { child_.kill(); }

private:
    static bool write(Registered& registered, std::size_t size) {
        bool succeeded = true;
        for (int i = 0; i < 10; i++)
            succeeded = succeeded && registered.record(Payload().add_bytes(Bytes(size))).ok();
        return succeeded;
    }

    const MemoryGroup& group_;
    Child child_;
    unsigned long before_ = 0;
};

} // namespace

TEST_CASE("Each CPU keeps 8 KiB for large payloads, charged to the program that first needed it") {
    constexpr unsigned long kept = 8192;
    // The debug kernel adds its own to each object.
    const bool is_exact = fewer_if_debug(2) == 2;
    const module::Loaded loaded;
    // No CPU has any then.
    REQUIRE(eventually([] { return module::unload().ok(); }));
    REQUIRE(module::load() == succeeds());
    Registered registered("");
    const PerfEvent perf(perf_attributes(registered.event));
    const MemoryGroup first_group, second_group;
    {
        LargeWriter first(registered, first_group), second(registered, second_group);
        for (int cpu : {0, 1}) {
            CAPTURE(cpu);
            REQUIRE(first.write_on(cpu));
            // Half of one for what the process has freed since.
            CHECK(first.takes((cpu + 1) * kept - kept / 2));
            if (is_exact)
                CHECK(first.taken() < (cpu + 2) * kept);
            REQUIRE(second.write_on(cpu));
        }
        REQUIRE(second.mark());
        // A mark takes 96 bytes.
        CHECK(second.takes(LargeWriter::marks() * 48ul));
        if (is_exact)
            CHECK(second.taken() < LargeWriter::marks() * 96ul + kept);
        first.end();
    }
    flush_slabs();
    CHECK(first_group.slabs() >= 2 * kept - kept / 2);
}

TEST_CASE("An event is charged to the program, its directory only before Linux 6.6") {
    const unsigned count = fewer_if_debug(1000, 500);
    const std::string name = unique_name("event");
    const MemoryGroup group;
    Child child([&](Channel& channel) -> int {
        group.enter();
        Mapping memory(count * sizeof(Word) / page_size + 1);
        DataFile file;
        channel.receive<bool>();
        for (unsigned i = 0; i < count; i++)
            file.must_register(memory.at<Word>() + i, 0, name + std::to_string(i) + " u32 count");
        channel.send(true);
        channel.receive<bool>();
        _exit(0);
    });
    const unsigned long before = group.slabs();
    REQUIRE(child.channel().ask<bool>(true));
    // On 6.1 a directory with its five files takes 5 KiB.
    CHECK(eventually(
        [&] { return group.slabs() >= before + count * (has_eventfs() ? 512ul : 4096); }));
    if (has_eventfs())
        CHECK(group.slabs() < before + count * 4096ul);
    child.channel().send(true);
    CHECK(child.wait() == 0);
}

namespace {

/// Forks between a registration and its undo. The kernel undoes the registration because it cannot
/// write the index. Returns the child's pid, or -1.
int fork_before_undo(DataFile& file, const Word& word, const Event& event,
                     const std::function<void()>& in_child) {
    const std::string& command = event.name();
    Mapping memory(1);
    user_reg& reg = *memory.at<user_reg>();
    reg = registration(&word, 0, command.c_str());
    Userfault fault(memory, Userfault::Kind::write_protect);
    Outcome registered = succeeds();
    std::jthread registering([&] { registered = file.control(DIAG_IOCSREG, &reg); });
    if (!eventually([&] { return fault.has_waiter(); }))
        return -1;
    const pid_t pid = fork();
    if (pid == 0)
        in_child();
    memory.protect(PROT_READ);
    fault.answer();
    registering.join();
    return registered == fails(EFAULT) ? pid : -1;
}

} // namespace

TEST_CASE("Copying a shared set to undo a REG is charged to the program's memory cgroup") {
    const unsigned count = fewer_if_debug(20000, 5000);
    const Event event(unique_name("taken_back"));
    const MemoryGroup group;
    Child child([&](Channel& channel) -> int {
        group.enter();
        Mapping memory(1);
        DataFile file;
        channel.send(group.kernel_memory());
        if (register_bits(file, memory, count, event.name()) != count)
            return 1;
        const int pid = fork_before_undo(file, *memory.at<Word>(page_size - 4), event, [] {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (true)
                pause();
        });
        channel.send(pid);
        channel.receive<char>();
        ::kill(pid, SIGKILL);
        _exit(0);
    });
    const auto before = child.channel().receive<unsigned long>();
    REQUIRE(child.channel().receive<int>() > 0);
    // Parent and child have an enabler of at least 80 bytes per registration.
    CHECK(eventually([&] { return group.kernel_memory() >= before + 2ul * count * 80; }));
    child.channel().send('e');
    CHECK(child.wait() == 0);
}

TEST_CASE("Page tables for pages that a state change faults in are charged to the program") {
    constexpr unsigned count = 200;
    constexpr std::size_t page_table_range = 2 << 20;
    const Event event(unique_name("brought_in"));
    const MemoryGroup group;
    Child child([&](Channel& channel) -> int {
        group.enter();
        const Mapping memory(count * page_table_range / page_size);
        madvise(memory.at(), memory.size(), MADV_NOHUGEPAGE);
        DataFile file;
        for (unsigned i = 0; i < count; i++)
            file.must_register(memory.at(i * page_table_range), 0, event.name());
        // A new mapping frees the page tables of the old one.
        if (mmap(memory.at(), memory.size(), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != memory.at())
            return 1;
        madvise(memory.at(), memory.size(), MADV_NOHUGEPAGE);
        channel.send('r');
        channel.receive<char>();
        unsigned set = 0;
        for (unsigned i = 0; i < count; i++)
            set += *memory.at<Word>(i * page_table_range);
        channel.send(set == count);
        channel.receive<char>();
        _exit(0);
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    CHECK(eventually([&] { return group.page_tables() < count / 2 * page_size; }));
    {
        const Enabled enabled{event};
        CHECK(child.channel().ask<bool>('s'));
        CHECK(eventually([&] { return group.page_tables() >= count * page_size; }));
        child.channel().send('e');
        CHECK(child.wait() == 0);
    }
    CHECK(event.wait_removed());
}

TEST_CASE("memory.high throttles a program that registers without limit, and no other program") {
    const EventCount event_count;
    Endless program("endless", "memory.high");
    REQUIRE(eventually([&] { return program.group.was_throttled(); }));
    CHECK(program.registered > fewer_if_debug(10000));
    CHECK(program.registered < endless);

    Mapping memory(1);
    DataFile file;
    REQUIRE(register_bits(file, memory, 1000, program.event.name()) == 1000);
    {
        const Enabled enabled{program.event};
        CHECK(wrong_words(memory, 1000, true) == 0);
    }
    CHECK(wrong_words(memory, 1000, false) == 0);
    for (unsigned i = 0; i < 1000; i++)
        file.unregister(&memory.at<Word>()[i / bits_of_word], i % bits_of_word);
    file.close();

    program.child.kill();
    CHECK(program.event.wait_removed());
    CHECK(program.group.falls_below(program.limit / 2));
    CHECK(event_count.is_restored());
}

TEST_CASE("memory.max kills a program that registers without limit, and all memory is freed") {
    const EventCount event_count;
    Endless program("killed", "memory.max");
    CHECK(program.child.wait() == -SIGKILL);
    CHECK(program.registered > fewer_if_debug(10000));
    CHECK(program.registered < endless);
    CHECK(program.event.wait_removed());
    CHECK(program.group.falls_below(program.limit / 2));
    CHECK(event_count.is_restored());
}

// The state change does not wait until all these bits are updated.
TEST_CASE("Bits of 20 processes with 10000 inherited registrations are eventually up to date") {
    const unsigned processes = fewer_if_debug(20), count = fewer_if_debug(10000);
    const EventCount event_count;
    const Event event(unique_name("inherited"));
    Mapping memory(1);
    std::vector<std::unique_ptr<Child>> children;
    {
        DataFile file;
        REQUIRE(register_bits(file, memory, count, event.name()) == count);
        for (unsigned i = 0; i < processes; i++)
            children.push_back(std::make_unique<Child>([&](Channel& channel) -> int {
                // Copies the page, so that the change itself can write to it.
                *memory.at<Word>(page_size - sizeof(Word)) = 1;
                channel.send('r');
                for (char request = 0; (request = channel.receive<char>()) != 'e';)
                    channel.send(wrong_words(memory, count, request == '1'));
                _exit(0);
            }));
        for (auto& child : children)
            REQUIRE(child->channel().receive<char>() == 'r');
    }
    Word word{0};
    DataFile other;
    REQUIRE(other.register_event(&word, 0, event.name()) == succeeds());
    for (unsigned round = 0; round < 4; round++) {
        const bool set = round % 2 == 0;
        REQUIRE((set ? event.enable() : event.disable()) == succeeds(1));
        // The others may have used up the bits that a change writes directly.
        CHECK(word == set);
        CHECK(eventually([&] { return wrong_words(memory, count, set) == 0; }));
        for (auto& child : children)
            CHECK(eventually([&] {
                child->channel().send(set ? '1' : '0');
                return child->channel().receive<unsigned>() == 0;
            }));
    }
    CHECK(other.unregister(&word, 0) == succeeds());
    other.close();
    children.clear();
    for (unsigned i = 0; i < count; i++)
        DataFile().unregister(&memory.at<Word>()[i / bits_of_word], i % bits_of_word);
    CHECK(event.wait_removed());
    CHECK(event_count.is_restored());
}
