// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/checks.hpp"
#include "diagnosis/facts.hpp"
#include "text/table.hpp"
#include "tracing/data_file.hpp"
#include "tracing/events.hpp"
#include "tracing/groups.hpp"
#include "tracing/live_source.hpp"
#include "tracing/programs.hpp"
#include "tracing/tracefs.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace tool::diagnosis {

namespace {

/// Kilobytes for each CPU. A buffer that nothing has used has two numbers: "7 (expanded: 1408)".
unsigned long size_of_buffers(const tracing::instance& of) {
    const std::string text = of.read("buffer_size_kb");
    const auto expanded = text.find("expanded: ");
    return std::strtoul(text.c_str() + (expanded == text.npos ? 0 : expanded + 10), nullptr, 10);
}

} // namespace

/// Those of the group "default" have files of their own.
static std::vector<tracing::group> other_groups() {
    auto result = tracing::groups();
    std::erase_if(result, [](const tracing::group& each) { return each.name == "default"; });
    return result;
}

finding number_of_events() {
    const std::string most = first_line("/proc/sys/kernel/user_events_max");
    const std::size_t number = tracing::status().size();
    std::string found = fmt::format("{} of {} exist", number, most.empty() ? "any number" : most);
    if (!most.empty() && number + 1 >= std::strtoull(most.c_str(), nullptr, 10))
        return bad(std::move(found),
                   "sysctl kernel.user_events_max=65000, or `user-events delete PATTERN`");
    const auto groups = other_groups();
    std::uint64_t others = 0;
    for (const auto& group : groups) {
        if (group.events + 1 >= group.most)
            return bad(
                fmt::format("{} of {} exist in the group {}", group.events, group.most, group.name),
                fmt::format("echo '{} max={}' >>{}", group.name, 2 * (group.most + 1),
                            tracing::instance::top().path("user_events_groups")));
        others += group.events;
    }
    if (!groups.empty())
        found += fmt::format(", and {} in {} other group{}", others, groups.size(),
                             groups.size() == 1 ? "" : "s");
    return good(std::move(found));
}

finding lost_records() {
    std::vector<std::string> events;
    for (const auto& [name, used] : tracing::status())
        if (used.lost)
            events.push_back(fmt::format("{} of {}", used.lost, name));
    for (const auto& group : other_groups())
        if (group.lost)
            events.push_back(fmt::format("{} in the group {}", group.lost, group.name));
    if (events.empty())
        return good("none");
    return note(text::joined(events),
                "enlarge the buffers: echo 8192 >" +
                    tracing::instance::top().path("buffer_size_kb") +
                    ", or record fewer events: `user-events list` shows where they are recorded");
}

finding buffers() {
    std::vector<std::string> sizes, off;
    auto names = tracing::instance_names();
    names.insert(names.begin(), "");
    for (const auto& name : names) {
        const auto instance = tracing::instance::existing(name);
        const char* const shown = name.empty() ? "top-level" : name.c_str();
        sizes.push_back(fmt::format("{} {} kB", shown, size_of_buffers(instance)));
        if (!name.starts_with(tracing::temporary_prefix) &&
            instance.read("tracing_on").starts_with('0'))
            off.push_back(instance.path("tracing_on"));
    }
    const std::string found = fmt::format("{} for each CPU", text::joined(sizes));
    if (off.empty())
        return good(found);
    return note(fmt::format("{}; recording is switched off by {}", found, text::joined(off)),
                "echo 1 >" + text::joined(off, "; echo 1 >"));
}

finding left_instances() {
    std::vector<std::string> left, remedies;
    for (const auto& name : tracing::instance_names())
        // `ship` goes on with an instance that has the number of a killed process.
        if (name.starts_with(tracing::temporary_prefix) && !tracing::is_in_use(name) &&
            tracing::users_of_instance(name).empty()) {
            left.push_back(name);
            remedies.push_back("user-events doctor --remove " + name);
        }
    if (left.empty())
        return good("no killed user-events has left an instance");
    return bad("a killed user-events has left: " + text::joined(left),
               "if it was a recording: user-events record --recover -o FILE; if it was "
               "user-events ship --spool: start that again, it goes on with the instance; else: " +
                   text::joined(remedies, "; "));
}

finding round_trip() {
    static constexpr char remedy[] = "the kernel log may say why; report it as a bug";
    const auto in = tracing::instance::temporary();
    tracing::data_file file;
    const std::string name = fmt::format("user_events_doctor_{}", getpid());
    const auto index = file.add(name + " u32 number", false);
    const std::string enable = "events/user_events/" + name + "/enable";
    in.write("tracing_on", "1");
    in.write(enable, "1");
    if (!file.is_enabled())
        return bad("the enable bit was not set", remedy);
    const std::array number{std::byte(1), std::byte(2), std::byte(3), std::byte(4)};
    file.write(index, number);
    bool is_there = false;
    const tracing::wanted_events wanted{.patterns = {tracing::pattern(name)}};
    tracing::live_source(in, wanted).read([&](const recording::record& record) {
        is_there =
            record.data.size() >= 12 && std::memcmp(record.data.data() + 8, number.data(), 4) == 0;
        return true;
    });
    if (!is_there)
        return bad("the record is not there", remedy);
    in.write(enable, "0");
    if (file.is_enabled())
        return bad("the enable bit was not cleared", remedy);
    if (!file.unregister())
        return bad("the event could not be unregistered", remedy);
    return good("an event was registered, enabled, written, read and unregistered");
}

} // namespace tool::diagnosis
