// SPDX-License-Identifier: GPL-2.0-only
// DIAG_IOCSREG: what it checks, in which order, and that it leaves nothing behind when it fails.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "rule.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <climits>
#include <cstring>
#include <thread>

using namespace selftest;

namespace {

const volatile void* pointer_to(std::uint64_t address) {
    return reinterpret_cast<const volatile void*>(static_cast<std::uintptr_t>(address));
}

/// A command of `length` bytes, without the NUL, for an event that does not exist yet.
std::string command_of_length(std::size_t length) {
    std::string command = unique_name("long") + " u32 ";
    return command + std::string(length - command.size(), 'f');
}

/// Places a command in front of the last page of a mapping, which is made unreadable. The last
/// `missing` bytes of the command, which ends with its NUL, are in that page.
const char* before_unreadable(Mapping& memory, const std::string& command, std::size_t missing) {
    char* start = memory.at<char>(memory.size() - page_size - command.size() - 1 + missing);
    std::memcpy(start, command.c_str(), command.size() + 1);
    memory.protect(PROT_NONE, memory.size() / page_size - 1);
    return start;
}

} // namespace

TEST_CASE("REG accepts sizes from 28 bytes to a page if the tail is zero") {
    struct Case {
        std::size_t size;
        std::size_t nonzero_at; // 0: the tail is zero
        Outcome outcome;
    };
    const Case cases[] = {
        {0, 0, fails(EINVAL)},
        {4, 0, fails(EINVAL)},
        {27, 0, fails(EINVAL)},
        {28, 0, succeeds()},
        {28, 28, succeeds()},
        {29, 0, succeeds()},
        {29, 28, fails(E2BIG)},
        {32, 0, succeeds()},
        {32, 28, fails(E2BIG)},
        {32, 31, fails(E2BIG)},
        {page_size, 0, succeeds()},
        {page_size, page_size - 1, fails(E2BIG)},
        {page_size + 1, 0, fails(E2BIG)},
        {UINT_MAX, 0, fails(E2BIG)},
    };
    for (const Case& test : cases) {
        CAPTURE(test.size, test.nonzero_at);
        Word word{0};
        const std::string name = unique_name("size");
        Mapping memory(2);
        DataFile file;
        auto* reg = memory.at<user_reg>();
        *reg = registration(&word, 0, name.c_str());
        reg->size = static_cast<std::uint32_t>(test.size);
        if (test.nonzero_at != 0)
            *memory.at<char>(test.nonzero_at) = 1;
        CHECK(file.register_event(*reg) == test.outcome);
        CHECK(Event(name).exists() == test.outcome.ok());
        CHECK(file.unregister(&word, 0) == (test.outcome.ok() ? succeeds() : fails(ENOENT)));
    }
}

TEST_CASE("REG fails with EFAULT if the structure cannot be read") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("unreadable");
    const user_reg reg = registration(&word, 0, name.c_str());
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);

    CHECK(file.control(DIAG_IOCSREG, nullptr) == fails(EFAULT));
    CHECK(file.control(DIAG_IOCSREG, memory.at(page_size)) == fails(EFAULT));
    for (std::size_t readable : {2, 4, 16, 27}) {
        CAPTURE(readable);
        char* start = memory.at<char>(page_size - readable);
        std::memcpy(start, &reg, readable);
        CHECK(file.control(DIAG_IOCSREG, start) == fails(EFAULT));
    }
    CHECK_FALSE(Event(name).exists());
}

