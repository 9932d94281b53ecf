// SPDX-License-Identifier: GPL-2.0-only
#include "input.hpp"

#include <cctype>
#include <charconv>
#include <sstream>
#include <stdexcept>

namespace calls {

namespace {

constexpr auto names = std::to_array<const char*>(
    {"open",  "close", "duplicate",  "reg",  "unreg", "del",          "control",
     "write", "line",  "event_file", "read", "perf",  "perf_control", "fork",
     "reap",  "map",   "limit",      "rule", "mark",  "share"});
static_assert(names.size() == kinds);

constexpr char digits[] = "0123456789abcdef";

void print_text(std::string& to, const std::string& text) {
    to += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= ' ' && byte < 0x7f && c != '"' && c != '\\')
            to += c;
        else
            to.append("\\x").append({digits[byte >> 4U], digits[byte & 15U]});
    }
    to += '"';
}

/// Parses a text, operation by operation.
class Parser {
public:
    explicit Parser(std::string_view text) : rest_(text) {}

    /// Returns whether another operation follows, and in `ended` whether an empty line precedes it.
    bool next(bool& ended) {
        unsigned line_ends = 0;
        ended = false;
        while (!rest_.empty() && (std::isspace(front()) || front() == '#')) {
            if (front() == '#') {
                rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
                // The line is not empty.
                line_ends = 0;
                continue;
            }
            line_ends += front() == '\n';
            ended |= line_ends > 1;
            rest_.remove_prefix(1);
        }
        return !rest_.empty();
    }

    Operation operation() {
        Operation operation{kind(), {}, {}};
        for (std::size_t i = 0; i < Operation::arguments_max && take(i == 0 ? ':' : '.'); i++)
            operation.arguments.at(i) = number(10, 3);
        if (take('"'))
            operation.text = text();
        if (!rest_.empty() && !std::isspace(front()))
            fail();
        return operation;
    }

private:
    unsigned char front() const { return static_cast<unsigned char>(rest_.front()); }

    [[noreturn]] void fail() const {
        throw std::runtime_error("syntax error in the input at: " +
                                 std::string(rest_.substr(0, 40)));
    }

    bool take(char wanted) {
        if (!rest_.starts_with(wanted))
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    Kind kind() {
        const std::size_t end = std::min(rest_.find_first_of(":\" \t\n"), rest_.size());
        for (std::size_t i = 0; i < kinds; i++)
            if (rest_.substr(0, end) == names.at(i)) {
                rest_.remove_prefix(end);
                return static_cast<Kind>(i);
            }
        fail();
    }

    std::uint8_t number(int base, std::size_t length) {
        std::uint8_t value = 0;
        const char* start = rest_.data();
        const auto [end, error] =
            std::from_chars(start, start + std::min(length, rest_.size()), value, base);
        if (error != std::errc())
            fail();
        rest_.remove_prefix(static_cast<std::size_t>(end - start));
        return value;
    }

    std::string text() {
        std::string text;
        while (!take('"')) {
            if (rest_.empty())
                fail();
            if (rest_.starts_with("\\x")) {
                rest_.remove_prefix(2);
                text += static_cast<char>(number(16, 2));
            } else {
                text += rest_.front();
                rest_.remove_prefix(1);
            }
        }
        return text;
    }

    std::string_view rest_;
};

} // namespace

const char* name_of(Kind kind) {
    return names.at(static_cast<std::size_t>(kind));
}

std::string print(const Operation& operation) {
    std::string line = name_of(operation.kind);
    std::size_t used = Operation::arguments_max;
    while (used > 0 && operation.arguments.at(used - 1) == 0)
        used--;
    for (std::size_t i = 0; i < used; i++)
        line += (i == 0 ? ":" : ".") + std::to_string(operation.arguments.at(i));
    if (!operation.text.empty())
        print_text(line, operation.text);
    return line;
}

std::string print(const Input& input) {
    std::string line;
    for (const Operation& operation : input)
        line += (line.empty() ? "" : " ") + print(operation);
    return line;
}

std::vector<Input> parse(std::string_view text) {
    std::vector<Input> inputs;
    Parser parser(text);
    for (bool ended = true; parser.next(ended);) {
        if (ended || inputs.empty())
            inputs.emplace_back();
        inputs.back().push_back(parser.operation());
    }
    return inputs;
}

} // namespace calls
