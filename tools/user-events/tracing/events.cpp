// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/events.hpp"

#include "recording/event_type.hpp"
#include "recording/parse_event.hpp"
#include "recording/record.hpp"
#include "text/errors.hpp"
#include "text/glob.hpp"
#include "text/nearest.hpp"
#include "text/number.hpp"
#include "tracing/libtracefs.hpp"
#include "tracing/rule.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace tool::tracing {

std::string to_pattern(const event_name& name) {
    return recording::is_system_of(name.system, "default") ? name.event
                                                           : name.system + ":" + name.event;
}

pattern::pattern(std::string text, std::string group)
    : text_(std::move(text)), group_(std::move(group)), system_("*"), event_(text_),
      described_(text_) {
    const auto is_odd = [](char character) {
        return character == '/' || static_cast<unsigned char>(character) <= ' ' ||
               character == 0x7f;
    };
    const auto has_odd = [&](const std::string& part) {
        return std::any_of(part.begin(), part.end(), is_odd);
    };
    const auto colon = text_.find(':');
    if (colon != text_.npos) {
        system_ = text_.substr(0, colon);
        event_ = text_.substr(colon + 1);
    }
    is_for_tracepoints_ = event_.find(':') == event_.npos && !has_odd(event_);
    // A program may give its events any name.
    if (system_.empty() || event_.empty() || has_odd(system_) ||
        (colon == text_.npos && !is_for_tracepoints_))
        throw text::usage_error(fmt::format("\"{}\" is no pattern of events", text_),
                                "write NAME, SYSTEM:NAME or PROVIDER:EVENT, with *, ? and [a-z]");
}

bool pattern::is_for_providers() const {
    return !described_.provider().empty() &&
           (is_for_user_events() || !instance::top().has("events/" + system_));
}

bool pattern::is_for_group(const std::string& system) const {
    if (group_.empty())
        return true;
    return group_ == all_groups ? recording::is_user_system(system)
                                : recording::is_system_of(system, group_);
}

bool pattern::is_for_system(const std::string& name) const {
    if (!has_system())
        return is_for_group(name);
    const bool is_named = system_.find_first_of(text::glob_characters) == system_.npos;
    return text::is_glob_of(system_, name) &&
           (is_named || !recording::is_registered_system(name) || is_for_group(name));
}

void pattern::set_glob(rule& of, const std::string& glob) const {
    if (!has_system())
        return set_provider_glob(of, glob);
    const bool is_limited = system_.find_first_of(text::glob_characters) != system_.npos &&
                            !group_.empty() && group_ != all_groups;
    of.pattern = fmt::format("{}:{}", system_, glob);
    of.options[rule::group] = is_limited ? group_ : "";
}

void pattern::set_provider_glob(rule& of, const std::string& glob) const {
    const bool is_for_all = group_ == all_groups;
    of.pattern = is_for_all ? "user_events*:" + glob : glob;
    of.options[rule::group] = is_for_all || group_ == "default" ? "" : group_;
}

bool pattern::may_describe(const event_name& name) const {
    return is_for_group(name.system) &&
           described_.may_match(recording::registered_name(name.system, name.event));
}

bool pattern::describes(const event_name& name, const std::string& event) const {
    return is_for_group(name.system) &&
           described_.matches(recording::registered_name(name.system, name.event), event);
}

std::vector<pattern> pattern::of_tracepoints() const {
    std::vector<pattern> result;
    for (auto& glob : eventheader::tracepoint_globs(provider(), {}))
        result.emplace_back(std::move(glob), group_);
    return result;
}

bool pattern::matches(const event_name& name) const {
    return is_for_system(name.system) &&
           (text::is_glob_of(event_, name.event) ||
            text::is_glob_of(event_, recording::registered_name(name.system, name.event)));
}

bool pattern::is_for_user_events() const {
    return is_for_registered_events() || text::is_glob_of(system_, recording::mark_system);
}

bool pattern::is_for_registered_events() const {
    return text::is_glob_of(system_, recording::one_format_system) ||
           text::is_glob_of(system_, recording::multi_format_system) ||
           system_.starts_with(recording::group_system_prefix);
}

bool matches_any(const std::vector<pattern>& patterns, const event_name& name) {
    return patterns.empty() ||
           std::any_of(patterns.begin(), patterns.end(),
                       [&](const pattern& wanted) { return wanted.matches(name); });
}

std::vector<pattern> to_patterns(const std::vector<std::string>& texts, const std::string& group) {
    std::vector<pattern> result;
    result.reserve(texts.size() + 1);
    for (const auto& text : texts)
        result.emplace_back(text, group);
    if (texts.empty() && !group.empty())
        result.emplace_back("*", group);
    return result;
}