TEST_CASE("REG rejects invalid flags, enable_size, alignment and bit with EINVAL") {
    alignas(8) LongWord words[2] = {0, 0};
    struct Case {
        const char* what;
        unsigned offset, bit, size, flags;
        Outcome outcome;
    };
    const Case cases[] = {
        {"no flags", 0, 0, 4, 0, succeeds()},
        {"MULTI_FORMAT", 0, 0, 4, USER_EVENT_REG_MULTI_FORMAT, succeeds()},
        {"the first unknown flag", 0, 0, 4, USER_EVENT_REG_MAX, fails(EINVAL)},
        {"an unknown flag with a known one", 0, 0, 4, 6, fails(EINVAL)},
        {"the last flag", 0, 0, 4, 0x8000, fails(EINVAL)},
        {"all flags", 0, 0, 4, 0xffff, fails(EINVAL)},
        {"size 0", 0, 0, 0, 0, fails(EINVAL)},
        {"size 1", 0, 0, 1, 0, fails(EINVAL)},
        {"size 2", 0, 0, 2, 0, fails(EINVAL)},
        {"size 3", 0, 0, 3, 0, fails(EINVAL)},
        {"size 5", 0, 0, 5, 0, fails(EINVAL)},
        {"size 7", 0, 0, 7, 0, fails(EINVAL)},
        {"size 8", 0, 0, 8, 0, succeeds()},
        {"size 9", 0, 0, 9, 0, fails(EINVAL)},
        {"size 16", 0, 0, 16, 0, fails(EINVAL)},
        {"size 255", 0, 0, 255, 0, fails(EINVAL)},
        {"4 bytes at 1", 1, 0, 4, 0, fails(EINVAL)},
        {"4 bytes at 2", 2, 0, 4, 0, fails(EINVAL)},
        {"4 bytes at 3", 3, 0, 4, 0, fails(EINVAL)},
        {"4 bytes at 4", 4, 0, 4, 0, succeeds()},
        {"8 bytes at 1", 1, 0, 8, 0, fails(EINVAL)},
        {"8 bytes at 4", 4, 0, 8, 0, fails(EINVAL)},
        {"8 bytes at 8", 8, 0, 8, 0, succeeds()},
        {"the last bit of 4 bytes", 0, 31, 4, 0, succeeds()},
        {"a bit past 4 bytes", 0, 32, 4, 0, fails(EINVAL)},
        {"the last bit of 8 bytes", 0, 63, 8, 0, succeeds()},
        {"a bit past 8 bytes", 0, 64, 8, 0, fails(EINVAL)},
        {"bit number 255", 0, 255, 8, 0, fails(EINVAL)},
    };
    for (const Case& test : cases) {
        CAPTURE(test.what);
        DataFile file;
        const auto* address = reinterpret_cast<const char*>(words) + test.offset;
        CHECK(file.register_event(address, test.bit, unique_name("checked"), test.size,
                                  test.flags) == test.outcome);
        CHECK(file.unregister(address, test.bit) ==
              (test.outcome.ok() ? succeeds() : fails(ENOENT)));
    }
}

TEST_CASE("REG rejects an address outside user space with EFAULT") {
    const std::uint64_t addresses[] = {0x800000000000, 0x8000000000000000, 0xffff888000000000,
                                       0xffffffff81000000, 0xfffffffffffffff8};
    for (std::uint64_t address : addresses) {
        CAPTURE(address);
        DataFile file;
        const std::string name = unique_name("kernel_address");
        CHECK(file.register_event(pointer_to(address), 0, name, 4) == fails(EFAULT));
        CHECK(file.register_event(pointer_to(address), 0, name, 8) == fails(EFAULT));
        CHECK_FALSE(Event(name).exists());
    }
}

TEST_CASE("REG rejects a registered pair of address and bit with EADDRINUSE") {
    Word words[2] = {0, 0};
    DataFile file;
    const std::string first = unique_name("pair");
    REQUIRE(file.register_event(words, 3, first) == succeeds());

    SECTION("for the same or another event, through the same or another file") {
        DataFile other;
        CHECK(file.register_event(words, 3, first) == fails(EADDRINUSE));
        CHECK(file.register_event(words, 3, unique_name("pair")) == fails(EADDRINUSE));
        CHECK(other.register_event(words, 3, first) == fails(EADDRINUSE));
        CHECK(other.register_event(words, 3, unique_name("pair")) == fails(EADDRINUSE));
    }
    SECTION("from another thread") {
        Outcome outcome = succeeds();
        std::jthread([&] { outcome = DataFile().register_event(words, 3, first); }).join();
        CHECK(outcome == fails(EADDRINUSE));
    }
    SECTION("but accepts another bit or another word") {
        CHECK(file.register_event(words, 4, first) == succeeds());
        CHECK(file.register_event(words, 5, unique_name("pair")) == succeeds());
        CHECK(file.register_event(words + 1, 3, first) == succeeds());
    }
    SECTION("but accepts it again after UNREG") {
        CHECK(file.unregister(words, 3) == succeeds());
        CHECK(file.register_event(words, 3, first) == succeeds());
        CHECK(file.register_event(words, 3, first) == fails(EADDRINUSE));
    }
    SECTION("even after the file was closed") {
        file.close();
        CHECK(DataFile().register_event(words, 3, first) == fails(EADDRINUSE));
    }
}

