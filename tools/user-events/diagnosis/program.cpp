// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/checks.hpp"
#include "diagnosis/facts.hpp"
#include "text/errors.hpp"
#include "text/table.hpp"
#include "tracing/programs.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace tool::diagnosis {

namespace {

/// The library does nothing then.
bool is_switched_off(const std::string& process) {
    std::ifstream file(process + "/environ");
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    return ('\0' + environment).find(std::string("\0USER_EVENTS=off", 16)) != std::string::npos;
}

std::vector<named_finding> without_events(const std::string& name, const std::string& process) {
    const std::string found = name + " does not have the events' file open";
    if (is_switched_off(process))
        return {{"program", bad(found + ": USER_EVENTS=off is in its environment",
                                "start it without USER_EVENTS")}};
    return {{"program",
             bad(found, "either it has no events, or it could not open the file when it began: "
                        "see what `user-events doctor` finds as its user")}};
}

/// "the events' file", "the device of the group web"
std::string files_of(const tracing::program& program) {
    std::vector<std::string> result;
    for (const auto& group : program.groups)
        result.push_back(group == "default" ? "the events' file"
                                            : fmt::format("the device of the group {}", group));
    return text::joined(result, " and ");
}

} // namespace

std::vector<named_finding> examine_program(int id) {
    const std::string process = fmt::format("/proc/{}", id);
    if (!std::filesystem::exists(process))
        throw text::failure(fmt::format("there is no process {}", id),
                            "`user-events list` on a terminal shows the programs with events");
    const std::string name = fmt::format("{} ({})", first_line(process + "/comm"), id);
    if (access((process + "/fd").c_str(), R_OK | X_OK) != 0)
        throw text::failure(fmt::format("this user may not look at the process {}", name),
                            "run it as root, or as the user of the process");
    const auto program = tracing::program_with_events(id);
    if (!program)
        return without_events(name, process);
    std::vector<named_finding> result{
        {"program", good(fmt::format("{} has {} open: it can register and write events", name,
                                     files_of(*program)))}};
    if (origin_of_events() == origin::built_in)
        result.push_back({"events", note("the kernel's own user_events does not tell which ones",
                                         "`user-events list` lists all events")});
    else if (program->events.empty())
        result.push_back({"events", note("it has registered none",
                                         "it may register them later, when it needs them")});
    for (const auto& event : program->events)
        result.push_back({"event", good(fmt::format("{} is {}", to_pattern(event.name),
                                                    event.enabled ? "enabled" : "not enabled"))});
    return result;
}

} // namespace tool::diagnosis
