// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/merged.hpp"

#include "text/errors.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>

namespace tool::recording {

namespace {

/// The numbers of their threads fit.
constexpr std::size_t most_machines = std::numeric_limits<int>::max() / record::machine_distance;

/// The number of a thread or process; 0 for a number that no kernel gives, but a file can have.
int valid_thread(int number) {
    return number > 0 && number < record::machine_distance ? number : 0;
}

/// Whether records of both can be read by one of the types.
bool is_same(const event_type& a, const event_type& b) {
    const auto parts = [](const field& field) {
        return std::tie(field.name, field.type, field.kind, field.place, field.is_signed,
                        field.is_big_endian, field.offset, field.size, field.element_size);
    };
    return a.name == b.name && a.system == b.system && a.sample == b.sample &&
           a.is_described == b.is_described && a.has_stack == b.has_stack &&
           std::equal(
               a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
               [&](const field& one, const field& other) { return parts(one) == parts(other); });
}

} // namespace

merged::merged(const std::vector<std::unique_ptr<input>>& from, const selection& selection,
               const std::string& align) {
    for (const auto& each : from)
        open(*each, selection);
    if (std::none_of(parts_.begin(), parts_.end(), [](const part& part) { return part.is_chosen; }))
        throw text::usage_error(*not_chosen_);
    for (const part& part : parts_)
        if (align.empty())
            warn_about_times(*part.file,
                             "--align MARK takes a mark that all machines have instead");
    if (align.empty())
        require_one_clock();
    else
        this->align(align);
    const cut resolved = this->resolved(selection.cut);
    for (const part& part : parts_)
        part.file->choose(resolved);
    std::erase_if(parts_, [](const part& part) { return !part.is_chosen; });
}

/// A file that has none of the events that are chosen is left out, if another one has them. Until
/// then, its marks count.
void merged::open(const input& from, const selection& selection) {
    part added{};
    try {
        added.file = std::make_unique<file>(from, selection);
        added.is_chosen = true;
    } catch (const text::usage_error& error) {
        if (!not_chosen_)
            not_chosen_ = error;
        added.file = std::make_unique<file>(from, recording::selection{});
    }
    added.machine = machine_of(added.file->head(), from.path());
    parts_.push_back(std::move(added));
}

std::size_t merged::machine_of(const file_head& head, const std::string& path) {
    const std::string key = head.machine        ? head.machine->boot
                            : head.host.empty() ? path
                                                : head.host;
    const auto known = std::find_if(machines_.begin(), machines_.end(),
                                    [&](const machine& each) { return each.key == key; });
    const auto number = static_cast<std::size_t>(known - machines_.begin());
    if (known != machines_.end())
        return number;
    if (number == most_machines)
        throw text::usage_error(
            fmt::format("the recordings are of more than {} machines", most_machines),
            "merge them in groups");
    machine added{key, head.host.empty() ? path : head.host, path};
    if (std::any_of(machines_.begin(), machines_.end(),
                    [&](const machine& each) { return each.host == added.host; }))
        added.host += fmt::format(" ({})", path);
    machines_.push_back(std::move(added));
    return number;
}

/// Times of day can be compared, and the times of one clock of one machine.
void merged::require_one_clock() const {
    for (std::size_t i = 1; i < parts_.size(); i++) {
        const file_head &first = parts_[0].file->head(), &other = parts_[i].file->head();
        const bool has_time = first.clock.offset != 0, other_has_time = other.clock.offset != 0;
        if (has_time && other_has_time)
            continue;
        const std::size_t without = has_time ? i : 0;
        const bool is_same_clock = has_time == other_has_time &&
                                   parts_[0].machine == parts_[i].machine &&
                                   first.clock_name == other.clock_name;
        if (!is_same_clock)
            throw text::failure(
                fmt::format("{} does not say how far its clock is from the time of day: its times "
                            "cannot be compared with those of {}",
                            parts_[without].file->path(), parts_[without ? 0 : i].file->path()),
                "--align MARK takes a mark that all machines have; `user-events record` and "
                "`trace-cmd record --date` write the distance");
    }
}

void merged::align(const std::string& text) {
    std::vector<std::optional<std::uint64_t>> marks(machines_.size());
    for (const part& part : parts_)
        if (const auto time = part.file->find_mark(text)) {
            auto& mark = marks[part.machine];
            mark = std::min(mark.value_or(*time), *time);
        }
    for (std::size_t i = 0; i < marks.size(); i++)
        if (!marks[i])
            throw text::usage_error(
                fmt::format("{} has no mark {}", machines_[i].path, text),
                fmt::format("`user-events report {} user_mark:text` shows all marks",
                            machines_[i].path));
    // No time becomes less than 0.
    const bool is_before = std::any_of(parts_.begin(), parts_.end(), [&](const part& part) {
        const std::uint64_t mark = *marks[part.machine];
        return mark > *marks[0] && part.file->first_time().value_or(mark) < mark - *marks[0];
    });
    const std::uint64_t mark =
        is_before ? **std::max_element(marks.begin(), marks.end()) : *marks[0];
    for (const part& part : parts_)
        part.file->shift(static_cast<std::int64_t>(mark - *marks[part.machine]));
}

/// Times that count from the first record of all, or from a mark, become absolute.
cut merged::resolved(const cut& cut) const {
    const auto first_of = [this](auto time_of) {
        std::optional<std::uint64_t> first;
        for (const part& part : parts_)
            if (const auto time = time_of(*part.file))
                first = std::min(first.value_or(*time), *time);
        return first;
    };
    cutter resolved(cut);
    while (const std::string* const text = resolved.unknown_mark()) {
        const auto mark = first_of([&](const file& file) { return file.find_mark(*text); });
        if (!mark)
            throw text::usage_error(fmt::format("none of the files has a mark {}", *text));
        resolved.set_mark(*mark);
    }
    const auto start = first_of([](file& file) { return file.first_time(); });
    return resolved.counted_from(start.value_or(0));
}

const event_type* merged::shared(const event_type& type) {
    const auto [at, is_new] = shared_.try_emplace(&type);
    if (!is_new)
        return at->second;
    const auto known = std::find_if(types_.begin(), types_.end(),
                                    [&](const auto& each) { return is_same(*each, type); });
    if (known == types_.end()) {
        types_.push_back(type.copy(static_cast<int>(types_.size()) + 1));
        return at->second = types_.back().get();
    }
    return at->second = known->get();
}

void merged::take(const record& from, std::size_t machine,
                  const std::function<void(const record&)>& function) {
    record record = from;
    record.event = shared(*from.event);
    if (machines_.size() == 1)
        return function(record);
    record.host = machines_[machine].host;
    record.distance = static_cast<int>(machine) * record::machine_distance;
    record.pid = valid_thread(record.pid) + record.distance;
    record.tgid = valid_thread(record.tgid);
    if (record.tgid)
        record.tgid += record.distance;
    const std::string name =
        fmt::format("{}{}{}", record.host, record::host_separator, from.process_name);
    record.process_name = name;
    function(record);
}

void merged::read(const std::function<void(const record&)>& take_record,
                  const std::function<void(const gap&)>& miss) {
    using next = std::pair<std::uint64_t, std::size_t>;
    std::priority_queue<next, std::vector<next>, std::greater<>> waiting;
    const auto wait = [&](std::size_t number) {
        if (const auto time = parts_[number].file->next_time())
            waiting.emplace(*time, number);
    };
    for (std::size_t i = 0; i < parts_.size(); i++) {
        parts_[i].file->begin();
        wait(i);
    }
    while (!waiting.empty()) {
        const std::size_t number = waiting.top().second;
        waiting.pop();
        const std::size_t machine = parts_[number].machine;
        parts_[number].file->take_next(
            [&](const record& record) { take(record, machine, take_record); },
            [&](gap gap) {
                if (machines_.size() > 1)
                    gap.host = machines_[machine].host;
                if (miss)
                    miss(gap);
            });
        wait(number);
    }
    for (const part& part : parts_)
        part.file->end();
}

void merged::warn_about_gaps(bool is_strict) const {
    std::vector<const source*> files;
    for (const part& part : parts_)
        files.push_back(part.file.get());
    recording::warn_about_gaps(files, is_strict);
}

void warn_about_gaps(const std::vector<const source*>& sources, bool is_strict) {
    std::optional<text::silent_failure> failure;
    for (const source* const each : sources)
        try {
            each->warn_about_gaps(is_strict);
        } catch (const text::silent_failure& error) {
            failure = error;
        }
    if (failure)
        throw text::silent_failure(*failure);
}

std::uint64_t merged::lost() const {
    std::uint64_t sum = 0;
    for (const part& part : parts_)
        sum += part.file->lost();
    return sum;
}

std::string merged::host() const {
    return machines_.size() == 1 ? parts_.front().file->host() : "";
}

} // namespace tool::recording