TEST_CASE("REG accepts two pairs of address and bit number that name one bit in memory") {
    alignas(8) Word words[2] = {0, 0};
    DataFile file;
    const std::string name = unique_name("as_given");
    SECTION("one bit of memory named by two addresses has two registrations") {
        CHECK(file.register_event(words, 40, name, 8) == succeeds());
        CHECK(file.register_event(words + 1, 8, name, 4) == succeeds());
        CHECK(file.unregister(words + 1, 8) == succeeds());
        CHECK(file.unregister(words + 1, 8) == fails(ENOENT));
        CHECK(file.unregister(words, 40) == succeeds());
    }
    SECTION("enable_size is not compared") {
        CHECK(file.register_event(words, 8, name, 8) == succeeds());
        CHECK(file.register_event(words, 8, name, 4) == fails(EADDRINUSE));
    }
}

TEST_CASE("REG accepts a command of at most 511 bytes") {
    Word word{0};
    DataFile file;
    for (std::size_t length : {100, 510, 511}) {
        CAPTURE(length);
        CHECK(file.register_event(&word, 0, command_of_length(length)) == succeeds());
        CHECK(file.unregister(&word, 0) == succeeds());
    }
    for (std::size_t length : {512, 513, 4096, 100000}) {
        CAPTURE(length);
        CHECK(file.register_event(&word, 0, command_of_length(length)) == fails(EINVAL));
    }
}

TEST_CASE("REG reads the command up to its NUL and no further") {
    Word word{0};
    Mapping memory(2);
    DataFile file;
    const std::string name = unique_name("page_end");
    SECTION("the NUL is the last readable byte") {
        user_reg reg = registration(&word, 0, before_unreadable(memory, name, 0));
        CHECK(file.register_event(reg) == succeeds());
        CHECK(Event(name).exists());
    }
    SECTION("EFAULT for an unreadable NUL") {
        user_reg reg = registration(&word, 0, before_unreadable(memory, name, 1));
        CHECK(file.register_event(reg) == fails(EFAULT));
    }
    SECTION("EFAULT for an unreadable command") {
        before_unreadable(memory, name, 0);
        user_reg reg = registration(&word, 0, memory.at<char>(page_size));
        CHECK(file.register_event(reg) == fails(EFAULT));
        reg.name_args = 0;
        CHECK(file.register_event(reg) == fails(EFAULT));
        reg.name_args = 0xffffffff81000000;
        CHECK(file.register_event(reg) == fails(EFAULT));
    }
}

TEST_CASE("REG rejects a colon in the event's name with EINVAL") {
    Word word{0};
    DataFile file;
    for (const char* rest : {":flag", ":flag u32 a", ":1", ":BPF_ITER u32 a"}) {
        CAPTURE(rest);
        const std::string name = unique_name("flagged");
        CHECK(file.register_event(&word, 0, name + rest) == fails(EINVAL));
        CHECK_FALSE(Event(name).exists());
    }
}

