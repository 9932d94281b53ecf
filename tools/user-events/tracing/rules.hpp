// SPDX-License-Identifier: GPL-2.0-or-later
// Rules: what is enabled as soon as it exists.
#pragma once

#include "recording/sampled_list.hpp"
#include "text/number.hpp"
#include "tracing/events.hpp"
#include "tracing/rule.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool::tracing {

/// A rule that exists.
struct listed_rule : rule {
    /// "applied to 1, failed for 1: order_lost: Field not found"
    std::string comment;

    /// To how many events the rule was applied.
    std::uint64_t applied() const { return text::number_behind(comment, "applied to "); }
    /// How many programs match, of those that have events; 0 if the rule is for all.
    std::uint64_t matching() const { return text::number_behind(comment, ", matches "); }
};

/// Whether the kernel has them.
bool has_rules();
/// What to do if it has not.
std::string remedy_without_rules();

/// A pattern that matches only the registered name of an event.
std::string pattern_of(const event_name& name);

std::vector<listed_rule> rules();
/// The same, but none if they cannot be read.
std::vector<listed_rule> rules_if_readable();
/// Nothing happens if there is such a rule.
void add_rule(const std::string& text);
void remove_rule(const std::string& text);
/// Removes the rules for an instance, which a killed process has left, as far as possible.
void remove_rules_of(const std::string& instance);
/// Adds a group of events, or changes its options.
void load_group(const std::string& text);

/// What went wrong with a rule, or an empty text.
std::string failure_of_rule(const rule& of);

/// Which of the events, by their systems, an instance records in part, by rules with `sample=1/N`
/// as they are now. The first rule for an event in an instance counts.
recording::sampled_list find_sampled(const instance& in,
                                     const std::map<std::string, std::vector<std::string>>& events);

/// A rule that is removed at the end of the object's lifetime, with a warning if that fails.
class temporary_rule {
public:
    /// Takes over a rule like this that a killed process has left. Throws text::failure if the rule
    /// cannot be added.
    explicit temporary_rule(rule added);
    temporary_rule(temporary_rule&& other) noexcept
        : rule_(std::exchange(other.rule_, std::nullopt)) {}
    temporary_rule& operator=(temporary_rule&&) = delete;
    ~temporary_rule();

    /// Whether this rule is meant.
    bool is(const rule& other) const { return rule_ == other; }
    std::string failure() const { return failure_of_rule(*rule_); }
    /// Leaves the rule.
    void release() noexcept { rule_.reset(); }

private:
    std::optional<rule> rule_;
};

} // namespace tool::tracing
