// SPDX-License-Identifier: GPL-2.0-only
#include "rule.hpp"

#include "text_file.hpp"
#include "user_events.hpp"

#include <stdexcept>

namespace selftest {

namespace {
const std::string separator = " # ";
}

std::string rules_file() {
    return tracing_file("user_events_rules");
}

Outcome change_rule(const std::string& text) {
    return write_line(rules_file(), text);
}

std::string rule_line(const std::string& text) {
    for (const std::string& line : lines_of(read_text(rules_file())))
        if (line.starts_with(text + separator))
            return line;
    return "";
}

std::string rule_comment(const std::string& text) {
    const std::string line = rule_line(text);
    if (line.empty())
        throw std::runtime_error("no rule " + text);
    return line.substr(text.size() + separator.size());
}

Rule::Rule(std::string text) : text_(std::move(text)) {
    expect(change_rule(text_), "rule " + text_);
}

Rule::~Rule() {
    remove();
}

} // namespace selftest