TEST_CASE("REG with PERSIST requires a capability") {
    Word word{0};
    const std::string name = unique_name("persist");
    DataFile file;
    SECTION("without it, REG fails with EPERM") {
        CHECK(in_child([&] {
                  become_user(unprivileged_uid);
                  return file.register_event(&word, 0, name, 4, USER_EVENT_REG_PERSIST).error();
              }) == EPERM);
        CHECK_FALSE(Event(name).exists());
    }
    SECTION("without it, REG fails with EPERM even if an event has other fields") {
        REQUIRE(file.register_event(&word, 0, name) == succeeds());
        CHECK(in_child([&] {
                  become_user(unprivileged_uid);
                  return file.register_event(&word, 1, name + " u32 a", 4, USER_EVENT_REG_PERSIST)
                      .error();
              }) == EPERM);
    }
    SECTION("with it, the event stays after its last user") {
        CHECK(file.register_event(&word, 0, name, 4, USER_EVENT_REG_PERSIST) == succeeds());
        CHECK(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(Event(name).exists());
        CHECK(eventually([&] { return DataFile().delete_event(name).ok(); }));
    }
    SECTION("REG without PERSIST needs no capability") {
        CHECK(in_child([&] {
                  become_user(unprivileged_uid);
                  return file.register_event(&word, 0, name).error();
              }) == 0);
    }
}

TEST_CASE("An event registered by an unprivileged program can be shared and recorded") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("unprivileged"));
    Child child([&](Channel& channel) {
        become_user(unprivileged_uid);
        const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
        channel.send('r');
        channel.receive<char>();
        channel.send(word.load());
        channel.send(file.record(index, Payload().add(1u)).value());
        return 0;
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    CHECK(event.exists());
    CHECK(status_line(event.name()) == event.name());
    CHECK(DataFile().register_event(&word, 1, event.name() + " u32 a") == succeeds());
    Instance instance;
    CHECK(instance.enable(event) == succeeds());
    child.channel().send('e');
    CHECK(child.channel().receive<std::uint32_t>() == 1);
    CHECK(child.channel().receive<long>() == 8);
    CHECK(child.wait() == 0);
    CHECK(instance.records().size() == 1);
    CHECK(instance.disable(event) == succeeds());
}

TEST_CASE("REG shares an event with the same fields, and rejects other fields with EADDRINUSE") {
    Word word{0};
    DataFile file, other;
    const std::string name = unique_name("shared");
    const std::uint32_t index = file.must_register(&word, 0, name + " u32 a; char b[4]");
    const int id = Event(name).id();

    CHECK(file.must_register(&word, 1, name + " u32 a; char b[4]") == index);
    CHECK(other.register_event(&word, 2, name + " u32 a;char b[4]") == succeeds());
    CHECK(Event(name).id() == id);

    for (const char* fields : {"", " u32 a", " u32 a; char b[5]", " u32 b; char a[4]",
                               " char b[4]; u32 a", " s32 a; char b[4]", " u32 a; char b[4]; u8 c",
                               " u32 a; unsigned char b[4]", " u32 a; u32 b"}) {
        CAPTURE(fields);
        CHECK(file.register_event(&word, 3, name + fields) == fails(EADDRINUSE));
        CHECK(other.register_event(&word, 3, name + fields) == fails(EADDRINUSE));
    }
    CHECK(Event(name).id() == id);
}

TEST_CASE("REG keeps single-format and multi-format events of one name separate") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("kinds");
    const std::uint32_t single = file.must_register(&word, 0, name + " u32 a");
    const std::uint32_t multi =
        file.must_register(&word, 1, name + " u32 a", 4, USER_EVENT_REG_MULTI_FORMAT);
    const std::uint32_t other =
        file.must_register(&word, 2, name + " u64 b", 4, USER_EVENT_REG_MULTI_FORMAT);
    CHECK(single != multi);
    CHECK(multi != other);
    CHECK(single != other);
    CHECK(file.must_register(&word, 3, name + " u64 b", 4, USER_EVENT_REG_MULTI_FORMAT) == other);
    CHECK(file.register_event(&word, 4, name + " u64 b") == fails(EADDRINUSE));
}

