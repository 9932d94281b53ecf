// SPDX-License-Identifier: GPL-2.0-or-later
// A directory with a file of comma-separated values for each event, as RFC 4180 describes them.
#include "export/described.hpp"
#include "export/exporter.hpp"
#include "export/output_directory.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"
#include "text/unique.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace tool::exporting {

namespace {

/// A name that is right in every file system.
std::string file_name(const std::string& event, std::size_t number, std::set<std::string>& taken) {
    static constexpr std::size_t longest = 200;
    std::string name;
    for (const char c : event)
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.')
            name += c;
        else
            fmt::format_to(std::back_inserter(name), "%{:02x}", static_cast<unsigned char>(c));
    // Events of one name can have several formats.
    if (name.size() > longest || taken.count(name))
        name = fmt::format("{}-{}", name.substr(0, longest), number);
    // Others may have this very name.
    while (!taken.insert(name).second)
        name += '_';
    return name + ".csv";
}

/// Spreadsheets take a cell that begins so for a formula: an apostrophe makes it text.
bool is_formula(std::string_view text) {
    return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != text.npos;
}

/// Whether a text is written as it is: nothing in it needs quotes or an escape.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c < 0x7f && c != ',' && c != '"'; });
}

/// Appends what spreadsheets cannot take for a formula. Control characters other than tabs and ends
/// of lines are as in \x1b.
void append_plain(std::string& to, const std::string& clean) {
    if (is_plain(clean)) {
        to += clean;
        return;
    }
    const bool needs_quotes = clean.find_first_of(",\"\r\n \t") != clean.npos;
    to += needs_quotes ? "\"" : "";
    for (const char c : clean) {
        if (c == '"')
            to += "\"\"";
        else if ((static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r' && c != '\n') ||
                 c == 0x7f)
            fmt::format_to(std::back_inserter(to), "\\x{:02x}", c);
        else
            to += c;
    }
    to += needs_quotes ? "\"" : "";
}

/// Appends any text.
void append_quoted(std::string& to, std::string_view text) {
    if (is_plain(text) && !is_formula(text)) {
        to += text;
        return;
    }
    std::string clean = is_formula(text) ? "'" : "";
    text::append_utf8(clean, text);
    append_plain(to, clean);
}

void append_value(std::string& to, const recording::field& field, const recording::value& value) {
    switch (value.kind) {
    case recording::kind::absent:
        break;
    case recording::kind::text:
        append_quoted(to, value.text());
        break;
    case recording::kind::integers: {
        std::string text;
        append_text(text, field, value);
        append_quoted(to, text);
        break;
    }
    case recording::kind::integer:
    case recording::kind::natural:
    case recording::kind::real:
    case recording::kind::bytes:
        append_text(to, field, value);
        break;
    }
}

class csv_exporter final : public exporter {
public:
    explicit csv_exporter(std::string directory) : directory_(std::move(directory)) {}

    void add(const recording::record& record) override {
        if (record.event->is_described)
            add_cells(record);
        else
            add_fields(record);
    }

    void finish() override {
        for (auto& [id, file] : files_)
            write(file);
        for (auto& [number, file] : described_files_)
            write(file);
    }

private:
    /// There may be more events than a process may have files open.
    static constexpr std::size_t enough = 1 << 14;
    static constexpr std::size_t most_described = 10'000;
    struct file {
        std::string name;
        std::string text;
        bool exists = false;
        /// How many cells of a payload's header, which are in front, are numbers or single words.
        std::size_t words = 0;
    };

    void write(file& to) {
        add_to_file(directory_, to.name, to.text, std::exchange(to.exists, true));
        to.text.clear();
    }

    static void begin_line(std::string& line, const recording::record& record) {
        recording::append_seconds(line, record.time);
        line += ',';
        text::append_json(line, record.cpu);
        line += ',';
        append_quoted(line, record.task);
        line += ',';
        text::append_json(line, record.pid);
        line += ',';
        if (record.tgid)
            text::append_json(line, record.tgid);
        line += ',';
        append_quoted(line, record.instance);
    }

    void end_line(file& to) {
        to.text += "\r\n";
        if (to.text.size() >= enough)
            write(to);
    }

    void add_fields(const recording::record& record) {
        file& to = file_of(*record.event);
        begin_line(to.text, record);
        for (const recording::field& field : record.event->fields) {
            to.text += ',';
            append_value(to.text, field, read(field, record.data));
        }
        end_line(to);
    }

    /// A payload that describes itself may have other fields than the one before.
    void add_cells(const recording::record& record) {
        const auto row = described_.row_of(record);
        file& to = described_files_[row.table];
        if (row.is_new)
            begin_described(to, record.event->system + "." + row.name, row);
        begin_line(to.text, record);
        for (const eventheader::cell& cell : row.cells) {
            const auto number = static_cast<std::size_t>(&cell - row.cells.data());
            to.text += ',';
            if (cell.is_text)
                append_quoted(to.text, cell.text);
            else if (number < to.words || cell.kind != eventheader::number_kind::none)
                to.text += cell.text;
            else
                append_plain(to.text, cell.text);
        }
        end_line(to);
    }

    file& file_of(const recording::event_type& event) {
        const auto found = files_.find(event.id);
        if (found != files_.end())
            return found->second;
        file& added = files_[event.id];
        begin_file(added, event.system + "." + event.name, static_cast<std::size_t>(event.id));
        append_heading(added, event.fields);
        return added;
    }

    void begin_described(file& to, const std::string& name, const described_tables::row& row) {
        begin_file(to, name, row.table + 1);
        const auto words = std::find_if(row.cells.begin(), row.cells.end(), [](const auto& cell) {
            return cell.name == "not_decoded";
        });
        to.words =
            words == row.cells.end() ? 0 : static_cast<std::size_t>(words - row.cells.begin());
        append_heading(to, row.cells);
    }

    /// The columns of all records, and those of fields, by names that no column before has.
    template <typename Fields>
    static void append_heading(file& to, const Fields& fields) {
        std::set<std::string> taken;
        for (const char* const name : {"time", "cpu", "task", "pid", "tgid", "instance"}) {
            to.text += taken.empty() ? "" : ",";
            to.text += *taken.insert(name).first;
        }
        for (const auto& field : fields) {
            to.text += ',';
            append_quoted(to.text, text::unique(std::string(field.name), taken));
        }
        to.text += "\r\n";
    }

    void begin_file(file& to, const std::string& event, std::size_t number) {
        to.name = file_name(event, number, names_);
    }

    std::string directory_;
    std::set<std::string> names_;
    std::map<int, file> files_;
    described_tables described_{most_described, false};
    std::map<std::size_t, file> described_files_;
};

} // namespace

std::unique_ptr<exporter> make_csv(const options& options) {
    return std::make_unique<csv_exporter>(options.directory);
}

} // namespace tool::exporting
