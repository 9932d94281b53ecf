// SPDX-License-Identifier: GPL-2.0-only
// What the options of rules cost a program that writes.
#include "catch.hpp"
#include "limited.hpp"
#include "registered.hpp"
#include "rule.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

using namespace selftest;

namespace {

/// The instructions of a write to an event that an instance records by a rule with these options,
/// to which so many other processes have written. A nanosecond of the guest's clock is an
/// instruction.
double cost(const std::string& options, unsigned others = 0) {
    using Clock = std::chrono::steady_clock;
    constexpr int batches = 50, batch = 256;
    Instance instance;
    Registered registered(" u64 value");
    const Payload payload = Payload().add<std::uint64_t>(1);
    const Rule rule(rule_text(registered.event, instance, options));
    unsigned failed = !registered.record(payload).ok();
    failed += record_in_processes(registered, payload, others);
    Clock::duration least = Clock::duration::max();
    for (int i = 0; i < batches; i++) {
        const auto begin = Clock::now();
        for (int j = 0; j < batch; j++)
            failed += !registered.record(payload).ok();
        least = std::min(least, Clock::now() - begin);
    }
    CHECK(failed == 0);
    return std::chrono::duration<double, std::nano>(least).count() / batch;
}

} // namespace

TEST_CASE("A rule for a program costs its write at most 60 instructions more, and a limit of each "
          "program at most 120",
          "[counted]") {
    const double without = cost("");
    const std::string of_this = "pid=" + std::to_string(getpid());
    const double scoped = cost(of_this), limited = cost("limit=1000000000/s/program"),
                 both = cost(of_this + " limit=1000000000/s/program");
    CAPTURE(without, scoped, limited, both);
    CHECK(scoped <= without + 60);
    CHECK(limited <= without + 120);
    CHECK(both <= without + 180);
    // A sample and a limit leave out what costs most.
    CHECK(cost("sample=1/1000000000") < without);
    CHECK(cost("limit=1/s") < without);
}

TEST_CASE("Below a limit of each program, 4000 programs cost a write at most 60 instructions more "
          "than one does",
          "[counted]") {
    const std::string limit = "limit=1000000000/s/program";
    const double alone = cost(limit), with_others = cost(limit, 4000);
    CAPTURE(alone, with_others);
    CHECK(with_others <= alone + 60);
}
