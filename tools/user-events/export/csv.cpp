// SPDX-License-Identifier: GPL-2.0-only
// A directory with a file of comma-separated values for each event, as RFC 4180 describes them.
#include "export/exporter.hpp"
#include "export/output_file.hpp"
#include "text/errors.hpp"
#include "text/json.hpp"

#include <cctype>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

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

void append_quoted(std::string& to, std::string_view text) {
    const bool is_plain = text.find_first_of(",\"\r\n \t") == text.npos;
    const std::size_t start = to.size();
    append_utf8(to, text);
    if (is_plain)
        return;
    std::string quoted = "\"";
    for (const char c : std::string_view(to).substr(start))
        quoted.append(c == '"' ? 2 : 1, c);
    to.replace(start, to.npos, quoted + '"');
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
    explicit csv_exporter(const options& options) : directory_(options.output) {
        if (directory_.empty())
            throw text::usage_error("CSV needs a directory, with a file for each event",
                                    "give it with -o DIRECTORY");
        make_directory(directory_);
    }

    void add(const recording::record& record) override {
        output_file& file = file_of(*record.event);
        std::string& line = file.text();
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
        file.advance();
    }

    void finish() override {
        for (auto& [id, file] : files_)
            file.finish();
    }

private:
    output_file& file_of(const recording::event_type& event) {
        const auto found = files_.find(event.id);
        if (found != files_.end())
            return found->second;
        output_file& file =
            files_.try_emplace(event.id, directory_ + "/" + file_name(event, names_)).first->second;
        file.text() = "time,cpu,task,pid,tgid,instance";
        for (const recording::field& field : event.fields) {
            file.text() += ',';
            append_quoted(file.text(), field.name);
        }
        file.text() += "\r\n";
        return file;
    }

    std::string directory_;
    std::set<std::string> names_;
    std::map<int, output_file> files_;
};

} // namespace

std::unique_ptr<exporter> make_csv(const options& options) {
    return std::make_unique<csv_exporter>(options);
}

} // namespace tool::exporting
