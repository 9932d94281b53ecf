// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/described.hpp"

#include <utility>

namespace tool::exporting {

namespace {

/// What is remembered of descriptions: at most so many, of this size.
constexpr std::size_t most_found = 1000;
constexpr std::size_t longest_short_key = 4096;

void append_kinds(std::string& to, std::span<const eventheader::cell> cells) {
    for (const eventheader::cell& cell : cells)
        to += static_cast<char>('0' + static_cast<int>(cell.kind));
}

} // namespace

/// The columns of a record of which all could be decoded follow from its tracepoint and from the
/// bytes that describe its fields. Empty if there are no such bytes.
const std::string& described_tables::short_key_of(const recording::record& record,
                                                  const eventheader::shown_event& shown,
                                                  std::span<const eventheader::cell> cells) {
    short_key_.clear();
    if (!cells_.is_complete() || record.event->is_eventpipe)
        return short_key_;
    const int id = record.event->id;
    short_key_.append(reinterpret_cast<const char*>(&id), sizeof(id));
    (short_key_ += shown.event.name_and_attributes) += '\0';
    short_key_ += eventheader::to_text(shown.event.descriptions.rest());
    if (by_kind_)
        append_kinds(short_key_, cells);
    return short_key_;
}

described_tables::row described_tables::row_of(const recording::record& record) {
    const eventheader::shown_event shown = to_shown_event(record);
    const auto cells = cells_.fill(shown, recording::stack_field, shown_stack(record));
    const std::string& key = short_key_of(record, shown, cells);
    if (const auto found = found_.find(key); found != found_.end())
        return {found->second, false, {}, cells};
    row result = find(record, cells);
    if (!key.empty() && key.size() <= longest_short_key && result.cells.data() == cells.data()) {
        if (found_.size() == most_found)
            found_.clear();
        found_.emplace(key, result.table);
    }
    return result;
}

described_tables::row described_tables::find(const recording::record& record,
                                             std::span<const eventheader::cell> cells) {
    row result{0, false, {}, cells};
    // A field of the payload may have the name, too.
    const auto stack = shown_stack(record);
    result.has_stack =
        stack && cells.back().name == recording::stack_field && cells.back().text == *stack;
    append_name(result.name, record);
    std::string key = record.event->system + '\0' + result.name;
    for (const eventheader::cell& cell : cells) {
        key += '\0';
        key += cell.name;
    }
    if (by_kind_) {
        key += '\0';
        append_kinds(key, cells);
    }
    if (const auto found = numbers_.find(key); found != numbers_.end()) {
        result.table = found->second;
        return result;
    }
    if (numbers_.size() >= most_)
        return other(record, std::move(result.name));
    result.table = numbers_.size();
    result.is_new = true;
    numbers_.emplace(std::move(key), result.table);
    return result;
}

/// Their key is one that no other table has.
described_tables::row described_tables::other(const recording::record& record, std::string name) {
    other_[0].text = std::move(name);
    other_[1].text.clear();
    append_json_fields(other_[1].text, record);
    const auto [at, is_new] = numbers_.try_emplace(record.event->system, numbers_.size());
    return {at->second, is_new, "(other)", other_};
}

} // namespace tool::exporting