TEST_CASE("All multi-format events share one sequence of numbers, and none is used twice") {
    const auto number_of = [](const std::string& name) {
        for (const std::string& line : lines_of(status()))
            if (line.starts_with(name + "."))
                return std::stoul(line.substr(name.size() + 1), nullptr, 16);
        throw std::runtime_error("no event " + name);
    };
    const std::string names[] = {unique_name("numbers"), unique_name("numbers")};
    unsigned long before = 0;
    for (int round = 0; round < 20; round++) {
        CAPTURE(round);
        const std::string& name = names[round % 2];
        Word word{0};
        DataFile file;
        file.must_register(&word, 0, name + " u32 a", 4, USER_EVENT_REG_MULTI_FORMAT);
        const unsigned long number = number_of(name);
        if (round > 0)
            CHECK(number == before + 1);
        before = number;
    }
}

TEST_CASE("REG rejects an unknown type with EINVAL and leaves no event behind") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("bad_field");
    CHECK(file.register_event(&word, 0, name + " nonsense a") == fails(EINVAL));
    CHECK(Event(name).wait_removed());
    CHECK(file.unregister(&word, 0) == fails(ENOENT));
    CHECK(file.register_event(&word, 0, name + " u32 a") == succeeds());
}

TEST_CASE("REG rejects control characters, and fields that would hide the kernel's, with EINVAL") {
    Word word{0};
    DataFile file;
    for (const unsigned flags : {0u, static_cast<unsigned>(USER_EVENT_REG_MULTI_FORMAT)})
        for (const char* rest :
             {"\x1b[2J", "\xc2\x9bm", " u32 \x1b", " u32 \xc2\x80", " struct \x07 a 8",
              " __rel_loc \x7f a", " s32 common_pid", " u32 a; u8 common_"}) {
            const std::string name = unique_name("shown");
            CAPTURE(rest, flags);
            CHECK(file.register_event(&word, 0, name + rest, 4, flags) == fails(EINVAL));
            CHECK(status().find(name) == std::string::npos);
        }
    CHECK(file.register_event(&word, 0, unique_name("shown") + " u32 \xc2\xa0; u8 cpu") ==
          succeeds());
}

TEST_CASE("write_index counts up from 0 within an open file") {
    Word words[40] = {};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::size(words); i++)
        names.push_back(unique_name("index"));

    DataFile file;
    for (std::uint32_t i = 0; i < std::size(words); i++) {
        CAPTURE(i);
        CHECK(file.must_register(&words[i], 0, names[i]) == i);
    }
    SECTION("separately in another open file") {
        DataFile other;
        CHECK(other.must_register(&words[0], 1, names[7]) == 0);
        CHECK(other.must_register(&words[0], 2, names[3]) == 1);
        CHECK(other.must_register(&words[0], 3, names[7]) == 0);
    }
    SECTION("and stays the same for an event that has one") {
        CHECK(file.must_register(&words[0], 1, names[0]) == 0);
        CHECK(file.must_register(&words[0], 2, names[39]) == 39);
        CHECK(file.must_register(&words[0], 3, unique_name("index")) == 40);
    }
    SECTION("and stays the same after UNREG and REG") {
        REQUIRE(file.unregister(&words[5], 0) == succeeds());
        CHECK(file.must_register(&words[5], 0, names[5]) == 5);
    }
    SECTION("and a failed REG uses no index") {
        CHECK(file.register_event(&words[0], 1, unique_name("index") + " bad a") == fails(EINVAL));
        CHECK(file.must_register(&words[0], 1, unique_name("index")) == 40);
    }
}

TEST_CASE("REG fails with EFAULT if the bit cannot be written, and leaves nothing behind") {
    Mapping memory(1);
    DataFile file;
    const std::string name = unique_name("unwritable");
    const int protection = GENERATE(PROT_READ, PROT_NONE);
    CAPTURE(protection);
    memory.protect(protection);
    CHECK(file.register_event(memory.at(), 0, name) == fails(EFAULT));
    CHECK(file.register_event(memory.at(), 0, name, 8) == fails(EFAULT));
    CHECK(file.unregister(memory.at(), 0) == fails(ENOENT));
    memory.protect(PROT_READ | PROT_WRITE);
    CHECK(file.register_event(memory.at(), 0, name) == succeeds());
    CHECK(file.unregister(memory.at(), 0) == succeeds());
    file.close();
    CHECK(Event(name).wait_removed());
}

