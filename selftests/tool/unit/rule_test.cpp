// SPDX-License-Identifier: GPL-2.0-only
// The text of rules, as the tool reads and writes it.
#include "catch.hpp"
#include "tracing/events.hpp"
#include "tracing/rule.hpp"
#include "tracing/rules.hpp"

#include <string>

using tool::tracing::rule;
using tool::tracing::to_rule;

TEST_CASE("a rule that the kernel shows is read and written without a change") {
    const char* const text = GENERATE(
        "order", "*:order_*", "order if cents > 100", "order instance=shop",
        "order group=app instance=shop max=7 limit=10/s/program sample=1/8 pid=7,8 uid=1000 "
        "comm=order* exe=/usr/bin/* cgroup=/shop if item ~ \"a  b\"",
        "order instance=shop trigger hist:keys=item:size=128 if cents > 0",
        "order if item == \" # no comment\"", "order if item == ' # it\"s none'",
        "odd\"name if a > 1", "it's#one instance=shop", "order trigger snapshot:1 if instance=3");
    CHECK(to_rule(text).first.text() == text);
    CHECK(to_rule(text).second.empty());
}

TEST_CASE("the comment of a rule is what follows a # behind a space") {
    const auto [rule, comment] = to_rule(GENERATE(
        "odd\" instance=shop if item == \"x # y\" # applied to 2, failed for 1: a: b # c",
        "odd\" instance=shop if item == \"x # y\"\t#  applied to 2, failed for 1: a: b # c "));
    CHECK(rule.pattern == "odd\"");
    CHECK(rule.filter == "item == \"x # y\"");
    CHECK(comment == "applied to 2, failed for 1: a: b # c");
    CHECK(to_rule("order # applied to 0").second == "applied to 0");
    CHECK(to_rule("order instance=shop # applied to 0").first.text() == "order instance=shop");
}

TEST_CASE("rules that differ in spaces and the order of their options are equal") {
    CHECK(to_rule(" order  uid=1\tpid=7 instance=shop  if  a > 1 ").first ==
          to_rule("order instance=shop pid=7 uid=1 if a > 1").first);
    CHECK_FALSE(to_rule("order instance=shop").first == to_rule("order pid=7").first);
    CHECK_FALSE(to_rule("order if a").first == to_rule("order trigger a").first);
}

TEST_CASE("what a rule says of programs is one text") {
    CHECK(to_rule("order uid=1 instance=shop limit=1/s comm=a,b").first.programs() ==
          "uid=1 comm=a,b");
    CHECK(to_rule("order instance=shop").first.programs().empty());
}

TEST_CASE("texts that are no rules are read without harm") {
    const char* const text = GENERATE("", " ", "#", "# a b", "a if", "a trigger", "a if \"",
                                      "a if '#", "a nonsense if b");
    CHECK_NOTHROW(to_rule(text).first.text());
    CHECK(to_rule(text).first.text().size() <= std::string(text).size());
}

TEST_CASE("a rule is for the registered events that its pattern matches") {
    using tool::tracing::event_name;
    const auto matches = [](const char* text, const event_name& name) {
        return to_rule(text).first.is_for(name);
    };
    CHECK(matches("ord*", {"user_events", "order"}));
    CHECK(matches("order", {"user_events_multi", "order.1"}));
    CHECK(matches("user_events:order group=default", {"user_events", "order"}));
    CHECK_FALSE(matches("user_events:order", {"user_events_multi", "order.1"}));
    CHECK_FALSE(matches("order group=app", {"user_events", "order"}));
    CHECK_FALSE(matches("*", {"user_mark", "text"}));
}

TEST_CASE("the pattern of an event is for no other event, whatever its name has in it") {
    const auto [name, other] = GENERATE(table<std::string, std::string>(
        {{"o*r", "or"}, {"o?r", "oar"}, {"o[ab]r", "oar"}, {R"(o\*r)", "o*r"}}));
    const rule made = to_rule(tool::tracing::pattern_of({"user_events", name})).first;
    CHECK(made.is_for({"user_events", name}));
    CHECK_FALSE(made.is_for({"user_events", other}));
}