std::vector<event_name> user_events(const std::vector<pattern>& patterns, const instance& in) {
    std::vector<event_name> result;
    for (const char* system : recording::user_systems)
        for (const auto& name : directories(in.path(std::string("events/") + system)))
            if (event_name found{system, name}; matches_any(patterns, found))
                result.push_back(std::move(found));
    std::vector<pattern> of_groups = patterns;
    std::erase_if(of_groups, [](const pattern& each) { return !each.is_for_groups(); });
    if (of_groups.empty() && !patterns.empty())
        return result;
    for (auto& found : all_user_events(in))
        if (recording::is_registered_system(found.system) &&
            !recording::is_system_of(found.system, "default") && matches_any(of_groups, found))
            result.push_back(std::move(found));
    return result;
}

std::vector<event_name> events(const pattern& wanted, const instance& in) {
    if (!wanted.has_system())
        return user_events({wanted}, in);
    std::vector<event_name> result;
    for (const auto& system : directories(in.path("events")))
        for (const auto& name : directories(in.path("events/" + system)))
            if (event_name found{system, name}; wanted.matches(found))
                result.push_back(std::move(found));
    return result;
}

bool has_user_events() {
    return instance::top().has("user_events_data");
}

std::string remedy_without_user_events() {
    return text::remedy_for(ENOENT, "user_events_data");
}

void throw_no_event(const pattern& wanted, std::string remedy) {
    if (wanted.is_for_user_events() && !has_user_events())
        throw text::failure(
            fmt::format("no event matches {}: the kernel has no user events", wanted.text()),
            remedy_without_user_events());
    throw text::failure(fmt::format("no event matches {}", wanted.text()), std::move(remedy));
}

std::vector<event_name> all_user_events(const instance& in) {
    std::vector<event_name> result;
    for (const auto& system : directories(in.path("events")))
        if (recording::is_user_system(system) || system == recording::limit_system)
            for (auto& name : directories(in.path("events/" + system)))
                result.push_back({system, std::move(name)});
    return result;
}

void formats::release::operator()(tep_handle* handle) const noexcept {
    tep_free(handle);
}

formats::formats(instance in) : tep_(tep_alloc()), in_(std::move(in)) {
    if (!tep_)
        throw std::bad_alloc();
    // A format that it cannot parse is shown in another way, without its complaints.
    tep_set_loglevel(TEP_LOG_NONE);
    tep_set_long_size(tep_.get(), sizeof(long));
}

bool formats::load(const event_name& name) {
    const auto text = in_.try_read(name.directory() + "/format");
    if (!text)
        return false;
    const auto at = text->find("\nID: ");
    int id = 0;
    if (at == text->npos ||
        std::from_chars(text->data() + at + 5, text->data() + text->size(), id).ec != std::errc())
        return false;
    ids_[name] = id;
    if (tep_find_event(tep_.get(), id))
        return true;
    return recording::parse_event(tep_.get(), *text, name.system) && tep_find_event(tep_.get(), id);
}

tep_event* formats::find(const event_name& name) {
    if (!load(name))
        return nullptr;
    return tep_find_event(tep_.get(), ids_[name]);
}

tep_event* formats::find(int id) {
    if (tep_event* const known = tep_find_event(tep_.get(), id))
        return known;
    // Only those that are new are read.
    for (const auto& name : all_user_events(in_))
        if (!ids_.count(name))
            load(name);
    if (tep_event* const known = tep_find_event(tep_.get(), id))
        return known;
    // An event of the kernel; or one that was created again, with another number. The kernel has
    // thousands, and records of one that was removed ask for it again and again.
    if (!absent_.insert(id).second)
        return nullptr;
    // Those of ftrace itself have no file with their number.
    for (const auto& event : directories(in_.path("events/ftrace")))
        load({"ftrace", event});
    if (tep_event* const known = tep_find_event(tep_.get(), id))
        return known;
    for (const auto& system : directories(in_.path("events")))
        for (const auto& event : directories(in_.path("events/" + system)))
            if (const auto text = in_.try_read(event_name{system, event}.directory() + "/id");
                text && std::atoi(text->c_str()) == id) {
                load({system, event});
                return tep_find_event(tep_.get(), id);
            }
    return nullptr;
}

tep_event* formats::find_again(int id) {
    absent_.erase(id);
    return find(id);
}

