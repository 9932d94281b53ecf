// SPDX-License-Identifier: GPL-2.0-only
// Checks for memory leaks of the module, and that the kernel can find wrong accesses. Runs last,
// after the other tests have used the module. Needs a kernel with KASAN and kmemleak.
#include "catch.hpp"
#include "deadline.hpp"
#include "module.hpp"
#include "text_file.hpp"

#include <chrono>
#include <thread>

using namespace selftest;

namespace {

const std::string kmemleak = "/sys/kernel/debug/kmemleak";

/// Returns kmemleak's report. kmemleak does not report an object that is younger than five seconds
/// when a scan begins, or that has changed since the last scan.
std::string leaks() {
    const auto old_enough = std::chrono::steady_clock::now() + std::chrono::seconds(6);
    expect(write_text(kmemleak, "scan"), "scan for leaks");
    std::this_thread::sleep_until(old_enough);
    expect(write_text(kmemleak, "scan"), "scan for leaks again");
    return read_text(kmemleak);
}

} // namespace

TEST_CASE("KASAN checks all copies: the module has no string instruction of its own") {
    // rep movsq. The compiler calls memcpy(), which KASAN replaces.
    CHECK(read_text(module::path()).find("\xf3\x48\xa5") == std::string::npos);
}

TEST_CASE("The module leaks no memory when it is unloaded") {
    REQUIRE(eventually([] { return module::unload().ok(); }));
    CHECK(leaks() == "");
    REQUIRE(module::load() == succeeds());
}
