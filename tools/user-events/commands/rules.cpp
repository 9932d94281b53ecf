// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/rules.hpp"
#include "commands/commands.hpp"
#include "text/errors.hpp"
#include "text/json.hpp"
#include "text/new_file.hpp"
#include "text/table.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

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
                result.push_back({{"rule", rule.text()}, {"state", rule.comment}});
            text::print_json(result);
            return;
        }
        text::table table({"RULE", "STATE"});
        for (const auto& rule : rules)
            table.add({{rule.text(), text::style::bold}, {rule.comment}});
        table.print();
    };
}

constexpr char help[] =
    "PATTERN[ OPTION]...[ if FILTER], or PATTERN[ OPTION]... trigger TRIGGER; options are such as "
    "instance=NAME, pid=N, comm=GLOB";

action add_rule(arguments& with) {
    const auto text = std::make_shared<std::string>();
    with.positional("RULE", *text, help);
    return [text] {
        tracing::add_rule(*text);
        if (const auto reason = tracing::failure_of_rule(tracing::to_rule(*text).first);
            !reason.empty())
            text::warn(fmt::format("the rule was added, but {}", reason));
    };
}

constexpr char folder[] = "/etc/user_events.d";

/// The files of the administrator, in the order of their names.
std::vector<std::string> files_of(const char* extension) {
    std::vector<std::string> result;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (entry.path().extension() == extension)
            result.push_back(entry.path());
    std::sort(result.begin(), result.end());
    return result;
}

/// Loads a rule. Warns if it fails for an event; `at` is where the rule is from.
void load_rule(const std::string& rule, const std::string& at) {
    tracing::add_rule(rule);
    if (const auto reason = tracing::failure_of_rule(tracing::to_rule(rule).first); !reason.empty())
        text::warn(fmt::format("{}: the rule was added, but {}", at, reason));
}

void load_group(const std::string& group, const std::string&) {
    tracing::load_group(group);
}

/// Loads each line. Warns about those that fail, and returns how many these are: one if the file
/// cannot be read.
unsigned load_file(const std::string& path,
                   void (&load)(const std::string& line, const std::string& at)) {
    std::istringstream file;
    try {
        file.str(text::contents_of(path));
    } catch (const text::failure& error) {
        text::warn(error.what(), error.remedy());
        return 1;
    }
    unsigned number = 0, failed = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        if (line.empty() || line.starts_with('#'))
            continue;
        const std::string at = fmt::format("{}:{}", path, number);
        try {
            load(line, at);
        } catch (const text::failure& error) {
            text::warn(fmt::format("{}: {}{}{}", at, error.what(),
                                   error.remedy().empty() ? "" : ": ", error.remedy()));
            failed++;
        }
    }
    return failed;
}

action load_rules(arguments& with) {
    const auto files = std::make_shared<std::vector<std::string>>();
    with.positionals("FILE", *files, "a rule on each line; # begins a comment");
    return [files] {
        unsigned failed = 0;
        if (files->empty())
            for (const std::string& path : files_of(".groups"))
                failed += load_file(path, load_group);
        for (const std::string& path : files->empty() ? files_of(".rules") : *files)
            failed += load_file(path, load_rule);
        if (failed)
            throw text::silent_failure();
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
    with.subcommand(
        {"load", "add the rules in files, without FILE the groups and rules in /etc/user_events.d",
         load_rules});
    with.subcommand({"remove", "remove a rule, and disable what it enabled", remove_rule});
    return [] {};
}

} // namespace tool