TEST_CASE("What a failed REG has created stays if it is persistent or a rule has enabled it") {
    Mapping memory(1);
    DataFile file;
    const Event event(unique_name("stays"));
    memory.protect(PROT_READ);

    SECTION("persistent") {
        CHECK(file.register_event(memory.at(), 0, event.name(), 4, USER_EVENT_REG_PERSIST) ==
              fails(EFAULT));
        file.close();
        CHECK(event.exists());
        CHECK(DataFile().delete_event(event.name()) == succeeds());
    }
    SECTION("enabled by a rule, until the rule is removed") {
        const Instance instance;
        {
            const Rule rule(event.name() + " instance=" + instance.name());
            CHECK(file.register_event(memory.at(), 0, event.name()) == fails(EFAULT));
            file.close();
            CHECK(event.exists());
        }
        CHECK(event.wait_removed());
    }
}

TEST_CASE("REG fails with EFAULT if it cannot write the index, and leaves nothing behind") {
    Word words[2] = {0, 0};
    Mapping memory(1);
    DataFile file, other;
    const Event event(unique_name("no_index"));
    const std::string command = event.name() + " u32 a";
    auto* reg = memory.at<user_reg>();
    *reg = registration(&words[0], 7, command.c_str());
    memory.protect(PROT_READ);

    SECTION("no new event") {
        CHECK(file.control(DIAG_IOCSREG, reg) == fails(EFAULT));
        CHECK(other.unregister(&words[0], 7) == fails(ENOENT));
        file.close();
        CHECK(event.wait_removed());
        CHECK(other.register_event(&words[0], 7, event.name() + " u64 b") == succeeds());
    }
    SECTION("no registration and no set bit for an enabled event") {
        REQUIRE(other.register_event(&words[1], 0, command) == succeeds());
        {
            Enabled enabled{event};
            CHECK(file.control(DIAG_IOCSREG, reg) == fails(EFAULT));
            CHECK(words[0] == 0);
            CHECK(words[1] == 1);
            CHECK(other.unregister(&words[0], 7) == fails(ENOENT));
        }
        CHECK(other.register_event(&words[0], 7, command) == succeeds());
        REQUIRE(other.unregister(&words[0], 7) == succeeds());
        REQUIRE(other.unregister(&words[1], 0) == succeeds());
        other.close();
        file.close();
        CHECK(event.wait_removed());
    }
    CHECK(words[0] == 0);
}

TEST_CASE("REG rejects an unmapped address with EFAULT") {
    Mapping memory(1);
    DataFile file;
    memory.unmap();
    CHECK(file.register_event(memory.at(), 0, unique_name("unmapped")) == fails(EFAULT));
    CHECK(file.register_event(nullptr, 0, unique_name("unmapped")) == fails(EFAULT));
    // The last page of user space with four levels of page tables: it is never mapped.
    CHECK(file.register_event(pointer_to(0x7ffffffff000), 0, unique_name("unmapped")) ==
          fails(EFAULT));
}

TEST_CASE("REG faults in an untouched page") {
    Mapping memory(1);
    const Word word{0};
    DataFile file;
    const std::string name = unique_name("untouched");
    REQUIRE(file.register_event(&word, 0, name) == succeeds());
    Enabled enabled{Event(name)};
    CHECK(file.register_event(memory.at(), 5, name) == succeeds());
    CHECK(memory.at<Word>()->load() == 1u << 5);
}

