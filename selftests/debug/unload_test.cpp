// SPDX-License-Identifier: GPL-2.0-only
// Nothing that the module has allocated is left when it is unloaded: to be run last, after all that
// the other tests did with it. Needs a kernel with kmemleak.
#include "deadline.hpp"
#include "descriptor.hpp"
#include "text_file.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <fcntl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace selftest;

namespace {

const std::string kmemleak = "/sys/kernel/debug/kmemleak";

/// What is younger than five seconds is no leak to kmemleak, nor what has changed since the last
/// scan.
std::string leaks() {
    std::this_thread::sleep_for(std::chrono::seconds(6));
    for (int scan = 0; scan < 2; scan++)
        expect(write_text(kmemleak, "scan"), "scan for leaks");
    return read_text(kmemleak);
}

} // namespace

TEST_CASE("Nothing is left of the module when it is unloaded") {
    REQUIRE(eventually([] { return syscall(SYS_delete_module, "user_events", O_NONBLOCK) == 0; }));
    CHECK(leaks() == "");
    const Descriptor module = Descriptor::open("/user_events.ko", O_RDONLY);
    REQUIRE(syscall(SYS_finit_module, module.number(), "", 0) == 0);
}
