// SPDX-License-Identifier: GPL-2.0-only
// Ten thousand registrations, five hundred processes, and what they cost: memory is charged to who
// causes it, and nothing is left of any of it.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "slabs.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace {

constexpr unsigned bits_of_word = 32;

/// How many words of an area do not have all of their bits set, or cleared.
unsigned wrong_words(const Mapping& memory, unsigned registrations, bool set) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < registrations; i += bits_of_word) {
        const unsigned bits = std::min(bits_of_word, registrations - i);
        const std::uint32_t all = bits == bits_of_word ? ~0u : (1u << bits) - 1;
        wrong += memory.at<Word>()[i / bits_of_word] != (set ? all : 0);
    }
    return wrong;
}

/// Registers each bit of an area for an event, one after the other. Returns how many it could.
unsigned register_bits(DataFile& file, const Mapping& memory, unsigned count,
                       const std::string& command) {
    unsigned done = 0;
    user_reg reg = registration(nullptr, 0, command.c_str());
    for (; done < count; done++) {
        reg.enable_addr = address_of(&memory.at<Word>()[done / bits_of_word]);
        reg.enable_bit = static_cast<std::uint8_t>(done % bits_of_word);
        if (!file.control(DIAG_IOCSREG, &reg).ok())
            break;
    }
    return done;
}

/// What user_events_status counts, to be compared at the end of a test with the beginning.
class NothingLeft {
public:
    bool holds() const {
        return eventually([&] { return status_count("Active: ") == active_; });
    }

private:
    unsigned long active_ = settled_count("Active: ");
};

/// A control group of a test's own, with the memory controller.
class MemoryGroup {
public:
    MemoryGroup() : root_("/tmp/" + unique_name("cgroup")), path_(root_ + "/group") {
        if (mkdir(root_.c_str(), 0755) != 0 ||
            mount("none", root_.c_str(), "cgroup2", 0, nullptr) != 0)
            throw_errno("mount cgroup2");
        expect(write_text(root_ + "/cgroup.subtree_control", "+memory"), "+memory");
        if (mkdir(path_.c_str(), 0755) != 0)
            throw_errno("mkdir " + path_);
    }
    MemoryGroup(const MemoryGroup&) = delete;
    MemoryGroup& operator=(const MemoryGroup&) = delete;
    ~MemoryGroup() {
        eventually([&] { return rmdir(path_.c_str()) == 0; });
        umount(root_.c_str());
        rmdir(root_.c_str());
    }

    /// Sets memory.high, where one is held back, or memory.max, where one is killed.
    void limit(const std::string& file, unsigned long bytes) const {
        expect(write_text(path_ + "/" + file, std::to_string(bytes)), file);
    }
    /// Whether anybody in it has been at the limit.
    bool was_held_back() const { return !has_line(read_text(path_ + "/memory.events"), "high 0"); }
    /// Has the calling process in it, with what it allocates from now on.
    void enter() const { expect(write_text(path_ + "/cgroup.procs", "0"), "cgroup.procs"); }
    unsigned long current() const { return std::stoul(read_text(path_ + "/memory.current")); }
    bool comes_below(unsigned long bytes) const {
        return eventually([&] {
            flush_slabs();
            return current() < bytes;
        });
    }
    unsigned long kernel_memory() const { return bytes_of("kernel "); }
    /// What the kernel notes in them where which page of a program's is.
    unsigned long page_tables() const { return bytes_of("pagetables "); }

private:
    unsigned long bytes_of(const std::string& label) const {
        for (const std::string& line : lines_of(read_text(path_ + "/memory.stat")))
            if (line.starts_with(label))
                return std::stoul(line.substr(label.size()));
        throw std::runtime_error("memory.stat has no " + label);
    }

    std::string root_, path_;
};

} // namespace

TEST_CASE("Ten thousand registrations of a program follow at once, and go with it") {
    const unsigned count = fewer(10000);
    const NothingLeft nothing_left;
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
    CHECK(event.goes());
    CHECK(nothing_left.holds());
}

TEST_CASE("Ten thousand registrations can be ended one by one") {
    const unsigned count = fewer(10000);
    const NothingLeft nothing_left;
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
    CHECK(event.goes());
    CHECK(nothing_left.holds());
}

