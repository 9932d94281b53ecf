// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/checks.hpp"
#include "diagnosis/facts.hpp"
#include "tracing/events.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <sstream>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace tool::diagnosis {

namespace {

/// A program, and what its versions up to this one cannot do: see Known limits of tools in the user
/// guide.
struct known_tool {
    const char* name;
    std::pair<int, int> limited;
    const char* limit;
    const char* remedy;
};

constexpr char not_installed[] = "not installed";

finding version_of(const known_tool& tool) {
    std::istringstream lines(output_of(fmt::format("{} --version", tool.name)));
    std::string line;
    // trace-cmd begins with an empty line.
    while (std::getline(lines, line) && line.find_first_of("0123456789") == line.npos)
        ;
    const auto digit = line.find_first_of("0123456789");
    std::pair<int, int> version;
    if (digit == line.npos ||
        std::sscanf(line.c_str() + digit, "%d.%d", &version.first, &version.second) != 2)
        return note(not_installed, {});
    line.erase(0, line.find_first_not_of(" \t"));
    if (version > tool.limited)
        return good(line);
    return note(fmt::format("{}: {}", line, tool.limit), tool.remedy);
}

/// Whether perf, in some version, reads the name of an event as modifiers, a raw event or a number.
/// perf's own events have other names that it takes for them, such as `cycles`.
bool is_word_of_perf(std::string_view name) {
    const auto has_only = [](std::string_view text, const char* characters) {
        return text.find_first_not_of(characters) == text.npos;
    };
    constexpr char hexadecimal[] = "0123456789abcdefABCDEF";
    return has_only(name, "bdeghikprsuwxBDEGHIKPRSUWX") || has_only(name, "0123456789") ||
           (name.size() > 1 && name[0] == 'r' && has_only(name.substr(1), hexadecimal)) ||
           (name.size() > 2 && name.starts_with("0x") && has_only(name.substr(2), hexadecimal));
}

} // namespace

finding trace_cmd() {
    return version_of({"trace-cmd",
                       {3, 4},
                       "its report lacks the records of multi-format events",
                       "`user-events report` prints them"});
}

finding perf_program() {
    finding result = version_of({"perf",
                                 {7, 2},
                                 "it does not read the records of a multi-format event, or crashes",
                                 "`user-events record` records them"});
    // tracefs() says why there is none, or why this user cannot read it.
    const bool has_events = access((tracing::mount_point() + "/events").c_str(), R_OK | X_OK) == 0;
    if (result.found == not_installed || !has_events)
        return result;
    for (const auto& [system, event] : tracing::user_events({}))
        if (is_word_of_perf(event))
            return note(fmt::format("{}; it may take the name {}:{} for something else",
                                    result.found, system, event),
                        fmt::format("{}perf record -e '{}:?{}'",
                                    result.remedy.empty() ? "" : result.remedy + "; ", system,
                                    event.substr(1)));
    return result;
}

finding bpftrace() {
    return version_of(
        {"bpftrace",
         {0, 27},
         "it does not read __rel_loc fields, nor __data_loc fields in version 0.23, and expects "
         "fields to be aligned as in C",
         "use __data_loc, or char[N] for version 0.23, and fields in an order without gaps; see "
         "Known limits of tools in the user guide"});
}

} // namespace tool::diagnosis
