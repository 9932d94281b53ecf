// SPDX-License-Identifier: GPL-2.0-or-later
// The events that exist, their formats, and who uses them.
#pragma once

#include "eventheader/choice.hpp"
#include "tracing/tracefs.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

struct tep_handle;
struct tep_event;
struct tep_format_field;

namespace tool::tracing {

/// An event's directory in tracefs.
struct event_name {
    std::string system;
    std::string event;

    std::string directory() const { return "events/" + system + "/" + event; }
    bool operator==(const event_name&) const = default;
    auto operator<=>(const event_name&) const = default;
};

/// The pattern that is for this event: its name, with the system if it is not one of the group
/// "default".
std::string to_pattern(const event_name& name);

struct rule;

/// In place of the name of a group.
inline constexpr std::string_view all_groups = "*";

/// A glob, or two of them, SYSTEM:NAME, as in a rule: it is compared with the registered name. Of
/// the events in tracefs, a single glob means those of a group; if no group is given, those of
/// "default" and marks. A multi-format event is also found by the name of one format, `order.1`.
/// Two globs may also be PROVIDER:EVENT, for what payloads describe; the commands that decode
/// payloads ask for that.
class pattern {
public:
    /// `group` is the name of a group, or all_groups. It counts unless the pattern names a system:
    /// for one glob, where all_groups includes marks, for PROVIDER:EVENT, and for what programs
    /// register in the systems that a glob matches. Throws text::usage_error if the pattern could
    /// match no event.
    explicit pattern(std::string text, std::string group = {});

    const std::string& text() const noexcept { return text_; }
    /// The glob of events' names.
    const std::string& event() const noexcept { return event_; }
    bool has_system() const noexcept { return text_.find(':') != text_.npos; }
    /// Whether it could match events of other groups than "default".
    bool is_for_groups() const noexcept { return has_system() || !group_.empty(); }
    /// Makes the rule one for events of the pattern's system and group whose names match the glob.
    void set_glob(rule& of, const std::string& glob) const;
    /// The same for tracepoints of the provider.
    void set_provider_glob(rule& of, const std::string& glob) const;
    bool matches(const event_name& name) const;
    /// For PROVIDER:EVENT.
    const std::string& provider() const noexcept { return described_.provider(); }
    /// Whether the tracepoint may have such events.
    bool may_describe(const event_name& name) const;
    /// Whether an event of this name of the tracepoint is one of them.
    bool describes(const event_name& name, const std::string& event) const;
    /// The same for the names of tracepoints: patterns that match those of the provider.
    std::vector<pattern> of_tracepoints() const;
    /// Whether it can be a provider's: it has a colon, and no system of the kernel before it.
    bool is_for_providers() const;
    /// Whether the name of an event in tracefs could match. If not, only a provider's event does.
    bool is_for_tracepoints() const noexcept { return is_for_tracepoints_; }
    /// Whether it could match user events. If not, it means events of the kernel.
    bool is_for_user_events() const;
    /// Whether it could match events that programs register, which marks are not.
    bool is_for_registered_events() const;

private:
    bool is_for_group(const std::string& system) const;
    bool is_for_system(const std::string& name) const;

    std::string text_;
    std::string group_;
    std::string system_;
    std::string event_;
    eventheader::event_pattern described_;
    bool is_for_tracepoints_;
};

/// Whether one of the patterns matches; if there is none, all do.
bool matches_any(const std::vector<pattern>& patterns, const event_name& name);
/// Texts of one glob are for the group, if one is given. Without texts, all events of the group are
/// meant.
std::vector<pattern> to_patterns(const std::vector<std::string>& texts,
                                 const std::string& group = {});

/// The user events that exist and match. Without patterns, those of all groups, and marks. They are
/// looked for in the directories of an instance: each has all events, and a user may be able to
/// list only those of an own instance.
std::vector<event_name> user_events(const std::vector<pattern>& patterns,
                                    const instance& in = instance::top());
/// All user events whose formats the instance has, of all groups, and what rules with limits
/// record.
std::vector<event_name> all_user_events(const instance& in);
/// All events that exist and match the pattern; of the kernel too if it names their system.
std::vector<event_name> events(const pattern& wanted, const instance& in = instance::top());

/// Whether the kernel has user events: the module is loaded, or they are built in.
bool has_user_events();
/// What to do if it has not.
std::string remedy_without_user_events();

/// Throws text::failure because no event matches. The remedy is for a kernel that has user events.
[[noreturn]] void throw_no_event(const pattern& wanted, std::string remedy);

/// The formats of events, read when they are needed.
class formats {
public:
    /// Of an instance whose files this user may read. An instance has the formats of all events.
    explicit formats(instance in = instance::top());

    /// Returns null if the event was removed, or libtraceevent cannot parse its format.
    tep_event* find(const event_name& name);
    /// Finds the event of a record. Reads the formats of events that were created since.
    tep_event* find(int id);
    /// Looks everywhere again for an event that find() has not found.
    tep_event* find_again(int id);

private:
    struct release {
        void operator()(tep_handle* handle) const noexcept;
    };
    bool load(const event_name& name);

    std::unique_ptr<tep_handle, release> tep_;
    instance in_;
    std::map<event_name, int> ids_;
    /// Numbers that no event of the kernel has.
    std::set<int> absent_;
};

/// Throws text::usage_error because the filter does not fit the event. `reason` is the kernel's.
[[noreturn]] void throw_unfit_filter(const instance& in, const event_name& name,
                                     const std::string& filter, const std::string& reason);

/// Throws text::usage_error if the filter does not fit the event.
void set_filter(const instance& of, const event_name& name, const std::string& filter);

/// Has the instance record only these processes and the children that they will have; all
/// processes if there are none.
void record_only(const instance& in, const std::vector<std::string>& pids);

/// The type as it was registered.
std::string type_text(const tep_format_field& field);

/// "u32 number", with the type as it was registered.
std::vector<std::string> field_texts(const tep_event& event);

/// A line of user_events_status.
struct usage {
    bool ftrace = false;
    bool perf = false;
    std::uint64_t lost = 0;
};

/// The instances in which an event is enabled ("ftrace" for the top-level one), "trigger" if only
/// a trigger uses it, and "perf".
std::vector<std::string> recorders(const event_name& name, const usage& used,
                                   const std::vector<instance>& instances);

/// user_events_status, by the name of the event.
std::map<std::string, usage> status();
/// The same for the group of an event that has this system. Empty if this user may not read that.
/// See `statuses`.
std::map<std::string, usage> status_of_group(const std::string& system);

} // namespace tool::tracing