namespace {

/// Has five hundred processes look at their bits after each of some changes of state.
void check_five_hundred_processes(bool inherits) {
    const unsigned processes = fewer(500);
    constexpr unsigned each = 20;
    const NothingLeft nothing_left;
    const Event event(unique_name("five_hundred"));
    struct Shared {
        std::atomic<unsigned> registered, answered, wrong;
        std::atomic<bool> set;
    };
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto& state = *shared.at<Shared>();
    // The first one has them made, and ends them all with itself.
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
                // Until the parent is gone.
                for (char byte; read(to_parent.descriptor(), &byte, 1) == 1;) {
                    state.wrong += wrong_words(memory, each, state.set) != 0;
                    state.answered++;
                }
                _exit(0);
            }));
        channel.send('r');
        // It is killed.
        while (channel.receive<char>() == '?')
            for (auto& child : children)
                child->channel().send('?');
        return 0;
    });
    REQUIRE(parent->channel().receive<char>() == 'r');
    REQUIRE(eventually([&] { return state.registered == processes; }));
    // The state does not change until all have looked: they look at what they have.
    const auto all_are_right = [&] {
        state.answered = state.wrong = 0;
        parent->channel().send('?');
        return eventually([&] { return state.answered == processes; }) && state.wrong == 0;
    };
    for (unsigned round = 0; round < 4; round++) {
        const bool set = round % 2 == 0;
        state.set = set;
        REQUIRE((set ? event.enable() : event.disable()) == succeeds(1));
        CHECK(at_once(all_are_right, processes));
    }
    parent->kill();
    parent.reset();
    CHECK(event.goes());
    CHECK(nothing_left.holds());
}

/// More registrations than anybody lets a program have in a test.
constexpr unsigned endless_pages = 64;
const unsigned endless = endless_pages * static_cast<unsigned>(page_size) * 8;

/// Has the calling process in the group, and register bit after bit until it is refused one.
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

/// A program that does so in a group with a limit of memory, set through a file of the group's.
struct Endless {
    Endless(const std::string& topic, const std::string& file)
        : event(unique_name(topic)), child([this, file](Channel&) {
              group.limit(file, limit);
              return register_without_end(group, event, registered);
          }) {}

    // Each processor keeps up to 64 pages of what was charged and is free again.
    const unsigned long limit = fewer(4 << 20, 1 << 20);
    const Event event;
    const Mapping shared{1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
    std::atomic<unsigned>& registered = *shared.at<std::atomic<unsigned>>();
    const MemoryGroup group;
    Child child;
};

} // namespace

TEST_CASE("The bits of five hundred processes are right when the change of state returns") {
    check_five_hundred_processes(false);
}

TEST_CASE("The bits that five hundred processes have inherited are right when it returns") {
    check_five_hundred_processes(true);
}

TEST_CASE("Registrations are charged to the program, and freed when it ends") {
    // The kernel charges a processor's memory in lots of 64 pages.
    const unsigned count = fewer(10000, 5000);
    const Event event(unique_name("charged"));
    const MemoryGroup group;
    Child child([&](Channel& channel) -> int {
        group.enter();
        Mapping memory(1);
        DataFile file;
        // So that what comes with the first one is not counted.
        DataFile().index_of(memory.at(page_size - 4), 0, event.name());
        file.index_of(memory.at(page_size - 4), 0, event.name());
        channel.send(group.kernel_memory());
        channel.send(register_bits(file, memory, count, event.name()));
        channel.receive<char>();
        _exit(0);
    });
    const auto before = child.channel().receive<unsigned long>();
    REQUIRE(child.channel().receive<unsigned>() == count);
    // An address, a bit, an event and the places in a tree and a list are more than 64 bytes. Some
    // kernels add up what there is every two seconds.
    unsigned long after = 0;
    CHECK(eventually([&] { return (after = group.kernel_memory()) >= before + count * 64ul; }));
    child.channel().send('e');
    CHECK(child.wait() == 0);
    CHECK(event.goes());
    CHECK(eventually([&] {
        flush_slabs();
        return group.kernel_memory() < after - count * 32ul;
    }));
}

