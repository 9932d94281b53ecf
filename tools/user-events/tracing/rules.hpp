// SPDX-License-Identifier: GPL-2.0-or-later
// Rules: what is enabled as soon as it exists.
#pragma once

#include "tracing/events.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool::tracing {

struct rule {
    /// As it is written to the file.
    std::string text;
    /// "applied to 1, failed for 1: order_lost: Field not found"
    std::string comment;

    // Parts of the text.
    std::string pattern = {};
    std::string instance = {};
    /// The group of events that the rule names; empty if it names none.
    std::string group = {};
    /// "pid=7,8 comm=orders", the options that are about programs; empty if it is for all.
    std::string programs = {};
    bool is_trigger = false;

    /// Whether the rule is meant for the event.
    bool is_for(const event_name& name) const;
    /// To how many events the rule was applied.
    unsigned applied() const { return number_behind("applied to "); }
    /// How many programs match, of those that have events; 0 if the rule is for all.
    unsigned matching() const { return number_behind(", matches "); }

private:
    unsigned number_behind(std::string_view label) const;
};

/// Whether the kernel has them.
bool has_rules();
/// What to do if it has not.
std::string remedy_without_rules();

/// The text of a rule. `programs` are the options of rule::programs.
std::string rule_text(std::string_view pattern, std::string_view instance,
                      std::string_view programs = {}, std::string_view filter = {});
/// A pattern that matches only the registered name of an event.
std::string pattern_of(const event_name& name);

std::vector<rule> rules();
/// The same, but none if they cannot be read.
std::vector<rule> rules_if_readable();
bool has_rule(const std::string& text);
void add_rule(const std::string& text);
/// The same, but nothing happens if there is such a rule.
void load_rule(const std::string& text);
void remove_rule(const std::string& text);
/// Adds a group of events, or changes its options.
void load_group(const std::string& text);

/// What went wrong with a rule, or an empty text.
std::string failure_of_rule(const std::string& text);

/// A rule that is removed at the end of the object's lifetime, with a warning if that fails.
class temporary_rule {
public:
    /// Takes over a rule of this text that a killed process has left. The text is as the kernel
    /// shows it. Throws text::failure if the rule cannot be added.
    explicit temporary_rule(std::string text);
    temporary_rule(temporary_rule&& other) noexcept : text_(std::exchange(other.text_, {})) {}
    temporary_rule& operator=(temporary_rule&&) = delete;
    ~temporary_rule();

    const std::string& text() const noexcept { return text_; }
    /// Leaves the rule.
    void release() noexcept { text_.clear(); }

private:
    std::string text_;
};

} // namespace tool::tracing
