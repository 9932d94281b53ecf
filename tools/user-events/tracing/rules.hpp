// SPDX-License-Identifier: GPL-2.0-or-later
// Rules: what is enabled as soon as it exists.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tool::tracing {

struct rule {
    /// As it is written to the file.
    std::string text;
    /// "applied to 1, failed for 1: order_lost: Field not found"
    std::string comment;
};

/// Whether the kernel has them.
bool has_rules();

/// The text of a rule. Throws text::usage_error if it would not be one line.
std::string rule_text(std::string_view pattern, std::string_view instance, std::string_view filter);

std::vector<rule> rules();
bool has_rule(const std::string& text);
void add_rule(const std::string& text);
/// The same, but nothing happens if there is such a rule.
void load_rule(const std::string& text);
void remove_rule(const std::string& text);

/// What went wrong with a rule, or an empty text.
std::string failure_of_rule(const std::string& text);

} // namespace tool::tracing