TEST_CASE("REG checks its arguments in the documented order") {
    Mapping memory(2);
    Word word{0};
    DataFile file;
    const std::string name = unique_name("order");
    REQUIRE(file.register_event(&word, 0, name + " u32 a") == succeeds());
    memory.protect(PROT_READ);
    const void* const read_only = memory.at();

    SECTION("size before flags") {
        Mapping structure(2);
        auto* reg = structure.at<user_reg>();
        *reg = registration(&word, 1, name.c_str(), 4, USER_EVENT_REG_MAX);
        reg->size = static_cast<std::uint32_t>(page_size + 1);
        CHECK(file.register_event(*reg) == fails(E2BIG));
    }
    SECTION("flags, enable_size, alignment and bit before address") {
        const std::uint64_t kernel = 0xffff888000000000;
        CHECK(file.register_event(pointer_to(kernel), 0, name, 4, 4) == fails(EINVAL));
        CHECK(file.register_event(pointer_to(kernel), 0, name, 5) == fails(EINVAL));
        CHECK(file.register_event(pointer_to(kernel + 1), 0, name, 4) == fails(EINVAL));
        CHECK(file.register_event(pointer_to(kernel), 32, name, 4) == fails(EINVAL));
    }
    SECTION("address before command and fields") {
        const std::uint64_t kernel = 0xffff888000000000;
        CHECK(file.register_event(pointer_to(kernel), 0, name + ":flag") == fails(EFAULT));
        CHECK(file.register_event(pointer_to(kernel), 0, name + " u64 b") == fails(EFAULT));
        CHECK(file.register_event(pointer_to(kernel), 0, command_of_length(600)) == fails(EFAULT));
    }
    SECTION("flags and enable_size before a registered pair") {
        CHECK(file.register_event(&word, 0, name, 4, 4) == fails(EINVAL));
        CHECK(file.register_event(&word, 0, name, 5) == fails(EINVAL));
    }
    SECTION("registered pair before command") {
        user_reg reg = registration(&word, 0, nullptr);
        CHECK(file.register_event(reg) == fails(EADDRINUSE));
        CHECK(file.register_event(&word, 0, command_of_length(600)) == fails(EADDRINUSE));
        CHECK(file.register_event(&word, 0, name + ":flag") == fails(EADDRINUSE));
    }
    SECTION("command before capability") {
        CHECK(in_child([&] {
                  become_user(unprivileged_uid);
                  return file.register_event(&word, 1, name + ":flag", 4, USER_EVENT_REG_PERSIST)
                      .error();
              }) == EINVAL);
        CHECK(in_child([&] {
                  become_user(unprivileged_uid);
                  return file
                      .register_event(&word, 1, command_of_length(600), 4, USER_EVENT_REG_PERSIST)
                      .error();
              }) == EINVAL);
    }
    SECTION("capability before the fields") {
        for (const std::string& command :
             {name + " u64 b", name + " bad a", unique_name("order") + " bad a"}) {
            CAPTURE(command);
            CHECK(in_child([&] {
                      become_user(unprivileged_uid);
                      return file.register_event(&word, 1, command, 4, USER_EVENT_REG_PERSIST)
                          .error();
                  }) == EPERM);
        }
    }
    SECTION("name in use before syntax of the fields, except with MULTI_FORMAT") {
        CHECK(file.register_event(&word, 1, name + " bad a") == fails(EADDRINUSE));
        CHECK(file.register_event(&word, 1, name + " u32") == fails(EADDRINUSE));
        CHECK(file.register_event(&word, 1, name + " u32 a; bad b") == fails(EADDRINUSE));
        for (const char* fields : {" bad a", " u32", " u32 a; bad b"}) {
            CAPTURE(fields);
            CHECK(file.register_event(&word, 1, name + fields, 4, USER_EVENT_REG_MULTI_FORMAT) ==
                  fails(EINVAL));
        }
    }
    SECTION("fields before writing the bit") {
        CHECK(file.register_event(read_only, 0, name + " u64 b") == fails(EADDRINUSE));
        CHECK(file.register_event(read_only, 0, unique_name("order") + " bad a") == fails(EINVAL));
        CHECK(file.register_event(read_only, 0, name + " u32 a") == fails(EFAULT));
    }
    SECTION("registered pair before writing the bit") {
        REQUIRE(file.unregister(&word, 0) == succeeds());
        memory.protect(PROT_READ | PROT_WRITE);
        REQUIRE(file.register_event(read_only, 0, name + " u32 a") == succeeds());
        memory.protect(PROT_READ);
        CHECK(file.register_event(read_only, 0, name + " u32 a") == fails(EADDRINUSE));
    }
}
