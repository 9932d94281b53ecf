// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/following.hpp"

#include "eventheader/tracepoint_name.hpp"
#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "text/glob.hpp"
#include "text/nearest.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace tool::tracing {

namespace {

std::string registered(const event_name& name) {
    return std::string(recording::registered_name(name.system, name.event));
}

/// For a name that is mistyped, the command would wait silently.
void warn_of_no_event(const pattern& wanted, const instance& in) {
    if (wanted.is_for_user_events()) {
        std::vector<std::string> names;
        for (const auto& each : all_user_events(in))
            names.push_back(registered(each));
        text::warn(
            fmt::format("no event matches {} so far", wanted.text()),
            text::did_you_mean(wanted.event(), names, "it will be recorded as soon as it exists"));
        return;
    }
    const std::string& provider = wanted.provider();
    if (!user_events(wanted.of_tracepoints()).empty())
        return;
    text::warn(fmt::format("there is no system and no provider {} so far", provider),
               text::did_you_mean(provider, directories(instance::top().path("events")),
                                  "its events will be recorded as soon as it has any"));
}

/// Globs of names that match the pattern and are wanted. They may match others, too.
std::vector<std::string> globs_of(const std::string& pattern, const eventheader::choice& choice) {
    if (choice.is_all() || !pattern.ends_with('*'))
        return {pattern};
    const std::string begin = pattern.substr(0, pattern.size() - 1);
    // What is behind the last `_` may be a level already.
    if (begin.find_first_of(text::glob_characters) != begin.npos || begin.find("_L") != begin.npos)
        return {pattern};
    auto result = eventheader::tracepoint_globs(pattern, choice);
    if (begin.ends_with('_'))
        for (auto& glob : eventheader::tracepoint_globs(begin.substr(0, begin.size() - 1), choice))
            result.push_back(std::move(glob));
    return result;
}

/// An event for which an earlier rule counts is no failure of a later one.
bool is_earlier_rule(const std::string& reason) {
    return reason.ends_with("already enabled or filtered") ||
           reason.ends_with("recorded there for other programs, or with another filter or limit");
}

} // namespace

bool wanted_events::includes(const event_name& name) const {
    const auto is_meant = [&](const pattern& each) {
        return each.matches(name) || (has_providers && each.may_describe(name));
    };
    // Events of the kernel have neither level nor keyword.
    return (!recording::is_user_system(name.system) || choice.includes(registered(name))) &&
           (patterns.empty() || std::any_of(patterns.begin(), patterns.end(), is_meant));
}

bool wanted_events::matches(const event_name& name, const std::string& event) const {
    return patterns.empty() ||
           std::any_of(patterns.begin(), patterns.end(), [&](const pattern& each) {
               return each.matches(name) || (has_providers && each.describes(name, event));
           });
}

bool wanted_events::is_filtered_by_caller(std::string_view registered_name) const {
    return is_filter_own || (is_filter_shared && !filter.empty() &&
                             eventheader::to_tracepoint_name(registered_name).is_complete);
}

namespace {

template <typename Condition>
void remove_from(std::vector<rule>& rules, Condition is_unwanted) {
    std::erase_if(rules, [&](const rule& each) {
        const bool is_removed = is_unwanted(each);
        if (is_removed)
            remove_rule(each.text());
        return is_removed;
    });
}

int open_if_readable(const char* name) {
    return open(instance::top().path(name).c_str(), O_RDONLY | O_CLOEXEC);
}

/// Appends the text of a file. Returns whether it could be read.
bool append_text(std::string& to, int file) {
    const std::size_t begin = to.size();
    std::array<char, 1 << 16> part;
    ssize_t size = -1;
    while ((size = pread(file, part.data(), part.size(), static_cast<off_t>(to.size() - begin))) >
           0)
        to.append(part.data(), static_cast<std::size_t>(size));
    return size == 0;
}

} // namespace

event_changes::event_changes()
    : status_(open_if_readable("user_events_status")),
      groups_(open_if_readable("user_events_groups")) {}

event_changes::~event_changes() {
    for (const int file : {status_, groups_})
        if (file >= 0)
            close(file);
}