namespace {

/// Has the kernel take a registration back, and a child come between the two.
int fork_before_undo(DataFile& file, const Word& word, const Event& event,
                     const std::function<void()>& in_child) {
    const std::string& command = event.name();
    Mapping memory(1);
    user_reg& reg = *memory.at<user_reg>();
    reg = registration(&word, 0, command.c_str());
    Userfault fault(memory, Userfault::Of::writing);
    Outcome registered = succeeds();
    std::jthread registering([&] { registered = file.control(DIAG_IOCSREG, &reg); });
    // The index can't be told.
    if (!eventually([&] { return fault.is_waited_for(); }))
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

TEST_CASE("Registrations that are copied as one is taken back are charged to the program") {
    const unsigned count = fewer(20000, 5000);
    const Event event(unique_name("taken_back"));
    const MemoryGroup group;
    Child child([&](Channel& channel) -> int {
        group.enter();
        Mapping memory(1);
        DataFile file;
        channel.send(group.kernel_memory());
        if (register_bits(file, memory, count, event.name()) != count)
            return 1;
        // Ends with this process, as it waits for more.
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
    // Of each there are two, of 80 bytes at least.
    CHECK(eventually([&] { return group.kernel_memory() >= before + 2ul * count * 80; }));
    child.channel().send('e');
    CHECK(child.wait() == 0);
}

TEST_CASE("What a change of state brings in is charged to the program") {
    constexpr unsigned count = 200;
    constexpr std::size_t table_reaches = 2 << 20;
    const Event event(unique_name("brought_in"));
    const MemoryGroup group;
    Child child([&](Channel& channel) -> int {
        group.enter();
        const Mapping memory(count * table_reaches / page_size);
        madvise(memory.at(), memory.size(), MADV_NOHUGEPAGE);
        DataFile file;
        for (unsigned i = 0; i < count; i++)
            file.index_of(memory.at(i * table_reaches), 0, event.name());
        // With the pages go their tables.
        if (mmap(memory.at(), memory.size(), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != memory.at())
            return 1;
        madvise(memory.at(), memory.size(), MADV_NOHUGEPAGE);
        channel.send('r');
        channel.receive<char>();
        // The last of them may be there, and not written yet.
        channel.send(eventually([&] {
            unsigned set = 0;
            for (unsigned i = 0; i < count; i++)
                set += *memory.at<Word>(i * table_reaches);
            return set == count;
        }));
        _exit(0);
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    CHECK(eventually([&] { return group.page_tables() < count / 2 * page_size; }));
    {
        const Enabled enabled{event};
        CHECK(eventually([&] { return group.page_tables() >= count * page_size; }));
        child.channel().send('e');
        CHECK(child.channel().receive<bool>());
        CHECK(child.wait() == 0);
    }
    CHECK(event.goes());
}

TEST_CASE("A program that registers without end is held back at its limit, alone") {
    const NothingLeft nothing_left;
    Endless program("endless", "memory.high");
    REQUIRE(eventually([&] { return program.group.was_held_back(); }));
    CHECK(program.registered > fewer(10000));
    CHECK(program.registered < endless);

    // Others do not notice.
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
    CHECK(program.event.goes());
    CHECK(program.group.comes_below(program.limit / 2));
    CHECK(nothing_left.holds());
}

TEST_CASE("A program that registers beyond its limit is killed, and leaves nothing") {
    const NothingLeft nothing_left;
    Endless program("killed", "memory.max");
    CHECK(program.child.wait() == -SIGKILL);
    CHECK(program.registered > fewer(10000));
    CHECK(program.registered < endless);
    CHECK(program.event.goes());
    CHECK(program.group.comes_below(program.limit / 2));
    CHECK(nothing_left.holds());
}

// Too much to be waited for: others want to be told as well.
TEST_CASE("The bits of a family that has registered very much are all right in time") {
    const unsigned processes = fewer(20), count = fewer(10000);
    const NothingLeft nothing_left;
    const Event event(unique_name("family"));
    Mapping memory(1);
    std::vector<std::unique_ptr<Child>> children;
    {
        DataFile file;
        REQUIRE(register_bits(file, memory, count, event.name()) == count);
        for (unsigned i = 0; i < processes; i++)
            children.push_back(std::make_unique<Child>([&](Channel& channel) -> int {
                // Its own from here on, so that nothing has to be waited for.
                *memory.at<Word>(page_size - sizeof(Word)) = 1;
                channel.send('r');
                for (char asked = 0; (asked = channel.receive<char>()) != 'e';)
                    channel.send(wrong_words(memory, count, asked == '1'));
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
    CHECK(event.goes());
    CHECK(nothing_left.holds());
}
