// SPDX-License-Identifier: GPL-2.0-only
// How long it takes to read very many rules while there are very many programs.
#include "catch.hpp"
#include "limited.hpp"
#include "program.hpp"
#include "rule.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <list>

using namespace selftest;

namespace {

/// Adds rules for one program of an event that does not exist, at once.
void add_rules(const Instance& instance, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; i++)
        text += "many_rules_" + std::to_string(i) + " instance=" + instance.name() + " uid=0\n";
    for (std::size_t at = 0; at < text.size();) {
        const Outcome outcome = write_text(rules_file(), text.substr(at), O_APPEND);
        expect(outcome, rules_file());
        at += static_cast<std::size_t>(outcome.value());
    }
}

/// How long it takes to read all rules; the shortest of several times.
std::chrono::duration<double> reading() {
    using Clock = std::chrono::steady_clock;
    Clock::duration least = Clock::duration::max();
    for (int i = 0; i < 5; i++) {
        const auto begin = Clock::now();
        read_text(rules_file());
        least = std::min(least, Clock::now() - begin);
    }
    return least;
}

} // namespace

TEST_CASE("Reading 1000 rules for programs takes little longer with 500 programs", "[counted]") {
    Kept kept;
    Instance instance;
    const bool has_rules = change_rule("many_rules instance=" + instance.name() + " uid=0").ok();
    REQUIRE(has_rules);
    add_rules(instance, 1000);
    const auto with_one = reading();
    std::list<selftest::Program> programs;
    for (int i = 0; i < 500; i++)
        programs.emplace_back(kept.event);
    CHECK(rule_comment("many_rules instance=" + instance.name() + " uid=0") ==
          "applied to 0, matches 501");
    const auto with_many = reading();
    CAPTURE(with_one.count(), with_many.count());
    // If each rule counted the programs, it would take more than thirty times as long.
    CHECK(with_many < 1.5 * with_one);
    expect(write_text(rules_file(), "", O_TRUNC), rules_file());
}
