// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.hpp"
#include "diagnosis/checks.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"
#include "text/output.hpp"
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
};

constexpr check checks[] = {
    {"kernel", diagnosis::kernel_version, {}},
    {"options", diagnosis::kernel_options, {}},
    {"sysctls", diagnosis::sysctls, {}},
    {"user_events", diagnosis::module, {}},
    {"boot", diagnosis::boot, {}},
    {"headers", diagnosis::headers, {}},
    {"dkms", diagnosis::dkms, {}},
    {"secure boot", diagnosis::secure_boot, {}},
    {"lockdown", diagnosis::lockdown, {}},
    {"signature", diagnosis::signature, {}},
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
    for (const check& check : checks)
        if (std::none_of(result.begin(), result.end(), [&](const named_finding& earlier) {
                return earlier.what.verdict == verdict::bad &&
                       std::count(check.needs.begin(), check.needs.end(), earlier.about);
            }))
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

void remove_instance(const std::string& name) {
    if (!name.starts_with(tracing::temporary_prefix))
        throw text::usage_error(fmt::format("{} is no instance of user-events", name));
    (void)tracing::instance::existing(name);
    tracing::instance::remove_left(name);
}

} // namespace

action doctor(arguments& with) {
    struct options {
        std::string process;
        std::string remove;
        bool json = false;
    };
    const auto given = std::make_shared<options>();
    with.optional_positional("PID", given->process, "a program: which events it has");
    with.option("--remove", "INSTANCE", given->remove,
                "remove an instance that a killed user-events has left");
    with.flag("--json", given->json, "print JSON");
    return [given] {
        if (!given->remove.empty())
            return remove_instance(given->remove);
        if (given->process.find_first_not_of("0123456789") != std::string::npos)
            throw text::usage_error(
                fmt::format("\"{}\" is no number of a process", given->process));
        const auto findings = given->process.empty()
                                  ? examine_system()
                                  : diagnosis::examine_program(std::atoi(given->process.c_str()));
        given->json ? print_json(findings) : print_lines(findings);
        text::flush();
        if (std::any_of(findings.begin(), findings.end(), [](const named_finding& found) {
                return found.what.verdict == verdict::bad;
            }))
            throw text::silent_failure();
    };
}

} // namespace tool
