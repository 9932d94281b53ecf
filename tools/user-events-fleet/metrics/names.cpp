// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/names.hpp"

#include "eventheader/tracepoint_name.hpp"
#include "recording/event_type.hpp"
#include "recording/record.hpp"
#include "text/escape.hpp"
#include "text/glob.hpp"

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

std::string label_of(const std::string& system, const std::string& event) {
    const std::string result = text::to_utf8(recording::registered_name(system, event));
    return recording::is_system_of(system, "default") ? result : system + ":" + result;
}

std::vector<tracing::pattern>
names::for_tracepoints(const std::vector<tracing::pattern>& patterns) {
    std::vector<tracing::pattern> result;
    for (const auto& each : patterns) {
        const std::string_view text = each.text();
        if (text.find_first_of(text::glob_characters) != text.npos ||
            eventheader::to_tracepoint_name(text.substr(text.rfind(':') + 1)).is_complete)
            result.push_back(each);
    }
    return result;
}

names::names(const tracing::instance& in, std::vector<tracing::pattern> patterns,
             std::uint64_t most_names, std::uint64_t most_tracepoints)
    : most_names_(most_names), most_tracepoints_(most_tracepoints),
      wanted_(described(std::move(patterns))), following_(in, wanted_),
      source_(in, wanted_, {}, {.has_tasks = false, .has_only_instance = true}) {}

void names::read() {
    following_.update();
    source_.read([this](const recording::record& record) {
        add(record);
        return true;
    });
}

void names::add(const recording::record& record) {
    if (!record.event->is_described || record.event->is_eventpipe)
        return;
    const std::string tracepoint = label_of(record.event->system, record.event->name);
    auto found = counts_.find(tracepoint);
    if (found == counts_.end()) {
        if (counts_.size() >= most_tracepoints_)
            return;
        found = counts_.try_emplace(tracepoint).first;
    }
    name_counts& counts = found->second;
    std::string name;
    append_name(name, record);
    name = text::to_utf8(name);
    const auto known = counts.records.find(name);
    if (known != counts.records.end())
        known->second++;
    else if (counts.records.size() < most_names_ && name.size() <= longest_name)
        counts.records.emplace(std::move(name), 1);
    else
        counts.others++;
}

} // namespace tool::metrics
