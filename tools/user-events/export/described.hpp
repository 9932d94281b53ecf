// SPDX-License-Identifier: GPL-2.0-or-later
// Records whose payloads describe themselves, as rows of tables: one for each name and set of
// columns.
#pragma once

#include "recording/record.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>

namespace tool::exporting {

/// A program may make a new set of fields with each record. When there are many tables, records
/// with further sets share one table, whose columns are `event` and `fields`, which is JSON.
class described_tables {
public:
    struct row {
        std::size_t table; // a number, from 0 on
        bool is_new;
        std::string name; // of a new table: `Provider:Event`
        /// Until the next call.
        std::span<const eventheader::cell> cells;
        /// Of a new table: whether the last cell is the stack.
        bool has_stack = false;
    };

    /// With `by_kind`, tables are also told apart by which columns are numbers.
    explicit described_tables(std::size_t most, bool by_kind) : most_(most), by_kind_(by_kind) {}

    row row_of(const recording::record& record);

private:
    const std::string& short_key_of(const recording::record& record,
                                    const eventheader::shown_event& shown,
                                    std::span<const eventheader::cell> cells);
    row find(const recording::record& record, std::span<const eventheader::cell> cells);
    row other(const recording::record& record, std::string name);

    std::size_t most_;
    bool by_kind_;
    std::unordered_map<std::string, std::size_t> numbers_;
    eventheader::cell_row cells_;
    eventheader::cell other_[2] = {{.name = "event", .is_text = true},
                                   {.name = "fields", .is_text = true}};
    /// The tables that descriptions have led to. There may be many descriptions for one table.
    std::unordered_map<std::string, std::size_t> found_;
    std::string short_key_;
};

} // namespace tool::exporting
