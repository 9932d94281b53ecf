// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/checks.hpp"
#include "diagnosis/facts.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <sstream>
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
        return good("not installed");
    line.erase(0, line.find_first_not_of(" \t"));
    if (version > tool.limited)
        return good(line);
    return note(fmt::format("{}: {}", line, tool.limit), tool.remedy);
}

} // namespace

finding trace_cmd() {
    return version_of({"trace-cmd",
                       {3, 4},
                       "its report lacks the records of multi-format events",
                       "`user-events report` prints them"});
}

finding perf_program() {
    return version_of({"perf",
                       {7, 2},
                       "it does not read the records of a multi-format event, or crashes",
                       "`user-events record` records them"});
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
