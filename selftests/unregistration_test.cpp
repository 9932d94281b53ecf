// SPDX-License-Identifier: GPL-2.0-only
// DIAG_IOCSUNREG: which registration it ends, and its effect on the bit and the write index.
#include "catch.hpp"
#include "mapping.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <climits>
#include <cstring>
#include <thread>

using namespace selftest;

TEST_CASE("UNREG accepts sizes from 16 bytes to a page if the tail is zero") {
    struct Case {
        std::size_t size;
        std::size_t nonzero_at; // 0: the tail is zero
        Outcome outcome;
    };
    const Case cases[] = {
        {0, 0, fails(EINVAL)},
        {4, 0, fails(EINVAL)},
        {15, 0, fails(EINVAL)},
        {16, 0, succeeds()},
        {16, 16, succeeds()},
        {17, 16, fails(E2BIG)},
        {24, 0, succeeds()},
        {24, 23, fails(E2BIG)},
        {page_size, 0, succeeds()},
        {page_size, page_size - 1, fails(E2BIG)},
        {page_size + 1, 0, fails(E2BIG)},
        {UINT_MAX, 0, fails(E2BIG)},
    };
    Word word{0};
    DataFile file;
    const std::string name = unique_name("size");
    for (const Case& test : cases) {
        CAPTURE(test.size, test.nonzero_at);
        REQUIRE(file.register_event(&word, 0, name) == succeeds());
        Mapping memory(2);
        auto* unreg = memory.at<user_unreg>();
        *unreg = unregistration(&word, 0);
        unreg->size = static_cast<std::uint32_t>(test.size);
        if (test.nonzero_at != 0)
            *memory.at<char>(test.nonzero_at) = 1;
        CHECK(file.control(DIAG_IOCSUNREG, unreg) == test.outcome);
        CHECK(file.unregister(&word, 0) == (test.outcome.ok() ? fails(ENOENT) : succeeds()));
    }
}

TEST_CASE("UNREG rejects an unreadable structure with EFAULT and reserved fields with EINVAL") {
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, unique_name("refused")) == succeeds());
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);

    CHECK(file.control(DIAG_IOCSUNREG, nullptr) == fails(EFAULT));
    CHECK(file.control(DIAG_IOCSUNREG, memory.at(page_size)) == fails(EFAULT));
    user_unreg unreg = unregistration(&word, 0);
    std::memcpy(memory.at(page_size - 15), &unreg, 15);
    CHECK(file.control(DIAG_IOCSUNREG, memory.at(page_size - 15)) == fails(EFAULT));
    unreg.__reserved = 1;
    CHECK(file.control(DIAG_IOCSUNREG, &unreg) == fails(EINVAL));
    unreg.__reserved = 0;
    unreg.__reserved2 = 0x8000;
    CHECK(file.control(DIAG_IOCSUNREG, &unreg) == fails(EINVAL));
    unreg.__reserved2 = 0;
    CHECK(file.control(DIAG_IOCSUNREG, &unreg) == succeeds());
}

TEST_CASE("UNREG fails with ENOENT if address and bit are not registered") {
    alignas(8) Word words[2] = {0, 0};
    DataFile file;
    CHECK(file.unregister(words, 0) == fails(ENOENT));
    REQUIRE(file.register_event(words, 3, unique_name("absent")) == succeeds());
    CHECK(file.unregister(words, 2) == fails(ENOENT));
    CHECK(file.unregister(words + 1, 3) == fails(ENOENT));
    CHECK(file.unregister(reinterpret_cast<char*>(words) + 1, 3) == fails(ENOENT));
    CHECK(file.unregister(words, 255) == fails(ENOENT));
    CHECK(file.unregister(nullptr, 3) == fails(ENOENT));
    CHECK(file.unregister(words, 3) == succeeds());
    CHECK(file.unregister(words, 3) == fails(ENOENT));
}

