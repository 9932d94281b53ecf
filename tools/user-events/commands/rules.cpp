// SPDX-License-Identifier: GPL-2.0-only
#include "tracing/rules.hpp"
#include "commands/commands.hpp"
#include "text/errors.hpp"
#include "text/json.hpp"
#include "text/table.hpp"

#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace tool {

namespace {

action list_rules(arguments& with) {
    const auto json = std::make_shared<bool>(false);
    with.flag("--json", *json, "print JSON");
    return [json] {
        const auto rules = tracing::rules();
        if (*json) {
            auto result = nlohmann::ordered_json::array();
            for (const auto& rule : rules)
                result.push_back({{"rule", rule.text}, {"state", rule.comment}});
            text::print_json(result);
            return;
        }
        text::table table({"RULE", "STATE"});
        for (const auto& rule : rules)
            table.add({{rule.text, text::style::bold}, {rule.comment}});
        table.print();
    };
}

constexpr char help[] =
    "PATTERN[ instance=NAME][ if FILTER], or PATTERN[ instance=NAME] trigger TRIGGER";

action add_rule(arguments& with) {
    const auto text = std::make_shared<std::string>();
    with.positional("RULE", *text, help);
    return [text] {
        tracing::add_rule(*text);
        if (const auto reason = tracing::failure_of_rule(*text); !reason.empty())
            text::warn(fmt::format("the rule was added, but {}", reason));
    };
}

action remove_rule(arguments& with) {
    const auto text = std::make_shared<std::string>();
    with.positional("RULE", *text, help);
    return [text] { tracing::remove_rule(*text); };
}

} // namespace

action rules(arguments& with) {
    with.subcommand(
        {"list", "list the rules, and to how many events they were applied", list_rules});
    with.subcommand(
        {"add", "add a rule: it is for events that exist and for later ones", add_rule});
    with.subcommand({"remove", "remove a rule, and disable what it enabled", remove_rule});
    return [] {};
}

} // namespace tool
