// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/counting.hpp"

#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "tracing/groups.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

namespace tool::metrics {

using tracing::event_name;
using tracing::histogram;

namespace {

/// To how many events the module applies a rule with a trigger unless the rule has a maximum.
constexpr std::size_t triggers_max = 512;

/// Rows of the kernel's table of threads. A row takes some 200 bytes.
constexpr std::size_t rows = 256;

// The kernel shows histograms in the order in which they were made. So the total is read before the
// numbers of the programs, and never has a record that they lack because it was made in between.
constexpr char total_trigger[] = "hist:keys=common_type:size=128";
constexpr std::string_view total_shown = "hist:keys=common_type:";
const std::string program_trigger = fmt::format("hist:keys=common_pid.execname:size={}", rows);
constexpr std::string_view program_shown = "hist:keys=common_pid.execname:";

std::string field_shown(const std::string& field) {
    return fmt::format("hist:keys={}.log2:", field);
}

/// The kernel needs room for the 65 powers of two; this is the least that it takes.
std::string field_trigger(const std::string& field) {
    return fmt::format("{0}vals={1}:size=128", field_shown(field), field);
}

/// "user-events" of "common_pid: user-events [ 76]", in UTF-8.
std::string program_of(const std::string& keys) {
    static constexpr std::string_view key = "common_pid: ";
    const auto number = keys.rfind(" [");
    if (!keys.starts_with(key) || number == keys.npos || number < key.size())
        return {};
    return text::to_utf8(std::string_view(keys).substr(key.size(), number - key.size()));
}

const histogram* find(const std::vector<histogram>& in, std::string_view shown) {
    const auto found = std::find_if(in.begin(), in.end(), [&](const histogram& each) {
        return each.trigger.starts_with(shown);
    });
    return found == in.end() ? nullptr : &*found;
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& counts) {
    std::uint64_t sum = 0;
    for (const auto& [name, count] : counts)
        sum += count;
    return sum;
}

/// "a: ~ 2^10": 10.
unsigned power_of(const std::string& keys) {
    const auto at = keys.rfind("2^");
    return at == keys.npos ? 0 : static_cast<unsigned>(text::number_behind(keys.substr(at), "2^"));
}

void read_field(const histogram& from, const std::string& field, distribution& to) {
    to.counts.clear();
    to.sum = 0;
    for (const auto& bucket : from.buckets) {
        const unsigned power = power_of(bucket.keys);
        // For the kernel negative numbers are large ones.
        const bool is_negative = to.is_signed && power == 64;
        to.has_negative |= is_negative;
        to.counts[is_negative ? 0 : power] += bucket.count;
        to.sum += tracing::number_of(field, bucket.sums);
    }
}

} // namespace

chosen_field::chosen_field(const std::string& text, const std::string& group)
    : event([&] {
          const auto colon = text.rfind(':');
          if (colon == text.npos || colon == 0 || colon + 1 == text.size())
              throw text::usage_error(fmt::format("--histogram {} makes no sense", text),
                                      "write it as EVENT:FIELD, with a field that is an integer");
          return tracing::pattern(text.substr(0, colon), group);
      }()),
      field(text.substr(text.rfind(':') + 1)) {}

counting::counting(const tracing::instance& in, std::vector<tracing::pattern> patterns,
                   std::vector<chosen_field> fields, const limits& limits)
    : in_(in), patterns_(std::move(patterns)), fields_(std::move(fields)), limits_(limits),
      has_rules_(tracing::has_rules()) {
    if (patterns_.empty())
        patterns_.emplace_back("*", std::string(tracing::all_groups));
    else
        for (const auto& chosen : fields_)
            patterns_.push_back(chosen.event);
    for (const auto& wanted : patterns_)
        if (!wanted.is_for_user_events())
            throw text::usage_error(fmt::format("{} matches no user event", wanted.text()),
                                    "`user-events hist` counts events of the kernel");
    if (!tracing::has_user_events())
        tracing::throw_no_event(patterns_.front(), "");
    add_rules();
    update();
}

void counting::add_rules() {
    if (!has_rules_)
        return;
    const auto add = [this](const tracing::pattern& wanted, const std::string& trigger) {
        // The module's own limit for a rule with a trigger is lower than what may be asked for.
        tracing::rule rule{.trigger = trigger};
        wanted.set_glob(rule, wanted.event());
        rule.options[tracing::rule::instance] = in_.name();
        if (limits_.events > triggers_max)
            rule.options[tracing::rule::max] =
                std::to_string(std::min<std::uint64_t>(limits_.events, UINT32_MAX));
        if (std::none_of(rules_.begin(), rules_.end(),
                         [&](const auto& own) { return own.is(rule); }))
            rules_.emplace_back(std::move(rule));
    };
    for (const char* const trigger : {total_trigger, program_trigger.c_str()})
        for (const auto& wanted : patterns_)
            add(wanted, trigger);
    for (const auto& chosen : fields_)
        add(chosen.event, field_trigger(chosen.field));
}

std::vector<std::string> counting::triggers_of(const event_name& name) const {
    std::vector<std::string> result{total_trigger, program_trigger};
    for (const auto& chosen : fields_)
        if (chosen.event.matches(name))
            result.push_back(field_trigger(chosen.field));
    return result;
}

void counting::attach(const event_name& name) {
    for (const auto& trigger : triggers_of(name)) {
        const int error = in_.try_append(name.directory() + "/trigger", trigger);
        // It was removed just now; add_fields() warns about a field.
        if (error && error != ENOENT && error != ENODEV && error != EINVAL && error != EEXIST)
            throw text::file_failure(error, "write to", in_.path(name.directory() + "/trigger"));
    }
}

void counting::detach(const event_name& name) {
    for (const auto& trigger : triggers_of(name))
        in_.try_append(name.directory() + "/trigger", "!" + trigger);
}

void counting::add_fields(const event_name& name, state& to) {
    const tep_event* const format = formats_.find(name);
    if (!format)
        return;
    const recording::event_type type(*format);
    for (const auto& chosen : fields_) {
        if (!chosen.event.matches(name))
            continue;
        const recording::field* const field = type.find(chosen.field);
        if (field &&
            (field->kind == recording::kind::integer || field->kind == recording::kind::natural))
            to.fields[field->name] = {field->is_signed, field->size * 8, {}, 0, false};
        else
            text::warn(fmt::format("--histogram {}:{} is not counted: the event {} has {}",
                                   chosen.event.text(), chosen.field, name.event,
                                   field ? "no integer in this field" : "no such field"));
    }
}

void counting::update() {
    for (const auto& name : tracing::user_events(patterns_, in_)) {
        if (states_.count(name) || not_counted_.count(name))
            continue;
        if (states_.size() >= limits_.events) {
            if (not_counted_.empty())
                text::warn(fmt::format("more than {} events exist: the others are not counted; "
                                       "--events changes the limit",
                                       limits_.events));
            not_counted_.insert(name);
            detach(name);
            continue;
        }
        if (!has_rules_ || !recording::is_registered_system(name.system))
            attach(name);
        add_fields(name, states_[name]);
    }
    for (auto& [name, of] : states_)
        if (of.is_crowded)
            make_room(name, of);
}

/// Takes what the kernel's table of threads has, and clears it. Records that are made before it
/// counts again have no program.
void counting::make_room(const event_name& name, state& of) {
    const std::string file = name.directory() + "/trigger";
    const auto change = [&](const char* to) {
        return in_.try_append(file, program_trigger + to) == 0;
    };
    if (!change(":pause"))
        return;
    read(name, of);
    if (change(":clear")) {
        for (const auto& [program, count] : of.now)
            (has_own_number(name, program) ? of.before[program] : of.folded) += count;
        of.now.clear();
        of.is_crowded = false;
    }
    change(":cont");
}

void counting::read_programs(const std::vector<histogram>& from, state& to) {
    const histogram* const total = find(from, total_shown);
    const histogram* const programs = find(from, program_shown);
    if (!total || !programs)
        return;
    to.now.clear();
    for (const auto& bucket : programs->buckets)
        to.now[program_of(bucket.keys)] += bucket.count;
    to.is_crowded = programs->buckets.size() >= rows / 2 || programs->dropped;
    const std::uint64_t all =
        total->dropped + (total->buckets.empty() ? 0 : total->buckets.front().count);
    const std::uint64_t counted = sum_of(to.before) + sum_of(to.now) + to.folded;
    if (all > counted)
        to.missing = std::max(to.missing, all - counted);
}

void counting::read(const event_name& name, state& to) {
    const auto text = in_.try_read(name.directory() + "/hist");
    // It was removed.
    if (!text)
        return;
    const auto histograms = tracing::to_histograms(*text);
    read_programs(histograms, to);
    for (auto& [field, distribution] : to.fields)
        if (const histogram* const found = find(histograms, field_shown(field)))
            read_field(*found, field, distribution);
}

bool counting::has_own_number(const event_name& name, const std::string& program) {
    auto& own = programs_[label_of(name.system, name.event)];
    return own.count(program) || (own.size() < limits_.programs && own.insert(program).second);
}

void counting::add(const event_name& name, const state& from, event_counts& to) {
    for (const auto* const counts : {&from.before, &from.now})
        for (const auto& [program, count] : *counts)
            (has_own_number(name, program) ? to.records[program] : to.others) += count;
    to.others += from.folded + from.missing;
    for (const auto& [field, found] : from.fields) {
        distribution& all = to.fields[field];
        all.is_signed |= found.is_signed;
        all.bits = std::max(all.bits, found.bits);
        all.sum += found.sum;
        all.has_negative |= found.has_negative;
        for (const auto& [power, count] : found.counts)
            all.counts[power] += count;
    }
}

sample counting::read() {
    update();
    sample result;
    tracing::statuses status;
    const auto instances = tracing::all_instances();
    for (auto& [name, state] : states_) {
        read(name, state);
        event_counts& event = result.events[label_of(name.system, name.event)];
        add(name, state, event);
        const auto& used = status.of(name);
        event.lost += used.lost;
        const auto by = tracing::recorders(name, used, instances);
        // A trigger alone may be one of these, and the instance of this program.
        event.recorders += static_cast<std::uint64_t>(
            std::count_if(by.begin(), by.end(), [this](const std::string& each) {
                return each != "trigger" && each != in_.name();
            }));
    }
    for (const auto& name : tracing::user_events({}, in_))
        result.registered += recording::is_system_of(name.system, "default");
    std::erase_if(not_counted_, [&](const event_name& name) { return !in_.has(name.directory()); });
    result.not_counted = not_counted_.size();
    result.most =
        std::strtoull(tracing::first_line("/proc/sys/kernel/user_events_max").c_str(), nullptr, 10);
    result.has_lost = has_rules_;
    return result;
}

} // namespace tool::metrics
