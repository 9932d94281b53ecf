// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/typed_filter.hpp"

#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/output.hpp"

#include <algorithm>
#include <string>

namespace tool {

namespace {

constexpr std::string_view question = "filter: ";

/// The end of a line that is too long for the terminal, from a whole character on.
std::string_view visible_end(std::string_view line) {
    const auto all = static_cast<std::size_t>(std::max(text::columns(), 1));
    const std::size_t room = all > question.size() + 1 ? all - question.size() - 1 : 1;
    line = line.substr(line.size() - std::min(line.size(), room));
    while (!line.empty() && text::is_continuation(line.front()))
        line.remove_prefix(1);
    return line;
}

} // namespace

void typed_filter::update() {
    for (const char key : keyboard_.read())
        take(key);
}

void typed_filter::take(char key) {
    is_changed_ = true;
    if (!is_typing_) {
        is_typing_ = key == '/';
        is_changed_ = is_typing_;
        editor_.begin();
        return;
    }
    switch (editor_.take(static_cast<unsigned char>(key))) {
    case text::line_editor::result::typing:
        return;
    case text::line_editor::result::entered:
        return enter();
    case text::line_editor::result::cancelled:
        erase();
        is_typing_ = false;
    }
}

void typed_filter::enter() {
    erase();
    try {
        const std::string& line = editor_.line();
        if (line.empty())
            filter_.reset();
        else
            filter_ = recording::to_filter(line);
        is_typing_ = false;
        text::print(std::string(question) + (line.empty() ? "none" : text::escaped(line)) + "\n");
    } catch (const text::usage_error& error) {
        text::flush();
        text::warn(error.what(), error.remedy());
    }
}

void typed_filter::erase() {
    text::print("\r\x1b[K");
}

bool typed_filter::passes(const recording::record& record) {
    return !filter_ || recording::passes(*filter_, record);
}

void typed_filter::print_above(std::string_view lines) {
    if (is_typing_ && (is_changed_ || !lines.empty())) {
        erase();
        text::print(lines);
        text::print(question);
        text::print(visible_end(text::escaped(editor_.line())));
        is_changed_ = false;
    } else {
        text::print(lines);
    }
    text::flush();
}

void typed_filter::finish() {
    if (is_typing_) {
        erase();
        text::flush();
    }
    if (filter_)
        recording::warn_of_unknown_fields(*filter_);
}

} // namespace tool
