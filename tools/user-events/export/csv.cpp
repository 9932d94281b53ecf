// SPDX-License-Identifier: GPL-2.0-only
// A directory with a file of comma-separated values for each event, as RFC 4180 describes them.
#include "export/exporter.hpp"
#include "export/output_directory.hpp"
#include "export/output_file.hpp"
#include "text/errors.hpp"
#include "text/json.hpp"
#include "text/new_file.hpp"

#include <cctype>
#include <cerrno>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <sys/stat.h>
#include <utility>

namespace tool::exporting {

namespace {

/// A name that is right in every file system.
std::string file_name(const recording::event_type& event, std::set<std::string>& taken) {
    static constexpr std::size_t longest = 200;
    std::string name;
    for (const char c : event.system + "." + event.name)
        if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.')
            name += c;
        else
            fmt::format_to(std::back_inserter(name), "%{:02x}", static_cast<unsigned char>(c));
    // Events of one name can have several formats.
    if (name.size() > longest || taken.count(name))
        name = fmt::format("{}-{}", name.substr(0, longest), event.id);
    taken.insert(name);
    return name + ".csv";
}

/// Spreadsheets take a cell that begins so for a formula: an apostrophe makes it text.
bool is_formula(std::string_view text) {
    return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != text.npos;
}

/// Appends text. Control characters other than tabs and ends of lines are as in \x1b.
void append_quoted(std::string& to, std::string_view text) {
    std::string clean = is_formula(text) ? "'" : "";
    append_utf8(clean, text);
    const bool is_plain = clean.find_first_of(",\"\r\n \t") == clean.npos;
    to += is_plain ? "" : "\"";
    for (const char c : clean) {
        if (c == '"')
            to += "\"\"";
        else if ((static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r' && c != '\n') ||
                 c == 0x7f)
            fmt::format_to(std::back_inserter(to), "\\x{:02x}", c);
        else
            to += c;
    }
    to += is_plain ? "" : "\"";
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
    default:
        append_text(to, field, value);
    }
}

class csv_exporter final : public exporter {
public:
    void add(const recording::record& record) override {
        file& to = file_of(*record.event);
        std::string& line = to.text;
        recording::append_seconds(line, record.time);
        line += ',';
        text::append_json(line, static_cast<std::int64_t>(record.cpu));
        line += ',';
        append_quoted(line, record.task);
        line += ',';
        text::append_json(line, static_cast<std::int64_t>(record.pid));
        line += ',';
        if (record.tgid)
            text::append_json(line, static_cast<std::int64_t>(record.tgid));
        line += ',';
        append_quoted(line, record.instance);
        for (const recording::field& field : record.event->fields) {
            line += ',';
            append_value(line, field, read(field, record.data));
        }
        line += "\r\n";
        if (line.size() >= enough)
            write(to);
    }

    void finish() override {
        for (auto& [id, file] : files_)
            write(file);
    }

private:
    /// There may be more events than a process may have files open.
    static constexpr std::size_t enough = 1 << 14;
    struct file {
        std::string path;
        std::string text;
        bool exists = false;
    };

    void write(file& to) {
        if (!std::exchange(has_directory_, true) && mkdir(output_directory::files, 0700) != 0)
            throw text::file_failure(errno, "make the directory", output_directory::files);
        text::append_to_file(to.path, to.text, std::exchange(to.exists, true));
        to.text.clear();
    }

    file& file_of(const recording::event_type& event) {
        const auto found = files_.find(event.id);
        if (found != files_.end())
            return found->second;
        file& added = files_[event.id];
        added.path = fmt::format("{}/{}", output_directory::files, file_name(event, names_));
        added.text = "time,cpu,task,pid,tgid,instance";
        for (const recording::field& field : event.fields) {
            added.text += ',';
            append_quoted(added.text, field.name);
        }
        added.text += "\r\n";
        return added;
    }

    bool has_directory_ = false;
    std::set<std::string> names_;
    std::map<int, file> files_;
};

} // namespace

std::unique_ptr<exporter> make_csv(const options&) {
    return std::make_unique<csv_exporter>();
}

} // namespace tool::exporting
