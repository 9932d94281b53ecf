// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/table.hpp"

#include "text/escape.hpp"

#include <algorithm>
#include <cstddef>

namespace tool::text {

namespace {

/// The last column is wrapped if it has at least this width.
constexpr std::size_t min_wrapped = 20;

/// The number of characters. Some take two columns of a terminal; alignment is not worth a table.
std::size_t width(std::string_view text) {
    return text.size() -
           static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

/// Breaks a list that is too long for the terminal behind its commas and semicolons. The lines
/// after the first begin in the same column.
std::string wrapped(const std::string& text, std::size_t column) {
    const auto all = static_cast<std::size_t>(columns());
    std::string result;
    std::size_t used = column;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find_first_of(",;", at), text.size() - 1) + 1;
        const std::string_view item(text.data() + at, end - at);
        if (at > 0 && used + width(item) > all) {
            (result += '\n').append(column, ' ');
            used = column;
            result += item.substr(item.starts_with(' '));
        } else {
            result += item;
        }
        used += width(item);
        at = end;
    }
    return result;
}

void print_aligned(const std::vector<cell>& row, const std::vector<std::size_t>& widths) {
    std::string line;
    std::size_t column = 0;
    for (std::size_t i = 0; i < row.size(); i++) {
        std::string shown = escaped(row[i].text);
        const std::size_t spaces = widths[i] - std::min(widths[i], width(shown));
        const bool last = i + 1 == row.size();
        if (last && columns() > 0 && column + min_wrapped < static_cast<std::size_t>(columns()))
            shown = wrapped(shown, column);
        column += widths[i] + 2;
        if (row[i].right)
            line.append(spaces, ' ');
        line += styled(shown, row[i].shown);
        if (!last)
            line.append((row[i].right ? 0 : spaces) + 2, ' ');
    }
    print(line + "\n");
}

} // namespace

void table::print() const {
    if (!is_terminal()) {
        if (is_for_people_)
            text::print(joined(heading_, "\t") + "\n");
        for (const auto& row : rows_) {
            std::string line;
            for (const cell& cell : row)
                (line += line.empty() && &cell == row.data() ? "" : "\t") +=
                    styled(escaped(cell.text), cell.shown);
            text::print(line + "\n");
        }
        return;
    }
    std::vector<std::size_t> widths;
    for (const auto& name : heading_)
        widths.push_back(width(name));
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); i++)
            widths[i] = std::max(widths[i], width(escaped(row[i].text)));
    std::vector<cell> heading;
    for (std::size_t i = 0; i < heading_.size(); i++)
        heading.push_back({heading_[i], style::dim, !rows_.empty() && rows_.front()[i].right});
    print_aligned(heading, widths);
    for (const auto& row : rows_)
        print_aligned(row, widths);
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string result;
    for (const auto& word : words)
        (result += &word == words.data() ? "" : between) += word;
    return result;
}

} // namespace tool::text
