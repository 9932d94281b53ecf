// SPDX-License-Identifier: GPL-2.0-only
// Enable bits in memory with a protection key. Not in memory_test, because a guest's processor may
// have no keys.
#include "catch.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <sys/mman.h>

using namespace selftest;

TEST_CASE("REG and UNREG fail with EFAULT where the thread's protection key forbids it to write",
          "[waits][pkeys]") {
    const int key = pkey_alloc(0, PKEY_DISABLE_WRITE);
    REQUIRE(key >= 0);
    const Event event(unique_name("key"));
    Mapping memory(1);
    Word& word = *memory.at<Word>();
    DataFile file;
    file.must_register(&word, 1, event.name());
    REQUIRE(pkey_mprotect(memory.at(), memory.size(), PROT_READ | PROT_WRITE, key) == 0);
    const Enabled enabled(event);
    // The kernel's own update is no access of the thread.
    CHECK(eventually([&] { return word == 2; }));
    CHECK(file.register_event(&word, 0, event.name()) == fails(EFAULT));
    CHECK(word == 2);
    REQUIRE(pkey_set(key, 0) == 0);
    CHECK(file.register_event(&word, 0, event.name()) == succeeds());
    CHECK(word == 3);
    REQUIRE(pkey_set(key, PKEY_DISABLE_WRITE) == 0);
    CHECK(file.unregister(&word, 0) == fails(EFAULT));
    CHECK(word == 3);
    REQUIRE(pkey_mprotect(memory.at(), memory.size(), PROT_READ | PROT_WRITE, 0) == 0);
    CHECK(file.unregister(&word, 1) == succeeds());
    CHECK(word == 1);
    pkey_free(key);
}
