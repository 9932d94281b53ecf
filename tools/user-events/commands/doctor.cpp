// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "diagnosis/checks.hpp"
#include "diagnosis/container.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"
#include "text/output.hpp"
#include "text/quantity.hpp"
#include "tracing/programs.hpp"
#include "tracing/rules.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

namespace tool {

namespace {

using diagnosis::finding;
using diagnosis::named_finding;
using diagnosis::verdict;

struct check {
    const char* about;
    finding (*examine)();
    /// Earlier checks. If one fails, this one would only fail for the same reason.
    std::array<std::string_view, 2> needs;
    /// Whether it is about files that a container does not have.
    bool is_of_host = false;
};

constexpr check checks[] = {
    {"kernel", diagnosis::kernel_version, {}},
    {"container", diagnosis::container, {}},
    {"options", diagnosis::kernel_options, {}, true},
    {"sysctls", diagnosis::sysctls, {}},
    {"user_events", diagnosis::module, {}},
    {"boot", diagnosis::boot, {}, true},
    {"headers", diagnosis::headers, {}, true},
    {"dkms", diagnosis::dkms, {}, true},
    {"secure boot", diagnosis::secure_boot, {}, true},
    {"lockdown", diagnosis::lockdown, {}},
    {"signature", diagnosis::signature, {}, true},
    {"tracefs", diagnosis::tracefs, {}},
    {"data file", diagnosis::data_file, {"tracefs"}},
    {"device", diagnosis::device, {"user_events"}},
    {"registering", diagnosis::registering, {}},
    {"marks", diagnosis::marks, {"user_events"}},
    {"perf", diagnosis::perf, {}},
    {"trace-cmd", diagnosis::trace_cmd, {}},
    {"perf program", diagnosis::perf_program, {}},
    {"bpftrace", diagnosis::bpftrace, {}},
    {"buffers", diagnosis::buffers, {"tracefs"}},
    {"instances", diagnosis::left_instances, {"tracefs"}},
    {"events", diagnosis::number_of_events, {"tracefs", "registering"}},
    {"lost records", diagnosis::lost_records, {"tracefs", "registering"}},
    {"round trip", diagnosis::round_trip, {"tracefs", "registering"}},
};

finding result_of(const check& check) {
    try {
        return check.examine();
    } catch (const text::failure& error) {
        return diagnosis::bad(error.what(), error.remedy());
    }
}

std::vector<named_finding> examine_system() {
    std::vector<named_finding> result;
    const auto lacks_needed = [&](const check& check) {
        return std::any_of(result.begin(), result.end(), [&](const named_finding& earlier) {
            return (earlier.what.verdict == verdict::bad || earlier.what.is_absent) &&
                   std::count(check.needs.begin(), check.needs.end(), earlier.about);
        });
    };
    for (const check& check : checks)
        if (!lacks_needed(check) && !(check.is_of_host && diagnosis::engine()))
            result.push_back({check.about, result_of(check)});
    return result;
}

constexpr const char* words[] = {"ok", "note", "FAILED"};
constexpr text::style styles[] = {text::style::green, text::style::yellow, text::style::red};

void print_lines(const std::vector<named_finding>& findings) {
    for (const auto& [about, what] : findings) {
        const auto index = static_cast<std::size_t>(what.verdict);
        text::print(fmt::format("{}{:<7}{} {:<12} {}\n", text::code(styles[index]), words[index],
                                text::code(text::style::plain), about, text::escaped(what.found)));
        if (!what.remedy.empty())
            text::print(fmt::format("{:21}{}\n", "", text::escaped(what.remedy)));
    }
}

void print_json(const std::vector<named_finding>& findings) {
    auto json = nlohmann::ordered_json::array();
    for (const auto& [about, what] : findings)
        json.push_back({{"check", about},
                        {"verdict", words[static_cast<std::size_t>(what.verdict)]},
                        {"found", what.found},
                        {"remedy", what.remedy}});
    text::print_json(json);
}

/// A killed command leaves its instance with enabled events and tracing_on 1, so neither shows that
/// the instance is in use.
void require_unused(const std::string& name) {
    const std::string force =
        fmt::format("; or remove it nevertheless: user-events doctor --remove {} --force", name);
    if (tracing::is_in_use(name)) {
        const int id = std::atoi(name.c_str() + tracing::temporary_prefix.size());
        throw text::failure(
            fmt::format("the instance {} is of the process {}, which still runs", name, id),
            fmt::format("end it: kill {}{}", id, force));
    }
    std::string users;
    for (const int id : tracing::users_of_instance(name))
        users += fmt::format(" {}", id);
    if (!users.empty())
        throw text::failure(
            fmt::format("the instance {} is in use: processes have its files open", name),
            fmt::format("end them: kill{}{}", users, force));
}

void remove_instance(const std::string& name, bool force) {
    if (!name.starts_with(tracing::temporary_prefix))
        throw text::usage_error(fmt::format("{} is no instance of user-events", name));
    (void)tracing::instance::existing(name);
    if (!force)
        require_unused(name);
    tracing::remove_rules_of(name);
    tracing::instance::remove_left(name);
    // A message has said so.
    const auto names = tracing::instance_names();
    if (std::find(names.begin(), names.end(), name) != names.end())
        throw text::silent_failure();
}

} // namespace

action doctor(arguments& with) {
    struct options {
        std::string process;
        std::string remove;
        bool force = false;
        bool json = false;
    };
    const auto given = std::make_shared<options>();
    with.optional_positional("PID", given->process, "show which events this process has");
    with.option("--remove", "INSTANCE", given->remove,
                "remove an instance that a killed user-events has left");
    with.flag("--force", given->force, "with --remove: also if the instance seems to be in use");
    with.flag("--json", given->json, "print JSON");
    return [given] {
        if (!given->remove.empty())
            return remove_instance(given->remove, given->force);
        const auto findings = given->process.empty()
                                  ? examine_system()
                                  : diagnosis::examine_program(text::to_process(given->process));
        given->json ? print_json(findings) : print_lines(findings);
        text::flush();
        if (std::any_of(findings.begin(), findings.end(), [](const named_finding& found) {
                return found.what.verdict == verdict::bad;
            }))
            throw text::silent_failure();
    };
}

} // namespace tool
