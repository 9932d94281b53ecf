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

/// Returns the parts of kmemleak's report that blame the module. Linux 6.12 itself leaks a cache's
/// name when it cannot add the cache to sysfs, as fault_test has it do.
std::string leaks_of_module(const std::string& report) {
    const std::string begin = "unreferenced object";
    std::string found;
    for (std::size_t at = report.find(begin), next; at != report.npos; at = next) {
        next = report.find(begin, at + begin.size());
        const std::string object = report.substr(at, next - at);
        if (object.find("sysfs_slab_add") == object.npos)
            found += object;
    }
    return found;
}

/// Returns what the module leaks. kmemleak does not report an object that is younger than five
/// seconds when a scan begins, or that has changed since the last scan.
std::string leaks() {
    const auto old_enough = std::chrono::steady_clock::now() + std::chrono::seconds(6);
    expect(write_text(kmemleak, "scan"), "scan for leaks");
    std::this_thread::sleep_until(old_enough);
    expect(write_text(kmemleak, "scan"), "scan for leaks again");
    return leaks_of_module(read_text(kmemleak));
}

} // namespace

TEST_CASE("KASAN checks all copies: the module has no string instruction of its own") {
    // rep movsq. The compiler calls memcpy(), which KASAN replaces.
    CHECK(read_text(module::path()).find("\xf3\x48\xa5") == std::string::npos);
}

TEST_CASE("A leak below sysfs_slab_add() is not the module's, any other one is") {
    const std::string own = "unreferenced object 0x1 (size 32):\n    ue_format_parse+0x1/0x2\n";
    const std::string kernel = "unreferenced object 0x2 (size 32):\n    sysfs_slab_add+0x1/0x2\n";
    CHECK(leaks_of_module(kernel) == "");
    CHECK(leaks_of_module(kernel + own + kernel + own) == own + own);
    CHECK(leaks_of_module("") == "");
}

TEST_CASE("The module leaks no memory when it is unloaded") {
    REQUIRE(eventually([] { return module::unload().ok(); }));
    CHECK(leaks() == "");
    REQUIRE(module::load() == succeeds());
}
