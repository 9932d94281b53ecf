// SPDX-License-Identifier: GPL-2.0-only
#include "works.hpp"

#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

namespace selftest {

void check_that_it_works() {
    Word word{0};
    Instance instance;
    DataFile file;
    const Event event(unique_name("works"));
    const std::uint32_t index = file.index_of(&word, 0, event.name() + " u32 a");
    CHECK(word == 0);
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(word == 1);
    CHECK(file.record(index, Payload().add(99u)) == succeeds(8));
    CHECK(instance.trace(event) == std::vector<std::string>{event.name() + ": a=99"});
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 99);
    REQUIRE(instance.disable(event) == succeeds());
}

} // namespace selftest
