// SPDX-License-Identifier: GPL-2.0-only
// A page with a timeline, which needs nothing but a browser. The records are in it as columns,
// compressed; export/page/ has the program that shows them.
#include "export/exporter.hpp"
#include "export/output_file.hpp"
#include "export/tracks.hpp"
#include "text/errors.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <zlib.h>

// From page.S.
extern const char page_html[], page_html_end[], page_css[], page_css_end[], page_js[],
    page_js_end[], page_d3[], page_d3_end[];

namespace tool::exporting {

namespace {

using recording::kind;

/// Browsers show this many. More need several gigabytes of memory.
constexpr std::size_t most_records = 5'000'000;
/// Slices that are nested deeper are shown in the last lane.
constexpr std::size_t most_lanes = 64;
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// All columns, one after the other, and what the page has to know of each.
class blob {
public:
    /// Appends a column, and its description to `head`.
    template <typename Element, typename Values>
    void add(std::string& head, const char* type, const Values& values) {
        bytes_.resize((bytes_.size() + 7) & ~std::size_t{7});
        fmt::format_to(std::back_inserter(head), "{{\"type\":\"{}\",\"offset\":{},\"length\":{}}}",
                       type, bytes_.size(), values.size());
        for (const auto& value : values) {
            const auto element = static_cast<Element>(value);
            bytes_.append(reinterpret_cast<const char*>(&element), sizeof(element));
        }
    }

    /// Appends a column of numbers in the smallest type that holds them all.
    void add_numbers(std::string& head, kind kind, const std::vector<std::uint64_t>& values) {
        const auto most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
        const bool has_negative =
            kind == kind::integer && most > std::numeric_limits<std::int64_t>::max();
        if (kind == kind::real)
            add<std::uint64_t>(head, "f64", values);
        else if (has_negative)
            add<std::uint64_t>(head, "s64", values);
        else if (most <= 0xff)
            add<std::uint8_t>(head, "u8", values);
        else if (most <= 0xffff)
            add<std::uint16_t>(head, "u16", values);
        else if (most <= 0xffffffff)
            add<std::uint32_t>(head, "u32", values);
        else
            add<std::uint64_t>(head, "u64", values);
    }

    std::string compressed() const {
        uLongf size = compressBound(bytes_.size());
        std::string result(size, '\0');
        if (compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                      reinterpret_cast<const Bytef*>(bytes_.data()), bytes_.size(), 6) != Z_OK)
            throw std::bad_alloc();
        result.resize(size);
        return result;
    }

private:
    std::string bytes_;
};

void append_base64(std::string& to, std::string_view from) {
    static constexpr char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    to.reserve(to.size() + from.size() / 3 * 4 + 4);
    for (std::size_t i = 0; i < from.size(); i += 3) {
        const std::size_t size = std::min<std::size_t>(3, from.size() - i);
        unsigned bits = 0;
        for (std::size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < size ? static_cast<unsigned char>(from[i + j]) : 0U);
        for (std::size_t j = 0; j < 4; j++)
            to += j <= size ? digits[bits >> (18 - 6 * j) & 63] : '=';
    }
}

struct field_column {
    const recording::field* field;
    std::vector<std::uint64_t> values;
    std::vector<std::uint32_t> absent;

    bool is_number() const {
        return field->kind == kind::integer || field->kind == kind::natural ||
               field->kind == kind::real;
    }
};

struct event_columns {
    const recording::event_type* type;
    std::size_t count = 0;
    std::vector<field_column> fields;
};

struct open_slice {
    std::uint32_t row;
    std::uint32_t name;
};

struct open_pair {
    std::uint32_t row;
    int process;
    std::size_t lane;
};

struct thread {
    std::string name;
    int pid;
    int process;
};

class html_exporter final : public exporter {
public:
    explicit html_exporter(const options& options)
        : file_(options.output), source_(options.source), pairs_(options.pairs),
          matcher_(options.pairs), lanes_(options.pairs.size()) {
        intern("");
    }

    void add(const recording::record& record) override {
        const std::size_t count = times_.size();
        if (count == most_records)
            throw text::failure(
                fmt::format("a page cannot show more than {} records", most_records),
                "choose some with a pattern or --filter");
        const auto row = static_cast<std::uint32_t>(count);
        if (row == 0)
            start_ = record.time;
        times_.push_back(record.time < start_ ? 0 : record.time - start_);
        cpus_.push_back(static_cast<std::uint64_t>(record.cpu));
        tasks_of_rows_.push_back(thread_of(record));
        in_slice_.push_back(0);
        add_fields(record);
        const convention& fields = tracks_.convention_of(*record.event);
        const auto match = matcher_.find(record);
        if (match.role == matcher::role::begin)
            begin_pair(record, match, row);
        else if (match.role == matcher::role::end)
            end_pair(match, row);
        else if (fields.is_slice())
            add_slice(record, fields, row);
    }

    void finish() override;

private:
    using matcher = pair_matcher<open_pair>;

