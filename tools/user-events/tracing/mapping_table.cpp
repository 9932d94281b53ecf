// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/mapping_table.hpp"

#include <algorithm>

namespace tool::tracing {

namespace {

/// Mappings that are added before renew() is due: a few megabytes.
constexpr std::size_t enough = 10'000;
/// A message is written a moment after its time.
constexpr std::uint64_t slack = 1'000'000;
/// More forks than this between a process and the one that has mapped the file are not followed.
constexpr int most_parents = 64;

} // namespace

void mapping_table::add(int process, mapping added) {
    processes_[process].mapped.push_back(std::make_shared<const mapping>(std::move(added)));
    count_++;
}

void mapping_table::fork(int child, int parent, std::uint64_t time) {
    process& made = processes_[child];
    std::erase_if(made.mapped, [&](const auto& old) { return old->since + slack < time; });
    made.parent = parent;
    made.since = time;
    count_++;
}

std::shared_ptr<const mapping> mapping_table::find(const processes& in, int number,
                                                   std::uint64_t address, std::uint64_t time) {
    for (int i = 0; i < most_parents; i++) {
        const auto at = in.find(number);
        if (at == in.end())
            return nullptr;
        const auto& [mapped, parent, since] = at->second;
        std::shared_ptr<const mapping> found;
        for (const auto& each : mapped)
            if (address - each->start < each->size && each->since <= time + slack &&
                (!found || each->since >= found->since))
                found = each;
        // A process that has only forked has what its parent had. Before, the number was that of
        // another one.
        if (found || parent == 0 || time + slack < since)
            return found;
        time = std::min(time, since);
        number = parent;
    }
    return nullptr;
}

std::shared_ptr<const mapping> mapping_table::find(int process, std::uint64_t address,
                                                   std::uint64_t time) const {
    auto found = find(processes_, process, address, time);
    return found ? found : find(before_, process, address, time);
}

void mapping_table::renew(present_mappings&& present) {
    before_ = std::exchange(processes_, {});
    count_ = 0;
    for (auto& [process, mapping] : present)
        add(process, std::move(mapping));
    most_ = 2 * count_ + enough;
}

} // namespace tool::tracing
