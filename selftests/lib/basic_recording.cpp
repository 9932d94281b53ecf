// SPDX-License-Identifier: GPL-2.0-only
#include "basic_recording.hpp"

#include "catch.hpp"
#include "registered.hpp"

namespace selftest {

void check_basic_recording() {
    Instance instance;
    Registered registered(" u32 a");
    const Event& event = registered.event;
    CHECK(registered.word == 0);
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(registered.word == 1);
    CHECK(registered.record(Payload().add(99u)) == succeeds(8));
    CHECK(instance.trace(event) == std::vector<std::string>{event.name() + ": a=99"});
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 99);
    REQUIRE(instance.disable(event) == succeeds());
}

} // namespace selftest