    std::uint32_t intern(std::string_view text) {
        const auto [at, is_new] = strings_.try_emplace(std::string(text), next_string_);
        if (is_new) {
            next_string_++;
            if (at->second)
                strings_json_ += ',';
            text::append_json(strings_json_, text);
        }
        return at->second;
    }

    std::size_t thread_of(const recording::record& record) {
        const auto [at, is_new] =
            thread_numbers_.try_emplace({record.process(), record.pid}, threads_.size());
        if (is_new) {
            threads_.push_back({std::string(record.task), record.pid, record.process()});
            processes_[record.process()] = record.process_name;
        }
        return at->second;
    }

    void add_fields(const recording::record& record) {
        const auto [at, is_new] = event_numbers_.try_emplace(record.event->id, events_.size());
        if (is_new) {
            events_.push_back({record.event, 0, {}});
            for (const recording::field& field : record.event->fields)
                events_.back().fields.push_back({&field, {}, {}});
        }
        event_columns& event = events_[at->second];
        events_of_rows_.push_back(at->second);
        for (field_column& column : event.fields) {
            const auto value = read(*column.field, record.data);
            if (value.kind == kind::absent) {
                column.absent.push_back(static_cast<std::uint32_t>(event.count));
                column.values.push_back(0);
            } else if (value.kind == kind::real) {
                column.values.push_back(std::bit_cast<std::uint64_t>(value.real));
            } else if (column.is_number()) {
                column.values.push_back(value.natural);
            } else if (value.kind == kind::text) {
                column.values.push_back(intern(value.text()));
            } else {
                text_.clear();
                append_text(text_, *column.field, value);
                column.values.push_back(intern(text_));
            }
        }
        event.count++;
    }

    void put_slice(std::uint32_t begin, std::uint32_t end, std::size_t track, std::size_t depth,
                   std::uint32_t name) {
        begins_.push_back(begin);
        ends_.push_back(end);
        slice_tracks_.push_back(track);
        depths_.push_back(std::min(depth, most_lanes - 1));
        names_.push_back(name);
        in_slice_[begin] = 1;
        if (end != none)
            in_slice_[end] = 1;
    }

    std::size_t put_track(const std::string& name, int process, int thread, bool is_own) {
        if (!tracks_json_.empty())
            tracks_json_ += ',';
        tracks_json_ += "{\"name\":";
        text::append_json(tracks_json_, name);
        fmt::format_to(std::back_inserter(tracks_json_),
                       ",\"process\":{},\"thread\":{},\"own\":{}}}", process, thread, is_own);
        note_process(process);
        return track_count_++;
    }

    /// A track can be of a process that has no records.
    void note_process(int process) { processes_.try_emplace(process, "process"); }

    void add_slice(const recording::record& record, const convention& fields, std::uint32_t row) {
        const std::string_view type = read(*fields.type, record.data).text();
        if (type != "B" && type != "E")
            return;
        const track track = tracks_.of(record, fields);
        const auto [at, is_new] = track_numbers_.try_emplace(track.number, 0);
        if (is_new)
            at->second = put_track(track.thread ? fmt::format("{} ({})", track.name, record.task)
                                                : track.name,
                                   track.process, track.thread, track.is_own);
        std::vector<open_slice>& open = open_[at->second];
        if (type == "B") {
            open.push_back({row, intern(read(*fields.slice_name, record.data).text())});
        } else if (!open.empty()) {
            const open_slice begin = open.back();
            open.pop_back();
            put_slice(begin.row, row, at->second, open.size(), begin.name);
        }
    }

    std::size_t lane_track(std::size_t pair, const open_pair& begin) {
        const auto [at, is_new] = lane_tracks_.try_emplace({pair, begin.process}, 0);
        if (is_new)
            at->second = put_track(name_of(pairs_[pair]), begin.process, 0, false);
        return at->second;
    }

    void close_pair(std::size_t pair, const open_pair& begin, std::uint32_t end) {
        lanes_[pair][begin.process].free(begin.lane);
        put_slice(begin.row, end, lane_track(pair, begin), begin.lane,
                  intern(name_of(pairs_[pair])));
    }

    void begin_pair(const recording::record& record, const matcher::match& match,
                    std::uint32_t row) {
        const open_pair begin{row, record.process(), lanes_[match.pair][record.process()].take()};
        if (const auto replaced = matcher_.open(match, begin))
            close_pair(match.pair, *replaced, row);
    }

    void end_pair(const matcher::match& match, std::uint32_t row) {
        if (const auto begin = matcher_.close(match))
            close_pair(match.pair, *begin, row);
    }

    std::string describe(blob& columns);
    void describe_events(std::string& head, blob& columns);

    output_file file_;
    std::string source_;
    std::vector<pair> pairs_;
    matcher matcher_;
    track_table tracks_;
    std::vector<std::map<int, lanes>> lanes_; // for each pair, by process
    std::map<std::pair<std::size_t, int>, std::size_t> lane_tracks_;
    std::map<std::size_t, std::size_t> track_numbers_;
    std::size_t track_count_ = 0;
    std::string tracks_json_;
    std::map<std::size_t, std::vector<open_slice>> open_;

