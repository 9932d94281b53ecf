// SPDX-License-Identifier: GPL-2.0-only
// DIAG_IOCSREG: what it judges, in which order, and what it leaves behind when it refuses.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <climits>
#include <cstring>
#include <thread>

using namespace selftest;

namespace {

const volatile void* pointer_to(std::uint64_t address) {
    return reinterpret_cast<const volatile void*>(static_cast<std::uintptr_t>(address));
}

/// A command of so many bytes, the NUL not counted, for an event that is not there yet.
std::string command_of_length(std::size_t length) {
    std::string command = unique_name("long") + " u32 ";
    return command + std::string(length - command.size(), 'f');
}

/// Puts a command at the end of a mapping whose last page cannot be read, `missing` bytes of it
/// (the NUL included) on that page.
const char* at_the_end(Mapping& memory, const std::string& command, std::size_t missing) {
    char* start = memory.at<char>(memory.size() - page_size - command.size() - 1 + missing);
    std::memcpy(start, command.c_str(), command.size() + 1);
    memory.protect(PROT_NONE, memory.size() / page_size - 1);
    return start;
}

} // namespace

TEST_CASE("REG judges the structure's size") {
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

TEST_CASE("REG answers EFAULT for a structure that cannot be read") {
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

TEST_CASE("REG judges flags, enable_size, alignment and bit") {
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
        {"an unknown flag beside a known one", 0, 0, 4, 6, fails(EINVAL)},
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
        {"the highest number of a bit", 0, 255, 8, 0, fails(EINVAL)},
    };
    for (const Case& test : cases) {
        CAPTURE(test.what);
        DataFile file;
        const auto* address = reinterpret_cast<const char*>(words) + test.offset;
        CHECK(file.register_event(address, test.bit, unique_name("judged"), test.size,
                                  test.flags) == test.outcome);
        CHECK(file.unregister(address, test.bit) ==
              (test.outcome.ok() ? succeeds() : fails(ENOENT)));
    }
}

TEST_CASE("REG answers EFAULT for an address outside user space") {
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

TEST_CASE("REG refuses a pair of address and bit that is registered") {
    Word words[2] = {0, 0};
    DataFile file;
    const std::string first = unique_name("pair");
    REQUIRE(file.register_event(words, 3, first) == succeeds());

    SECTION("for the same event, another one, and through another file") {
        DataFile other;
        CHECK(file.register_event(words, 3, first) == fails(EADDRINUSE));
        CHECK(file.register_event(words, 3, unique_name("pair")) == fails(EADDRINUSE));
        CHECK(other.register_event(words, 3, first) == fails(EADDRINUSE));
        CHECK(other.register_event(words, 3, unique_name("pair")) == fails(EADDRINUSE));
    }
    SECTION("by another thread") {
        Outcome outcome = succeeds();
        std::jthread([&] { outcome = DataFile().register_event(words, 3, first); }).join();
        CHECK(outcome == fails(EADDRINUSE));
    }
    SECTION("but takes another bit or another word, for the same event and another one") {
        CHECK(file.register_event(words, 4, first) == succeeds());
        CHECK(file.register_event(words, 5, unique_name("pair")) == succeeds());
        CHECK(file.register_event(words + 1, 3, first) == succeeds());
    }
    SECTION("but takes it again after UNREG") {
        CHECK(file.unregister(words, 3) == succeeds());
        CHECK(file.register_event(words, 3, first) == succeeds());
        CHECK(file.register_event(words, 3, first) == fails(EADDRINUSE));
    }
    SECTION("and keeps it after the file was closed") {
        file.close();
        CHECK(DataFile().register_event(words, 3, first) == fails(EADDRINUSE));
    }
}

TEST_CASE("REG compares pairs as they are given") {
    alignas(8) Word words[2] = {0, 0};
    DataFile file;
    const std::string name = unique_name("as_given");
    SECTION("the same bit of memory by two addresses is two registrations") {
        CHECK(file.register_event(words, 40, name, 8) == succeeds());
        CHECK(file.register_event(words + 1, 8, name, 4) == succeeds());
        CHECK(file.unregister(words + 1, 8) == succeeds());
        CHECK(file.unregister(words + 1, 8) == fails(ENOENT));
        CHECK(file.unregister(words, 40) == succeeds());
    }
    SECTION("the same address and bit is one, whatever the size") {
        CHECK(file.register_event(words, 8, name, 8) == succeeds());
        CHECK(file.register_event(words, 8, name, 4) == fails(EADDRINUSE));
    }
}

TEST_CASE("REG takes a command of at most 511 bytes") {
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

TEST_CASE("REG reads the command up to its NUL") {
    Word word{0};
    Mapping memory(2);
    DataFile file;
    const std::string name = unique_name("page_end");
    SECTION("which may be the last byte before memory that cannot be read") {
        user_reg reg = registration(&word, 0, at_the_end(memory, name, 0));
        CHECK(file.register_event(reg) == succeeds());
        CHECK(Event(name).exists());
    }
    SECTION("and answers EFAULT when that cannot be read") {
        user_reg reg = registration(&word, 0, at_the_end(memory, name, 1));
        CHECK(file.register_event(reg) == fails(EFAULT));
    }
    SECTION("and when nothing of it can be read") {
        at_the_end(memory, name, 0);
        user_reg reg = registration(&word, 0, memory.at<char>(page_size));
        CHECK(file.register_event(reg) == fails(EFAULT));
        reg.name_args = 0;
        CHECK(file.register_event(reg) == fails(EFAULT));
        reg.name_args = 0xffffffff81000000;
        CHECK(file.register_event(reg) == fails(EFAULT));
    }
}

TEST_CASE("REG refuses a text flag") {
    Word word{0};
    DataFile file;
    for (const char* rest : {":flag", ":flag u32 a", ":1", ":BPF_ITER u32 a"}) {
        CAPTURE(rest);
        const std::string name = unique_name("flagged");
        CHECK(file.register_event(&word, 0, name + rest) == fails(EINVAL));
        CHECK_FALSE(Event(name).exists());
    }
}

TEST_CASE("REG with PERSIST needs a capability") {
    Word word{0};
    const std::string name = unique_name("persist");
    DataFile file;
    SECTION("and is refused without") {
        CHECK(in_child([&] {
                  become_user(nobody);
                  return file.register_event(&word, 0, name, 4, USER_EVENT_REG_PERSIST).error();
              }) == EPERM);
        CHECK_FALSE(Event(name).exists());
    }
    SECTION("also where the event is there and its fields are others") {
        REQUIRE(file.register_event(&word, 0, name) == succeeds());
        CHECK(in_child([&] {
                  become_user(nobody);
                  return file.register_event(&word, 1, name + " u32 a", 4, USER_EVENT_REG_PERSIST)
                      .error();
              }) == EPERM);
    }
    SECTION("and makes an event that stays") {
        CHECK(file.register_event(&word, 0, name, 4, USER_EVENT_REG_PERSIST) == succeeds());
        CHECK(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(Event(name).exists());
        CHECK(eventually([&] { return DataFile().delete_event(name).ok(); }));
    }
    SECTION("which no other registration does") {
        CHECK(in_child([&] {
                  become_user(nobody);
                  return file.register_event(&word, 0, name).error();
              }) == 0);
    }
}

TEST_CASE("An event that a program without rights registered is there as any other") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("unprivileged"));
    Child child([&](Channel& channel) {
        become_user(nobody);
        const std::uint32_t index = file.index_of(&word, 0, event.name() + " u32 a");
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

TEST_CASE("REG shares an event of the same name and fields") {
    Word word{0};
    DataFile file, other;
    const std::string name = unique_name("shared");
    const std::uint32_t index = file.index_of(&word, 0, name + " u32 a; char b[4]");
    const int id = Event(name).id();

    CHECK(file.index_of(&word, 1, name + " u32 a; char b[4]") == index);
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

TEST_CASE("REG keeps single and multi-format events of one name apart") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("kinds");
    const std::uint32_t single = file.index_of(&word, 0, name + " u32 a");
    const std::uint32_t multi =
        file.index_of(&word, 1, name + " u32 a", 4, USER_EVENT_REG_MULTI_FORMAT);
    const std::uint32_t other =
        file.index_of(&word, 2, name + " u64 b", 4, USER_EVENT_REG_MULTI_FORMAT);
    CHECK(single != multi);
    CHECK(multi != other);
    CHECK(single != other);
    CHECK(file.index_of(&word, 3, name + " u64 b", 4, USER_EVENT_REG_MULTI_FORMAT) == other);
    CHECK(file.register_event(&word, 4, name + " u64 b") == fails(EADDRINUSE));
}

TEST_CASE("REG refuses a bad field and leaves no event behind") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("bad_field");
    CHECK(file.register_event(&word, 0, name + " nonsense a") == fails(EINVAL));
    CHECK(Event(name).goes());
    CHECK(file.unregister(&word, 0) == fails(ENOENT));
    CHECK(file.register_event(&word, 0, name + " u32 a") == succeeds());
}

TEST_CASE("write_index counts up from 0 within an open file") {
    Word words[40] = {};
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::size(words); i++)
        names.push_back(unique_name("index"));

    DataFile file;
    for (std::uint32_t i = 0; i < std::size(words); i++) {
        CAPTURE(i);
        CHECK(file.index_of(&words[i], 0, names[i]) == i);
    }
    SECTION("and another open file counts for itself") {
        DataFile other;
        CHECK(other.index_of(&words[0], 1, names[7]) == 0);
        CHECK(other.index_of(&words[0], 2, names[3]) == 1);
        CHECK(other.index_of(&words[0], 3, names[7]) == 0);
    }
    SECTION("and an event has the index that it has already") {
        CHECK(file.index_of(&words[0], 1, names[0]) == 0);
        CHECK(file.index_of(&words[0], 2, names[39]) == 39);
        CHECK(file.index_of(&words[0], 3, unique_name("index")) == 40);
    }
    SECTION("also after UNREG") {
        REQUIRE(file.unregister(&words[5], 0) == succeeds());
        CHECK(file.index_of(&words[5], 0, names[5]) == 5);
    }
    SECTION("and a REG that is refused uses none up") {
        CHECK(file.register_event(&words[0], 1, unique_name("index") + " bad a") == fails(EINVAL));
        CHECK(file.index_of(&words[0], 1, unique_name("index")) == 40);
    }
}

TEST_CASE("REG answers EFAULT for memory that cannot be written, and leaves nothing behind") {
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
    CHECK(Event(name).goes());
}

TEST_CASE("REG answers EFAULT where it cannot write the index, and leaves nothing behind") {
    Word words[2] = {0, 0};
    Mapping memory(1);
    DataFile file, other;
    const Event event(unique_name("no_index"));
    const std::string command = event.name() + " u32 a";
    auto* reg = memory.at<user_reg>();
    *reg = registration(&words[0], 7, command.c_str());
    memory.protect(PROT_READ);

    SECTION("of a new event") {
        CHECK(file.control(DIAG_IOCSREG, reg) == fails(EFAULT));
        CHECK(other.unregister(&words[0], 7) == fails(ENOENT));
        file.close();
        CHECK(event.goes());
        CHECK(other.register_event(&words[0], 7, event.name() + " u64 b") == succeeds());
    }
    SECTION("of one that is enabled, also not its bit") {
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
        CHECK(event.goes());
    }
    CHECK(words[0] == 0);
}

TEST_CASE("REG answers EFAULT where nothing is mapped") {
    Mapping memory(1);
    DataFile file;
    memory.unmap();
    CHECK(file.register_event(memory.at(), 0, unique_name("unmapped")) == fails(EFAULT));
    CHECK(file.register_event(nullptr, 0, unique_name("unmapped")) == fails(EFAULT));
    // Where user space ends with four levels of page tables: the last page is never mapped.
    CHECK(file.register_event(pointer_to(0x7ffffffff000), 0, unique_name("unmapped")) ==
          fails(EFAULT));
}

TEST_CASE("REG faults an untouched page in") {
    Mapping memory(1);
    const Word word{0};
    DataFile file;
    const std::string name = unique_name("untouched");
    REQUIRE(file.register_event(&word, 0, name) == succeeds());
    Enabled enabled{Event(name)};
    CHECK(file.register_event(memory.at(), 5, name) == succeeds());
    CHECK(memory.at<Word>()->load() == 1u << 5);
}

TEST_CASE("REG judges in its order") {
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
    SECTION("flags, enable_size, alignment and bit before the address") {
        const std::uint64_t kernel = 0xffff888000000000;
        CHECK(file.register_event(pointer_to(kernel), 0, name, 4, 4) == fails(EINVAL));
        CHECK(file.register_event(pointer_to(kernel), 0, name, 5) == fails(EINVAL));
        CHECK(file.register_event(pointer_to(kernel + 1), 0, name, 4) == fails(EINVAL));
        CHECK(file.register_event(pointer_to(kernel), 32, name, 4) == fails(EINVAL));
    }
    SECTION("the address before the command and the event's fields") {
        const std::uint64_t kernel = 0xffff888000000000;
        CHECK(file.register_event(pointer_to(kernel), 0, name + ":flag") == fails(EFAULT));
        CHECK(file.register_event(pointer_to(kernel), 0, name + " u64 b") == fails(EFAULT));
        CHECK(file.register_event(pointer_to(kernel), 0, command_of_length(600)) == fails(EFAULT));
    }
    SECTION("flags and enable_size before the pair") {
        CHECK(file.register_event(&word, 0, name, 4, 4) == fails(EINVAL));
        CHECK(file.register_event(&word, 0, name, 5) == fails(EINVAL));
    }
    SECTION("the pair before the command") {
        user_reg reg = registration(&word, 0, nullptr);
        CHECK(file.register_event(reg) == fails(EADDRINUSE));
        CHECK(file.register_event(&word, 0, command_of_length(600)) == fails(EADDRINUSE));
        CHECK(file.register_event(&word, 0, name + ":flag") == fails(EADDRINUSE));
    }
    SECTION("the command before the capability") {
        CHECK(in_child([&] {
                  become_user(nobody);
                  return file.register_event(&word, 1, name + ":flag", 4, USER_EVENT_REG_PERSIST)
                      .error();
              }) == EINVAL);
        CHECK(in_child([&] {
                  become_user(nobody);
                  return file
                      .register_event(&word, 1, command_of_length(600), 4, USER_EVENT_REG_PERSIST)
                      .error();
              }) == EINVAL);
    }
    SECTION("a name that is taken before the fields, unless they may be others") {
        CHECK(file.register_event(&word, 1, name + " bad a") == fails(EADDRINUSE));
        CHECK(file.register_event(&word, 1, name + " u32") == fails(EADDRINUSE));
        CHECK(file.register_event(&word, 1, name + " u32 a; bad b") == fails(EADDRINUSE));
        for (const char* fields : {" bad a", " u32", " u32 a; bad b"}) {
            CAPTURE(fields);
            CHECK(file.register_event(&word, 1, name + fields, 4, USER_EVENT_REG_MULTI_FORMAT) ==
                  fails(EINVAL));
        }
    }
    SECTION("the event's fields before the memory") {
        CHECK(file.register_event(read_only, 0, name + " u64 b") == fails(EADDRINUSE));
        CHECK(file.register_event(read_only, 0, unique_name("order") + " bad a") == fails(EINVAL));
        CHECK(file.register_event(read_only, 0, name + " u32 a") == fails(EFAULT));
    }
    SECTION("the pair before the memory") {
        REQUIRE(file.unregister(&word, 0) == succeeds());
        memory.protect(PROT_READ | PROT_WRITE);
        REQUIRE(file.register_event(read_only, 0, name + " u32 a") == succeeds());
        memory.protect(PROT_READ);
        CHECK(file.register_event(read_only, 0, name + " u32 a") == fails(EADDRINUSE));
    }
}
