// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/cut.hpp"

#include "text/errors.hpp"
#include "text/glob.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <string_view>

namespace tool::recording {

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr int most_digits = 9;
constexpr std::string_view mark_prefix = "mark:";

/// Takes a number from the beginning of a text; the text has to begin with a digit.
template <typename Number>
std::optional<Number> take_number(std::string_view& text) {
    Number number{};
    if (text.empty() || text.front() < '0' || text.front() > '9')
        return {};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc())
        return {};
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// Takes the digits behind a point, and returns nanoseconds.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
    if (!text.starts_with('.'))
        return 0;
    text.remove_prefix(1);
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > most_digits)
        return {};
    std::int64_t number = 0;
    for (std::size_t i = 0; i < most_digits; i++)
        number = 10 * number + (i < digits ? text[i] - '0' : 0);
    text.remove_prefix(digits);
    return number;
}

/// Returns nothing for a time before 1970, and for one that is too late for nanoseconds.
std::optional<std::int64_t> to_nanoseconds(std::int64_t seconds, std::int64_t fraction) {
    if (seconds < 0 || seconds >= std::numeric_limits<std::int64_t>::max() / second)
        return {};
    return seconds * second + fraction;
}

/// Reads seconds with up to nine digits behind the point.
std::optional<std::int64_t> to_nanoseconds(std::string_view text) {
    const auto seconds = take_number<std::int64_t>(text);
    const auto fraction = take_fraction(text);
    if (!seconds || !fraction || !text.empty())
        return {};
    return to_nanoseconds(*seconds, *fraction);
}

/// Reads a date and a time of day.
std::optional<std::int64_t> to_date(const std::string& text) {
    tm parts{};
    parts.tm_isdst = -1;
    const char* end = strptime(text.c_str(), "%Y-%m-%d", &parts);
    if (!end || (*end != ' ' && *end != 'T'))
        return {};
    end = strptime(end + 1, "%H:%M:%S", &parts);
    if (!end)
        return {};
    std::string_view rest(end);
    const auto fraction = take_fraction(rest);
    const bool is_utc = rest == "Z";
    if (!fraction || (!rest.empty() && !is_utc))
        return {};
    return to_nanoseconds(is_utc ? timegm(&parts) : mktime(&parts), *fraction);
}

moment to_mark(const std::string& text) {
    moment result{moment::origin::mark, text.substr(mark_prefix.size()), 0};
    const auto sign = result.mark.find_last_of("+-");
    // A text may end in -1, but hardly in -1s.
    if (sign == result.mark.npos || !result.mark.ends_with('s'))
        return result;
    std::string_view seconds(result.mark);
    seconds.remove_prefix(sign + 1);
    seconds.remove_suffix(1);
    if (const auto offset = to_nanoseconds(seconds)) {
        result.offset = result.mark[sign] == '-' ? -*offset : *offset;
        result.mark.erase(sign);
    }
    return result;
}

std::uint64_t sum(std::uint64_t time, std::int64_t offset) {
    if (offset < 0) {
        const auto less = static_cast<std::uint64_t>(-offset);
        return time < less ? 0 : time - less;
    }
    const auto more = static_cast<std::uint64_t>(offset);
    return time > std::numeric_limits<std::uint64_t>::max() - more
               ? std::numeric_limits<std::uint64_t>::max()
               : time + more;
}

} // namespace

moment to_moment(const std::string& option, const std::string& text) {
    if (text.starts_with(mark_prefix))
        return to_mark(text);
    if (text.starts_with('+'))
        if (const auto offset = to_nanoseconds(std::string_view(text).substr(1)))
            return {moment::origin::start, {}, *offset};
    if (const auto time = to_nanoseconds(text))
        return {moment::origin::absolute, {}, *time};
    if (const auto time = to_date(text))
        return {moment::origin::absolute, {}, *time};
    throw text::usage_error(fmt::format("{}: {} is no time", option, text),
                            "give 16.5, '2026-11-26 23:17:00', +2.5 (seconds after the first "
                            "record) or mark:TEXT-0.5s");
}

bool cut::has_mark() const noexcept {
    const auto is_mark = [](const std::optional<moment>& each) {
        return each && each->origin == moment::origin::mark;
    };
    return is_mark(from) || is_mark(to);
}

std::vector<bool> to_cpus(const std::string& text) {
    constexpr unsigned most = 1 << 16;
    std::vector<bool> cpus;
    std::string_view rest = text;
    do {
        const auto first = take_number<unsigned>(rest);
        auto last = first;
        if (first && rest.starts_with('-')) {
            rest.remove_prefix(1);
            last = take_number<unsigned>(rest);
        }
        if (!first || !last || *last < *first || *last >= most ||
            (!rest.empty() && (rest.front() != ',' || rest.size() == 1)))
            throw text::usage_error(fmt::format("--cpu: {} is no list of CPUs", text),
                                    "give numbers such as 0,2-4");
        cpus.resize(std::max<std::size_t>(cpus.size(), *last + 1));
        std::fill(cpus.begin() + *first, cpus.begin() + *last + 1, true);
        rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    } while (!rest.empty());
    return cpus;
}

const std::string* cutter::unknown_mark() const noexcept {
    for (const auto* each : {&cut_.from, &cut_.to})
        if (*each && (*each)->origin == moment::origin::mark)
            return &(*each)->mark;
    return nullptr;
}

void cutter::set_mark(std::uint64_t time) noexcept {
    const std::string text = *unknown_mark();
    for (auto* each : {&cut_.from, &cut_.to})
        if (*each && (*each)->origin == moment::origin::mark && (*each)->mark == text)
            *each = {moment::origin::absolute,
                     {},
                     static_cast<std::int64_t>(sum(time, (*each)->offset))};
}

void cutter::set_start(std::uint64_t start) {
    const auto time_of = [start](const moment& moment) {
        return sum(moment.origin == moment::origin::start ? start : 0, moment.offset);
    };
    if (cut_.from)
        first_ = time_of(*cut_.from);
    if (cut_.to)
        last_ = time_of(*cut_.to);
    if (first_ > last_)
        throw text::usage_error("--from-time is later than --to-time");
}

cut cutter::counted_from(std::uint64_t start) const {
    cut result = cut_;
    for (auto* each : {&result.from, &result.to})
        if (*each && (*each)->origin == moment::origin::start)
            *each = {moment::origin::absolute,
                     {},
                     static_cast<std::int64_t>(sum(start, (*each)->offset))};
    return result;
}

bool cutter::includes(const record& record) const {
    const auto has = [&](int number) {
        return std::find(cut_.processes.begin(), cut_.processes.end(), number) !=
               cut_.processes.end();
    };
    return includes(record.time, record.cpu) &&
           (cut_.processes.empty() || has(record.process()) || has(record.pid)) &&
           (cut_.comm.empty() || text::is_glob_of(cut_.comm, record.task) ||
            text::is_glob_of(cut_.comm, record.process_name));
}

} // namespace tool::recording