    std::uint64_t start_ = 0;
    std::vector<std::uint64_t> times_, cpus_, tasks_of_rows_, events_of_rows_;
    std::vector<std::uint8_t> in_slice_;
    std::vector<std::uint64_t> begins_, ends_, slice_tracks_, depths_, names_;

    std::vector<event_columns> events_;
    std::unordered_map<int, std::size_t> event_numbers_;
    std::vector<thread> threads_;
    std::map<std::pair<int, int>, std::size_t> thread_numbers_;
    std::map<int, std::string> processes_;
    std::unordered_map<std::string, std::uint32_t> strings_;
    std::uint32_t next_string_ = 0;
    std::string strings_json_;
    std::string text_;
};

void html_exporter::describe_events(std::string& head, blob& columns) {
    for (const event_columns& event : events_) {
        if (&event != events_.data())
            head += ',';
        head += "{\"system\":";
        text::append_json(head, event.type->system);
        head += ",\"name\":";
        text::append_json(head, event.type->name);
        fmt::format_to(std::back_inserter(head), ",\"count\":{},\"fields\":[", event.count);
        for (const field_column& column : event.fields) {
            if (&column != event.fields.data())
                head += ',';
            head += "{\"name\":";
            text::append_json(head, column.field->name);
            head += column.is_number() ? ",\"kind\":\"number\",\"column\":"
                                       : ",\"kind\":\"text\",\"column\":";
            if (column.is_number())
                columns.add_numbers(head, column.field->kind, column.values);
            else
                columns.add<std::uint32_t>(head, "u32", column.values);
            fmt::format_to(std::back_inserter(head), ",\"absent\":[{}]}}",
                           fmt::join(column.absent, ","));
        }
        head += "]}";
    }
}

std::string html_exporter::describe(blob& columns) {
    std::string head = "{\"source\":";
    text::append_json(head, source_);
    fmt::format_to(std::back_inserter(head), ",\"start\":\"{}\",\"wall_clock\":{},\"strings\":[",
                   start_, recording::is_wall_clock(start_));
    head += strings_json_;
    head += "],\"tasks\":[";
    for (const thread& thread : threads_) {
        if (&thread != threads_.data())
            head += ',';
        head += "{\"name\":";
        text::append_json(head, thread.name);
        fmt::format_to(std::back_inserter(head), ",\"pid\":{},\"process\":{}}}", thread.pid,
                       thread.process);
    }
    head += "],\"processes\":{";
    for (const auto& [process, name] : processes_) {
        if (head.back() != '{')
            head += ',';
        fmt::format_to(std::back_inserter(head), "\"{}\":", process);
        text::append_json(head, name);
    }
    fmt::format_to(std::back_inserter(head), "}},\"tracks\":[{}],\"events\":[", tracks_json_);
    describe_events(head, columns);
    head += "],\"time\":";
    columns.add<double>(head, "f64", times_);
    head += ",\"event\":";
    columns.add<std::uint16_t>(head, "u16", events_of_rows_);
    head += ",\"task\":";
    columns.add<std::uint32_t>(head, "u32", tasks_of_rows_);
    head += ",\"cpu\":";
    columns.add<std::uint16_t>(head, "u16", cpus_);
    head += ",\"in_slice\":";
    columns.add<std::uint8_t>(head, "u8", in_slice_);
    const std::pair<const char*, const std::vector<std::uint64_t>&> slices[] = {
        {"begin", begins_},
        {"end", ends_},
        {"track", slice_tracks_},
        {"depth", depths_},
        {"name", names_}};
    head += ",\"slices\":{";
    for (const auto& [name, values] : slices) {
        fmt::format_to(std::back_inserter(head), "{}\"{}\":", head.back() == '{' ? "" : ",", name);
        columns.add<std::uint32_t>(head, "u32", values);
    }
    head += "}}";
    return head;
}

void html_exporter::finish() {
    for (auto& [track, open] : open_)
        while (!open.empty()) {
            const open_slice begin = open.back();
            open.pop_back();
            put_slice(begin.row, none, track, open.size(), begin.name);
        }
    matcher_.rest([this](std::size_t pair, const open_pair& begin) {
        put_slice(begin.row, none, lane_track(pair, begin), begin.lane,
                  intern(name_of(pairs_[pair])));
    });
    blob columns;
    const std::string head = describe(columns);
    std::string& to = file_.text();
    // The policy keeps the page from loading anything.
    to += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n<title></title>\n<style>\n";
    to.append(page_css, page_css_end);
    to += "</style>\n</head>\n<body>\n";
    to.append(page_html, page_html_end);
    to += "<script>\n";
    to.append(page_d3, page_d3_end);
    to += "\n</script>\n<script type=\"application/json\" id=\"head\">";
    to += head;
    to += "</script>\n<script type=\"application/octet-stream\" id=\"data\">";
    append_base64(to, columns.compressed());
    to += "</script>\n<script>\n";
    to.append(page_js, page_js_end);
    to += "</script>\n</body>\n</html>\n";
    file_.finish();
}

} // namespace

std::unique_ptr<exporter> make_html(const options& options) {
    return std::make_unique<html_exporter>(options);
}

} // namespace tool::exporting
