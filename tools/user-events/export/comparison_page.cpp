// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/comparison.hpp"

#include "text/escape.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

// From page.S.
extern const char page_css[], page_css_end[];

namespace tool::exporting {

namespace {

/// The picture of a row, in its own units.
constexpr double width = 480, height = 120;
constexpr std::size_t columns = 60;

/// The page's own styles, behind those of the page of a recording. The second curve is dashed, for
/// eyes and paper that do not tell the colours apart.
constexpr const char* styles = R"css(
body { display: block; height: auto }
main { display: block; padding: 8px 12px }
section { margin: 0 0 20px; max-width: 1100px }
h2 { overflow-wrap: anywhere }
section > div { display: flex; flex-wrap: wrap; gap: 8px 24px; align-items: flex-start }
svg { width: 480px; max-width: 100%; height: auto; background: var(--side); border: 1px solid var(--border) }
.first { stroke: var(--colour-0); fill: var(--colour-0); fill-opacity: .15; stroke-width: 2 }
.second { stroke: var(--colour-1); fill: var(--colour-1); fill-opacity: .15; stroke-width: 2; stroke-dasharray: 6 3 }
.scale { display: flex; justify-content: space-between; color: var(--quiet); font-size: 12px }
figure { margin: 0; max-width: 100% }
th { text-align: right; padding: 0 10px 0 0; font-weight: 600 }
td { text-align: right; font-variant-numeric: tabular-nums }
.key { display: inline-block; width: 24px; height: 0; border-top: 3px solid var(--colour-0); vertical-align: 4px; margin-right: 6px }
.key.of-second { border-top: 3px dashed var(--colour-1) }
.changed td:last-child { font-weight: 600 }
)css";

std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text::escaped(text))
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        default:
            result += c;
        }
    return result;
}

/// The limits of the columns: powers if no number is negative or 0, because durations spread over
/// orders of magnitude.
std::vector<double> limits_of(double least, double most) {
    std::vector<double> result;
    const bool is_logarithmic = least > 0 && most / least > 4;
    for (std::size_t i = 1; i < columns; i++) {
        const double part = static_cast<double>(i) / columns;
        // The difference may be too large for a double.
        result.push_back(is_logarithmic ? least * std::pow(most / least, part)
                                        : least * (1 - part) + most * part);
    }
    return result;
}

std::string curve(const char* name, const std::vector<double>& parts, double tallest) {
    std::string path = fmt::format("M0,{}", height);
    for (std::size_t i = 0; i < parts.size(); i++) {
        const double y = height - (height - 4) * (tallest > 0 ? parts[i] / tallest : 0);
        fmt::format_to(std::back_inserter(path), "L{:.1f},{:.1f}L{:.1f},{:.1f}",
                       width * static_cast<double>(i) / columns, y,
                       width * static_cast<double>(i + 1) / columns, y);
    }
    return fmt::format("<path class=\"{}\" d=\"{}L{},{}Z\"/>", name, path, width, height);
}

/// Two distributions on one scale. The heights are parts of the numbers of each.
std::string picture(const row& row) {
    const auto& [first, second] = row.numbers;
    const double least = std::min(first.least(), second.least());
    const double most = std::max(first.most(), second.most());
    const auto limits = limits_of(least, most);
    const auto before = first.parts(limits), after = second.parts(limits);
    const double tallest = std::max(*std::max_element(before.begin(), before.end()),
                                    *std::max_element(after.begin(), after.end()));
    std::string result = fmt::format(
        "<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Distributions of {} {}\">",
        width, height, escaped(row.name), escaped(row.what));
    if (first.count())
        result += curve("first", before, tallest);
    if (second.count())
        result += curve("second", after, tallest);
    return result + fmt::format("</svg><div class=\"scale\"><span>{}</span><span>{}</span></div>"
                                "</figure>",
                                escaped(shown(row.unit, least)), escaped(shown(row.unit, most)));
}

std::string table(const row& row) {
    std::string result = fmt::format(
        "<table{}><tr><td></td><th scope=\"col\">first</th><th scope=\"col\">second</th>"
        "<th scope=\"col\">change</th></tr>"
        "<tr><td>records</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        row.is_significant ? " class=\"changed\"" : "", row.counts[0], row.counts[1],
        row.is_in_one() ? shown_change(row, {}) : "");
    for (const figure& figure : row.figures)
        fmt::format_to(std::back_inserter(result),
                       "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", figure.name,
                       shown(row.unit, figure.before), shown(row.unit, figure.after),
                       shown_change(row, figure));
    return result + "</table>";
}

std::string section(const row& row) {
    const bool has_picture = row.numbers[0].count() + row.numbers[1].count() > 0;
    return fmt::format("<section><h2>{}: {}</h2><div>{}{}</div></section>\n", escaped(row.name),
                       escaped(row.what), has_picture ? picture(row) : "", table(row));
}

std::string summary(const char* key, const measured& of) {
    return fmt::format("<span><span class=\"key{}\"></span>{}: {} records in {}</span>\n", key,
                       escaped(of.file), of.statistics.count(),
                       recording::as_time(of.statistics.seconds()));
}

} // namespace

void write_comparison_page(text::new_file& to, const measured& before, const measured& after) {
    auto rows = compare(before, after);
    const auto others = std::stable_partition(rows.begin(), rows.end(),
                                              [](const row& row) { return row.is_significant; });
    to.write(
        fmt::format("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<meta "
                    "name=\"viewport\" content=\"width=device-width\">\n<title>{} and {}"
                    "</title>\n<style>{}{}</style>\n<header><h1>What differs</h1>\n{}{}"
                    "</header>\n<main>\n",
                    escaped(before.file), escaped(after.file),
                    std::string_view(page_css, static_cast<std::size_t>(page_css_end - page_css)),
                    styles, summary("", before), summary(" of-second", after)));
    if (others == rows.begin())
        to.write("<p>Nothing differs by more than chance.</p>\n");
    for (auto each = rows.begin(); each != rows.end(); ++each) {
        if (each == others)
            to.write(fmt::format("<details{}><summary>{} more differ by less than 5 % or than "
                                 "chance</summary>\n",
                                 others == rows.begin() ? " open" : "", rows.end() - others));
        to.write(section(*each));
    }
    to.write(others == rows.end() ? "</main></html>\n" : "</details></main></html>\n");
}

} // namespace tool::exporting
