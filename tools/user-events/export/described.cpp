// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/described.hpp"

#include <utility>

namespace tool::exporting {

described_tables::row described_tables::row_of(const recording::record& record) {
    row result{0, false, {}, recording::to_cells(record)};
    append_name(result.name, record);
    std::string key = record.event->system + '\0' + result.name;
    for (const eventheader::cell& cell : result.cells) {
        key += '\0';
        key += cell.name;
        if (by_kind_)
            key += static_cast<char>('0' + static_cast<int>(cell.kind));
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
    std::string fields;
    append_json_fields(fields, record);
    const auto [at, is_new] = numbers_.try_emplace(record.event->system, numbers_.size());
    return {at->second,
            is_new,
            "(other)",
            {{"event", std::move(name), true}, {"fields", std::move(fields), true}}};
}

} // namespace tool::exporting
