// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/cut_options.hpp"

#include "text/quantity.hpp"

#include <optional>

namespace tool {

namespace {

std::optional<recording::moment> to_time(const char* option, const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(recording::to_moment(option, text));
}

} // namespace

void cut_options::declare(arguments& with) {
    with.option("--from-time", "TIME", from_,
                "only records from this time on: 16.5, '2026-11-26 23:17:00', +2.5 (after the "
                "first record) or mark:TEXT-0.5s");
    with.option("--to-time", "TIME", to_, "only records up to this time");
    with.option("--cpu", "LIST", cpus_, "only records of these CPUs, such as 0,2-4");
}

void cut_options::declare_align(arguments& with) {
    with.option("--align", "MARK", align_,
                "several machines: the first marks with this text count as simultaneous");
}

void cut_options::declare_programs(arguments& with) {
    with.option("--pid", "PID", processes_,
                "only records of this process or thread; can be repeated");
    with.option("--comm", "GLOB", comm_, "only records of threads and processes of such a name");
}

bool cut_options::is_given() const noexcept {
    return !from_.empty() || !to_.empty() || !cpus_.empty() || !align_.empty();
}

recording::cut cut_options::read() const {
    recording::cut cut{to_time("--from-time", from_),
                       to_time("--to-time", to_),
                       cpus_.empty() ? std::vector<bool>() : recording::to_cpus(cpus_),
                       {},
                       comm_};
    for (const auto& process : processes_)
        cut.processes.push_back(text::to_process(process));
    return cut;
}

} // namespace tool