/// Adds all threads of a process: a thread is not a child. Those that threads create which have
/// been added are added by the kernel; so this ends when all that exist have been.
static void record_threads(const instance& in, const std::string& process) {
    std::set<std::string> added;
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (const auto& thread : directories("/proc/" + process + "/task"))
            if (added.insert(thread).second) {
                if (const int error = in.try_append("set_event_pid", thread))
                    throw text::file_failure(error, "write to", in.path("set_event_pid"));
                is_new = true;
            }
    }
}

void record_only(const instance& in, const std::vector<std::string>& pids) {
    // An instance that was adopted may have others.
    in.write("set_event_pid", "");
    if (!pids.empty())
        in.write("options/event-fork", "1");
    for (const auto& id : pids)
        record_threads(in, id);
}

void throw_unfit_filter(const instance& in, const event_name& name, const std::string& filter,
                        const std::string& reason) {
    std::vector<std::string> fields, texts;
    formats known(in.copy());
    if (const tep_event* const format = known.find(name)) {
        texts = field_texts(*format);
        for (const auto* field = format->format.fields; field; field = field->next)
            fields.emplace_back(field->name);
    }
    std::string message =
        fmt::format("the filter \"{}\" does not fit the event {}: ", filter, name.event);
    const std::string remedy =
        fields.empty() ? "it has no fields" : fmt::format("its fields: {}", fmt::join(texts, "; "));
    for (const auto& compared : recording::to_filter(filter).names())
        if (std::find(fields.begin(), fields.end(), compared) == fields.end())
            throw text::usage_error(message.append("it has no field ").append(compared),
                                    text::did_you_mean(compared, fields, remedy));
    throw text::usage_error(message + reason, remedy);
}

void set_filter(const instance& of, const event_name& name, const std::string& filter) {
    const int error = of.try_write(name.directory() + "/filter", filter);
    if (error == EINVAL)
        throw_unfit_filter(of, name, filter, "the kernel refuses it");
    if (error)
        throw text::file_failure(error, "write to", of.path(name.directory() + "/filter"));
}

std::string type_text(const tep_format_field& field) {
    // The kernel's own user_events has the length of an array behind the field's name, and
    // libtraceevent puts something else between the brackets.
    const std::string_view type = field.type;
    const auto bracket = type.find('[');
    if (bracket == type.npos)
        return field.type;
    const auto base = type.substr(0, bracket);
    return field.flags & TEP_FIELD_IS_DYNAMIC ? fmt::format("{}[]", base)
                                              : fmt::format("{}[{}]", base, field.size);
}

std::vector<std::string> field_texts(const tep_event& event) {
    std::vector<std::string> result;
    for (const auto* field = event.format.fields; field; field = field->next)
        result.push_back(fmt::format("{} {}", type_text(*field), field->name));
    return result;
}

std::vector<std::string> recorders(const event_name& name, const usage& used,
                                   const std::vector<instance>& instances) {
    std::vector<std::string> result;
    for (const auto& instance : instances)
        if (const auto enabled = instance.try_read(name.directory() + "/enable");
            enabled && enabled->starts_with('1'))
            result.push_back(instance.name().empty() ? "ftrace" : instance.name());
    // Neither enabled nor recorded by perf: a trigger.
    if (used.ftrace && result.empty())
        result.emplace_back("trigger");
    if (used.perf)
        result.emplace_back("perf");
    return result;
}

/// Reads the text of user_events_status.
static std::map<std::string, usage> to_status(const std::string& text) {
    std::map<std::string, usage> result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line) && !line.empty();) {
        const auto mark = line.find(" # ");
        usage& entry = result[line.substr(0, mark)];
        if (mark == line.npos)
            continue;
        // "Used by ftrace perf; lost 174"
        const std::string rest = line.substr(mark + 3);
        entry.lost = text::number_behind(rest, "lost ");
        entry.ftrace = rest.find("ftrace") != rest.npos;
        entry.perf = rest.find("perf") != rest.npos;
    }
    return result;
}

std::map<std::string, usage> status() {
    const instance top = instance::top();
    if (const auto text = top.try_read("user_events_status"))
        return to_status(*text);
    throw text::file_failure(errno, "read", top.path("user_events_status"));
}

std::map<std::string, usage> status_of_group(const std::string& system) {
    if (recording::is_system_of(system, "default") || system == recording::mark_system)
        return status();
    constexpr std::string_view multi = "_multi";
    const std::string group = system.substr(recording::group_system_prefix.size());
    std::ifstream device("/dev/user_events/" + group);
    if (!device.is_open() && system.ends_with(multi))
        device.open("/dev/user_events/" + group.substr(0, group.size() - multi.size()));
    std::ostringstream text;
    text << device.rdbuf();
    return to_status(text.str());
}

} // namespace tool::tracing
