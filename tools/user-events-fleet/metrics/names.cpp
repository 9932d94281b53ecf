// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/names.hpp"

#include "eventheader/tracepoint_name.hpp"
#include "recording/record.hpp"

#include <limits>
#include <string_view>
#include <utility>

namespace tool::metrics {

namespace {

/// Longer names count for the others.
constexpr std::size_t longest_name = 256;

/// With a level, only names such as `Provider_L4K1f` are meant.
tracing::wanted_events described(std::vector<tracing::pattern> patterns) {
    return {.patterns = std::move(patterns),
            .choice = {.level = std::numeric_limits<std::uint8_t>::max()}};
}

} // namespace

std::vector<tracing::pattern>
names::for_tracepoints(const std::vector<tracing::pattern>& patterns) {
    std::vector<tracing::pattern> result;
    for (const auto& each : patterns) {
        const std::string_view text = each.text();
        if (text.find_first_of("*?[\\") != text.npos ||
            eventheader::to_tracepoint_name(text.substr(text.rfind(':') + 1)).is_complete)
            result.push_back(each);
    }
    return result;
}

names::names(const tracing::instance& in, std::vector<tracing::pattern> patterns,
             std::uint64_t most_names, std::uint64_t most_tracepoints)
    : most_names_(most_names), most_tracepoints_(most_tracepoints),
      following_(in, described(std::move(patterns))), reader_(in), types_(in) {}

void names::read() {
    following_.update();
    reader_.read([this](const tracing::live_record& record) {
        add(record);
        return true;
    });
}

void names::add(const tracing::live_record& from) {
    const recording::event_type* const type =
        types_.find(tracing::formats::head_of(from.data).event);
    if (!type || !type->is_described || type->is_eventpipe)
        return;
    const std::string tracepoint(type->registered_name());
    auto found = counts_.find(tracepoint);
    if (found == counts_.end()) {
        if (counts_.size() >= most_tracepoints_)
            return;
        found = counts_.try_emplace(tracepoint).first;
    }
    name_counts& counts = found->second;
    std::string name;
    append_name(name, recording::record{.time = from.time,
                                        .cpu = from.cpu,
                                        .pid = 0,
                                        .tgid = 0,
                                        .task = {},
                                        .instance = {},
                                        .event = type,
                                        .data = from.data});
    const auto known = counts.records.find(name);
    if (known != counts.records.end())
        known->second++;
    else if (counts.records.size() < most_names_ && name.size() <= longest_name)
        counts.records.emplace(std::move(name), 1);
    else
        counts.others++;
}

} // namespace tool::metrics
