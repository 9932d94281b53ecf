// SPDX-License-Identifier: GPL-2.0-or-later
#include "completion.hpp"

#include "text/errors.hpp"
#include "tracing/events.hpp"
#include "tracing/groups.hpp"
#include "tracing/programs.hpp"
#include "tracing/scope.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>

#include <event-parse.h>

namespace tool {

namespace {

using words = std::vector<std::string>;

words systems() {
    words result;
    for (const auto& system : tracing::directories(tracing::instance::top().path("events")))
        result.push_back(system + ":");
    return result;
}

words events_of_system(const std::string& word) {
    words result;
    for (const auto& name :
         tracing::events(tracing::pattern(word.substr(0, word.find(':')) + ":*")))
        result.push_back(name.system + ":" + name.event);
    return result;
}

words kernel_events(const place&, const std::string& word) {
    return word.find(':') == word.npos ? systems() : events_of_system(word);
}

/// The kernel has very many: they are offered once a word is begun.
words events(const place&, const std::string& word) {
    if (word.find(':') != word.npos)
        return events_of_system(word);
    words result;
    for (const auto& name : tracing::user_events({}))
        result.push_back(to_pattern(name));
    if (!word.empty())
        for (auto& system : systems())
            result.push_back(std::move(system));
    return result;
}

/// Of the events that were named before.
words fields(const place& at, const std::string& /*word*/) {
    words result;
    tracing::formats formats;
    for (const auto& text : at.before)
        for (const auto& name : tracing::events(tracing::pattern(text)))
            if (const tep_event* const event = formats.find(name))
                for (const auto* field = event->format.fields; field; field = field->next)
                    result.emplace_back(field->name);
    return result;
}

words fields_or_process(const place& at, const std::string& word) {
    // The first word is the event.
    words result = fields({at.kind, {at.before.front()}}, word);
    result.emplace_back("process");
    return result;
}

words fields_with_values(const place& at, const std::string& word) {
    words result = fields({at.kind, {at.before.front()}}, word);
    for (auto& name : result)
        name += '=';
    return result;
}

words list_of_fields(const place& at, const std::string& word) {
    words result = fields(at, word);
    const std::string first = word.substr(0, word.rfind(',') + 1);
    for (auto& name : result)
        name.insert(0, first);
    return result;
}

/// Events, and behind the colon the fields of the event.
words events_with_fields(const place& at, const std::string& word) {
    const std::string event = word.substr(0, word.rfind(':'));
    const bool is_complete = event.size() < word.size();
    words result = is_complete ? fields({at.kind, {event}}, word) : events(at, "");
    for (auto& name : result)
        is_complete ? name.insert(0, event + ":") : name += ':';
    return result;
}

words instances(const place&, const std::string& /*word*/) {
    return tracing::instance_names();
}

words programs(const place&, const std::string& /*word*/) {
    words result;
    for (const auto& program : tracing::programs_with_events())
        result.push_back(std::to_string(program.id));
    return result;
}

words names_of_programs(const place&, const std::string& /*word*/) {
    words result;
    for (const auto& program : tracing::programs_with_events())
        result.push_back(program.name);
    return result;
}

words users_of_programs(const place&, const std::string& /*word*/) {
    words result;
    for (const auto& program : tracing::programs_with_events())
        if (struct stat process{};
            stat(("/proc/" + std::to_string(program.id)).c_str(), &process) == 0)
            result.push_back(std::to_string(process.st_uid));
    return result;
}

words control_groups(const place&, const std::string& /*word*/) {
    namespace fs = std::filesystem;
    const std::string& root = tracing::cgroup_mount_point();
    words result;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
         entry.increment(error))
        if (std::error_code ignored; entry->is_directory(ignored))
            result.push_back(entry->path().string().substr(root.size()));
    return result;
}

words groups_of_events(const place&, const std::string& /*word*/) {
    return tracing::names_of_groups();
}

words files(const place&, const std::string& /*word*/) {
    return {":files"};
}

words commands(const place&, const std::string& /*word*/) {
    return {":commands"};
}

constexpr struct {
    std::string_view kind;
    words (*candidates)(const place&, const std::string& word);
} kinds[] = {
    {"PATTERN", events},
    {"EVENT", events},
    {"SYSTEM:EVENT", kernel_events},
    {"EVENT:FIELD", events_with_fields},
    {"FIELD", fields_or_process},
    {"VALUE", fields_with_values},
    {"NAME,...", list_of_fields},
    {"INSTANCE", instances},
    {"PID", programs},
    {"GLOB", names_of_programs},
    {"UID", users_of_programs},
    {"GROUP", control_groups},
    {"EVENT-GROUP", groups_of_events},
    {"FILE", files},
    {"DIR", files},
    {"PATH", files},
    {"PROGRAM", commands},
};

} // namespace

std::vector<std::string> fitting(std::vector<std::string> candidates, std::string_view word) {
    std::erase_if(candidates, [&](const std::string& candidate) {
        return (!candidate.starts_with(':') && !candidate.starts_with(word)) ||
               std::any_of(candidate.begin(), candidate.end(), [](char character) {
                   return static_cast<unsigned char>(character) < ' ' || character == 0x7f;
               });
    });
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    return candidates;
}

std::vector<std::string> candidates(const place& of, const std::string& word) {
    try {
        for (const auto& kind : kinds)
            if (kind.kind == of.kind)
                return fitting(kind.candidates(of, word), word);
    } catch (const text::failure&) {
        // A shell shows no message at this point.
    }
    return {};
}

} // namespace tool
