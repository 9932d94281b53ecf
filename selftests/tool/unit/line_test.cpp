// SPDX-License-Identifier: GPL-2.0-only
// Lines of a terminal: what is typed, and what is drawn.
#include "text/line_editor.hpp"
#include "text/sparkline.hpp"

#include "catch.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tool::text::line_editor;

line_editor::result type(line_editor& editor, std::string_view bytes) {
    auto result = line_editor::result::typing;
    for (const char byte : bytes)
        result = editor.take(static_cast<unsigned char>(byte));
    return result;
}

std::string drawn(const std::vector<std::uint64_t>& numbers, std::size_t columns,
                  bool is_utf8 = true) {
    return tool::text::sparkline(numbers, columns, is_utf8);
}

} // namespace

TEST_CASE("Backspace removes a whole character, Ctrl-U the line, and other control keys nothing") {
    line_editor editor;
    type(editor, "tea \xe2\x98\x95\x7f");
    CHECK(editor.line() == "tea ");
    type(editor, "\x01\t2\b\b\b\b\b\b\b");
    CHECK(editor.line().empty());
    type(editor, "cents > 3\x15");
    CHECK(editor.line().empty());
}

TEST_CASE("Enter and Escape end the line") {
    line_editor editor;
    CHECK(type(editor, "a") == line_editor::result::typing);
    CHECK(type(editor, "\r") == line_editor::result::entered);
    CHECK(type(editor, "\x1b") == line_editor::result::cancelled);
    CHECK(editor.line() == "a");
}

TEST_CASE("A line that a terminal sends without an end stays short") {
    line_editor editor;
    type(editor, std::string(100'000, 'a'));
    CHECK(editor.line().size() == 1000);
}

TEST_CASE("A sparkline has the last numbers, as parts of the largest of them") {
    CHECK(drawn({1000, 8, 4, 0, 1}, 4) == "█▄ ▁");
    CHECK(drawn({1000, 1}, 2) == "█▁");
    CHECK(drawn({7}, 3) == "  █");
    CHECK(drawn({8, 4, 0, 1}, 4, false) == "#- _");
}

TEST_CASE("A sparkline of no numbers, of zeros and of the largest numbers has its width") {
    CHECK(drawn({}, 3) == "   ");
    CHECK(drawn({0, 0}, 2) == "  ");
    CHECK(drawn({1, 2}, 0).empty());
    CHECK(drawn({UINT64_MAX, UINT64_MAX - 1}, 2) == "██");
}
