// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <string>

namespace selftest {

/// Returns the path of user_events_rules.
std::string rules_file();

/// Adds or, with a '!' before it, removes a rule. A success has the value 0.
Outcome change_rule(const std::string& text);

/// Returns the line of a rule in user_events_rules, or an empty string.
std::string rule_line(const std::string& text);

/// Returns the comment behind a rule in user_events_rules. Throws std::runtime_error if the file
/// does not have the rule.
std::string rule_comment(const std::string& text);

/// A rule, removed at the end of the object's lifetime. It keeps its instance from being removed,
/// so declare it after the Instance.
class Rule {
public:
    /// Throws std::system_error.
    explicit Rule(std::string text);
    Rule(const Rule&) = delete;
    Rule& operator=(const Rule&) = delete;
    ~Rule();

    const std::string& text() const { return text_; }
    std::string comment() const { return rule_comment(text_); }
    Outcome remove() const { return change_rule("!" + text_); }

private:
    std::string text_;
};

} // namespace selftest