bool event_changes::may_have_happened() {
    // An event may have its line before its directory.
    constexpr std::chrono::seconds longest_delay(1);
    // A group may have as many events as before, but others.
    constexpr std::chrono::seconds longest_pause(5);
    std::string now_seen;
    const bool is_known = append_text(now_seen, status_);
    const std::size_t of_default = now_seen.size();
    (void)append_text(now_seen, groups_);
    const bool has_groups = std::count(now_seen.begin() + static_cast<std::ptrdiff_t>(of_default),
                                       now_seen.end(), '\n') > 1;
    const auto now = std::chrono::steady_clock::now();
    if (!is_known || now_seen != seen_)
        settled_ = now + longest_delay;
    seen_ = std::move(now_seen);
    if (now >= settled_ && !(has_groups && now - listed_ >= longest_pause))
        return false;
    listed_ = now;
    return true;
}

following::following(const instance& in, wanted_events wanted)
    : in_(in), wanted_(std::move(wanted)), has_rules_(has_rules()) {
    if (wanted_.patterns.empty())
        wanted_.patterns.emplace_back("*", std::string(all_groups));
    rule_.options[rule::instance] = in_.name();
    choose_programs();
    const auto left = left_rules();
    try {
        follow_instead_of(left);
        is_begun_ = true;
    } catch (...) {
        // They record for the next process that adopts the instance.
        release(left);
        throw;
    }
}

/// Follows all patterns. Of the rules that are left, only those that are wanted stay.
void following::follow_instead_of(std::vector<rule> left) {
    // The kernel adds no rule that conflicts with one for other programs.
    remove_from(left, [&](const rule& each) { return each.programs() != rule_.programs(); });
    for (const auto& each : wanted_.patterns)
        follow(each);
    remove_from(left, [&](const rule& each) { return !has_own(each); });
    if (are_rules_wide_)
        disable_others();
}

void following::choose_programs() {
    const scope& programs = wanted_.programs;
    programs.require();
    if (has_rules_ && !programs.has_children)
        programs.limit(rule_);
    else if (programs.is_for_rules_only())
        throw text::failure("--comm, --exe, --cgroup and --uid need rules",
                            remedy_without_rules() + "; --pid does without");
    record_only(in_, rule_.programs().empty() ? programs.pids : std::vector<std::string>());
}

void following::follow(const pattern& wanted) {
    const bool is_shared = wanted_.is_filter_shared && !wanted_.filter.empty();
    const bool is_for_providers = wanted_.has_providers && wanted.is_for_providers();
    // A rule for marks could not choose programs: enable_existing() enables them.
    const bool is_for_tracepoints =
        wanted.is_for_registered_events() && wanted.is_for_tracepoints();
    are_rules_wide_ |= has_rules_ && (!wanted_.choice.is_all() || is_shared);
    const auto add = [&](const std::string& glob, auto set, const std::string& filter) {
        rule added = rule_;
        (wanted.*set)(added, glob);
        added.filter = filter;
        this->add(added);
    };
    // The first rule that matches counts.
    if (is_shared && is_for_tracepoints)
        for (const auto& glob : eventheader::tracepoint_globs("*", wanted_.choice))
            add(glob, &pattern::set_glob, "");
    if (is_for_providers)
        for (const auto& glob : eventheader::tracepoint_globs(wanted.provider(), wanted_.choice))
            add(glob, &pattern::set_provider_glob, is_shared ? "" : wanted_.filter);
    if (is_for_tracepoints)
        for (const auto& glob : globs_of(wanted.event(), wanted_.choice))
            add(glob, &pattern::set_glob, wanted_.filter);
    enable_existing(wanted, is_for_providers);
}

void following::add(const rule& added) {
    if (!has_rules_ || has_own(added))
        return;
    // One that exists is of a killed process, whose instance this one has adopted.
    rules_.emplace_back(added);
    const auto reason = failure_of_rule(added);
    if (reason.empty() || is_earlier_rule(reason))
        return;
    // "failed for 1: order_lost: Field not found"
    for (const auto& name : user_events({}, in_))
        if (reason.find(": " + registered(name) + ": ") != reason.npos && added.is_for(name))
            throw_unfit_filter(in_, name, added.filter, reason);
    failures_.insert(reason);
    text::warn(fmt::format("the filter \"{}\" does not fit: {}", added.filter, reason));
}

/// Warns of events that were created since.
void following::look_at_rules() {
    if (wanted_.filter.empty())
        return;
    for (const auto& own : rules_)
        if (const auto reason = own.failure();
            !reason.empty() && !is_earlier_rule(reason) && failures_.insert(reason).second)
            text::warn(fmt::format("the filter \"{}\" does not fit: {}", wanted_.filter, reason),
                       "no records of this event are made");
}