TEST_CASE("UNREG works through any open file and from any thread") {
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 3, unique_name("elsewhere")) == succeeds());
    SECTION("through another file, opened in any mode") {
        const int mode = GENERATE(O_RDONLY, O_WRONLY, O_RDWR);
        CHECK(DataFile(mode).unregister(&word, 3) == succeeds());
    }
    SECTION("after the file that registered was closed") {
        file.close();
        CHECK(DataFile().unregister(&word, 3) == succeeds());
    }
    SECTION("from another thread") {
        Outcome outcome = fails(ECHILD);
        std::jthread([&] { outcome = DataFile().unregister(&word, 3); }).join();
        CHECK(outcome == succeeds());
    }
    CHECK(DataFile().unregister(&word, 3) == fails(ENOENT));
}

TEST_CASE("UNREG ends only one of several registrations of an event") {
    Word words[2] = {0, 0};
    DataFile file;
    const std::string name = unique_name("several");
    for (unsigned bit : {0, 7, 31})
        for (Word& word : words)
            REQUIRE(file.register_event(&word, bit, name) == succeeds());
    Enabled enabled{Event(name)};
    REQUIRE(words[0] == 0x80000081);
    REQUIRE(words[1] == 0x80000081);

    CHECK(file.unregister(&words[0], 7) == succeeds());
    CHECK(words[0] == 0x80000001);
    CHECK(words[1] == 0x80000081);
    CHECK(Event(name).disable() == succeeds(1));
    CHECK(words[0] == 0);
    CHECK(words[1] == 0);
}

TEST_CASE("UNREG clears the bit and changes no other bit") {
    Word word{0};
    LongWord long_word{0};
    DataFile file;
    const std::string name = unique_name("cleared");
    REQUIRE(file.register_event(&word, 5, name) == succeeds());
    REQUIRE(file.register_event(&long_word, 45, name, 8) == succeeds());
    SECTION("of an enabled event") {
        Enabled enabled{Event(name)};
        word |= 0xf0f0f0f0;
        long_word |= 0xf0f0f0f0f0f0f0f0;
        CHECK(file.unregister(&word, 5) == succeeds());
        CHECK(file.unregister(&long_word, 45) == succeeds());
    }
    SECTION("of a disabled event, if the program set the bit") {
        word = 0xf0f0f0f0;
        long_word = 0xf0f0f0f0f0f0f0f0;
        CHECK(file.unregister(&word, 5) == succeeds());
        CHECK(file.unregister(&long_word, 45) == succeeds());
    }
    CHECK(word == 0xf0f0f0d0);
    CHECK(long_word == 0xf0f0d0f0f0f0f0f0);
}

TEST_CASE("The kernel does not change the bit after UNREG") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("own");
    file.must_register(&word, 0, name);
    REQUIRE(file.unregister(&word, 0) == succeeds());
    {
        Enabled enabled{Event(name)};
        CHECK(word == 0);
        word = 1;
    }
    CHECK(word == 1);
}

TEST_CASE("UNREG fails with EFAULT if the bit cannot be written, and ends the registration") {
    const int protection = GENERATE(PROT_READ, PROT_NONE, -1);
    CAPTURE(protection);
    Mapping memory(1);
    DataFile file;
    REQUIRE(file.register_event(memory.at(), 0, unique_name("unwritable")) == succeeds());
    if (protection == -1)
        memory.unmap();
    else
        memory.protect(protection);
    CHECK(file.unregister(memory.at(), 0) == fails(EFAULT));
    CHECK(file.unregister(memory.at(), 0) == fails(ENOENT));
}

TEST_CASE("A write index stays valid after UNREG") {
    Word word{0};
    Instance instance;
    DataFile file;
    const Event event(unique_name("afterwards"));
    const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
    REQUIRE(instance.enable(event) == succeeds());
    REQUIRE(file.unregister(&word, 0) == succeeds());

    CHECK(word == 0);
    CHECK(file.record(index, Payload().add(7u)) == succeeds(8));
    REQUIRE(instance.disable(event) == succeeds());
    CHECK(file.record(index, Payload().add(8u)) == fails(EBADF));
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 7);
}