void following::require_all() {
    look_at_rules();
    if (!failures_.empty())
        throw text::failure(
            fmt::format("events had no records, because the filter \"{}\" does not fit them",
                        wanted_.filter),
            "name the events that it fits, or filter later: user-events report -f FILTER");
}

/// What rules are not for: events of the kernel and marks, and all events without rules.
void following::enable_existing(const pattern& wanted, bool is_for_providers) {
    const auto names = events(wanted, in_);
    if (names.empty() && !is_for_providers && !(wanted.is_for_user_events() && has_user_events()))
        throw_no_event(wanted, fmt::format("the kernel's events are in {}/events; some "
                                           "come with a module",
                                           mount_point()));
    if (names.empty() && !(wanted.is_for_user_events() && wanted.event() == "*"))
        warn_of_no_event(wanted, in_);
    for (const auto& name : names)
        if ((!has_rules_ || !recording::is_registered_system(name.system)) &&
            wanted_.includes(name) && can_choose_programs(wanted, name))
            enable(name);
}

/// Whether only records of the programs that are wanted would be made of an event, which has no
/// rule. Throws text::usage_error if the pattern means this event.
bool following::can_choose_programs(const pattern& wanted, const event_name& name) {
    if (rule_.programs().empty())
        return true;
    if (!wanted_.programs.is_for_rules_only()) {
        // All that the programs do is in their records of the kernel's events.
        if (!is_limited_)
            record_only(in_, wanted_.programs.pids);
        is_limited_ = true;
        return true;
    }
    if (recording::is_user_system(name.system) && wanted.is_for_registered_events())
        return false;
    throw text::usage_error(
        fmt::format("--comm, --exe, --cgroup and --uid are not for {}:{}", name.system, name.event),
        "they are for events that programs register; --pid is also for events of the kernel and "
        "marks");
}

void following::release() noexcept {
    for (auto& rule : rules_)
        rule.release();
}

/// Leaves those of the own rules that are among these.
void following::release(const std::vector<rule>& left) noexcept {
    for (auto& own : rules_)
        if (std::any_of(left.begin(), left.end(), [&](const rule& each) { return own.is(each); }))
            own.release();
}

bool following::has_own(const rule& other) const {
    return std::any_of(rules_.begin(), rules_.end(),
                       [&](const temporary_rule& own) { return own.is(other); });
}

/// An instance that was adopted may have rules of a killed process, for other events or programs.
std::vector<rule> following::left_rules() const {
    std::vector<rule> result;
    if (has_rules_)
        for (const rule& each : rules())
            if (each.options[rule::instance] == in_.name())
                result.push_back(each);
    return result;
}

void following::enable(const event_name& name) {
    if (!enabled_.insert(name).second)
        return;
    // A filter may be for some of the events only.
    if (!wanted_.filter.empty() && !wanted_.is_filtered_by_caller(registered(name))) {
        if (const int error = in_.try_write(name.directory() + "/filter", wanted_.filter)) {
            if (error == EINVAL && !is_begun_)
                throw_unfit_filter(in_, name, wanted_.filter, "the kernel refuses it");
            failures_.insert(name.event);
            text::warn(fmt::format("the filter \"{}\" does not fit the event {}", wanted_.filter,
                                   name.event),
                       "no records of this event are made");
            if (error == EINVAL)
                return;
        }
    }
    const int error = in_.try_write(name.directory() + "/enable", "1");
    // It may have been removed in the meantime.
    if (error && error != ENOENT && error != ENODEV)
        throw text::file_failure(error, "enable", in_.path(name.directory()));
}

/// Names that do not exist any more are forgotten: a program may create them again.
void following::disable_others() {
    std::set<event_name> others;
    for (const auto& name : user_events({}, in_))
        if (!wanted_.includes(name))
            others.insert(name);
    for (const auto& name : others)
        if (!disabled_.count(name))
            (void)in_.try_write(name.directory() + "/enable", "0");
    disabled_ = std::move(others);
}

void following::update() {
    const bool is_rule_enough = has_rules_ && !are_rules_wide_ && wanted_.filter.empty();
    if (is_rule_enough || !changes_.may_have_happened())
        return;
    if (has_rules_) {
        look_at_rules();
        if (are_rules_wide_)
            disable_others();
        return;
    }
    for (const auto& name : user_events({}, in_))
        if (wanted_.includes(name))
            enable(name);
}

} // namespace tool::tracing
