// SPDX-License-Identifier: GPL-2.0-or-later
// A page with a timeline, which needs nothing but a browser. The records are in it in blocks of
// compressed columns, which are written when they are full; export/page/ has the program that shows
// them.
#include "export/described.hpp"
#include "export/exporter.hpp"
#include "export/output_file.hpp"
#include "export/packed_block.hpp"
#include "export/tracks.hpp"
#include "recording/severity.hpp"
#include "text/errors.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <optional>

// From page.S.
extern const char page_html[], page_html_end[], page_css[], page_css_end[], page_js[],
    page_js_end[], page_d3[], page_d3_end[];

namespace tool::exporting {

namespace {

using recording::kind;

/// Browsers show this many. More need several gigabytes of memory.
constexpr std::size_t most_records = 10'000'000;
/// Records in a block.
constexpr std::size_t block_size = 65536;
/// Slices that are nested deeper are shown in the last lane.
constexpr std::size_t most_lanes = 64;
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Sets of fields of payloads that describe themselves, each of which is an event of the page.
constexpr std::size_t most_tables = 1000;

/// Places with lost records. If there are more, neighbours become one.
constexpr std::size_t most_gaps = 10'000;

/// Where records are missing. Of some of the places, their number may not be known.
struct page_gap {
    std::uint64_t since;
    std::uint64_t time;
    std::uint64_t lost;
    std::uint64_t places;
    std::uint64_t unknown;
};

page_gap joined(const page_gap& a, const page_gap& b) {
    return {std::min(a.since, b.since), std::max(a.time, b.time), a.lost + b.lost,
            a.places + b.places, a.unknown + b.unknown};
}

/// Halves the number of gaps.
void join_neighbours(std::vector<page_gap>& gaps) {
    for (std::size_t i = 0; i < gaps.size() / 2; i++)
        gaps[i] = joined(gaps[2 * i], gaps[2 * i + 1]);
    gaps.resize(gaps.size() / 2);
}

bool is_number(kind kind) {
    return kind == kind::integer || kind == kind::natural || kind == kind::real;
}

/// A field, and its values in the block.
struct field_column {
    std::string name;
    recording::kind kind;
    std::vector<std::uint64_t> values = {};
    std::vector<std::size_t> absent = {};
    /// The last text in the block, and its number: a payload's header is often the same.
    std::string last = {};
    std::optional<std::uint32_t> last_number = {};
};

struct event_columns {
    std::string system;
    std::string name;
    /// Whether payloads describe the fields, so that what is absent was empty, not cut off.
    bool is_described;
    /// Whether the last field is the stack.
    bool has_stack;
    std::size_t count = 0;          // in the whole recording
    std::size_t count_in_block = 0; // also the place of the next record
    std::vector<field_column> fields = {};
};

kind kind_of(const eventheader::cell& cell) {
    switch (cell.kind) {
    case eventheader::number_kind::natural:
        return kind::natural;
    case eventheader::number_kind::integer:
        return kind::integer;
    case eventheader::number_kind::real:
        return kind::real;
    default:
        return kind::text;
    }
}

/// Columns of the block, by their names on the page.
template <std::size_t Count>
struct named_columns {
    std::array<const char*, Count> names;
    std::array<std::vector<std::uint64_t>, Count> values;

    template <typename... Numbers>
    void add(Numbers... numbers) {
        static_assert(sizeof...(numbers) == Count);
        std::size_t i = 0;
        (values[i++].push_back(static_cast<std::uint64_t>(numbers)), ...);
    }

    /// Appends them as members of an object, and empties them.
    void move_to(packed_block& block) {
        for (std::size_t i = 0; i < Count; i++) {
            fmt::format_to(std::back_inserter(block.head),
                           "{}\"{}\":", block.head.ends_with('{') ? "" : ",", names[i]);
            block.add(values[i]);
            values[i].clear();
        }
    }
};

struct open_slice {
    std::uint32_t row;
    std::string name;
};

struct open_span {
    std::uint32_t row;
    int process;
    span_rows::place place;
};

struct thread {
    std::string name;
    int pid;
    int process;
    // Of the recordings of several machines.
    std::string host;
    int distance;
};

class html_exporter final : public exporter, interpreter {
public:
    explicit html_exporter(const options& options)
        : interpreter(options.pairs), file_(options.file), source_(options.source) {
        begin_page();
    }

    void add_gap(const recording::gap& gap) override {
        gap_count_++;
        lost_ += gap.lost;
        if (gaps_.size() == most_gaps)
            join_neighbours(gaps_);
        gaps_.push_back({gap.since, gap.time, gap.lost, 1, gap.lost == 0});
    }

    void add(const recording::record& record) override {
        if (count_ == most_records)
            throw text::failure(
                fmt::format("a page cannot show more than {} records", most_records),
                "choose some with a pattern or --filter");
        row_ = static_cast<std::uint32_t>(count_);
        if (count_++ == 0)
            start_ = last_ = record.time;
        // The times of a damaged file may go back, which the page cannot show.
        const std::uint64_t now = std::max(record.time, last_);
        rows_.add(now - last_, event_of(record), thread_of(record), record.cpu);
        last_ = now;
        interpret(record);
        if (count_ % block_size == 0)
            write_block();
    }

    void finish() override;

private:
    void begin_page();
    void write_block();
    void write_head();

    /// Returns the number of a text in the block.
    std::uint32_t intern(std::string_view text) {
        const auto [at, is_new] = strings_.try_emplace(std::string(text), string_count_);
        if (is_new)
            text::append_json(begin_string(), text);
        return at->second;
    }
    /// The number of what is no text.
    std::uint32_t intern_null() {
        if (!null_number_) {
            null_number_ = string_count_;
            begin_string() += "null";
        }
        return *null_number_;
    }
    std::string& begin_string() {
        if (string_count_++)
            strings_json_ += ',';
        return strings_json_;
    }

    std::size_t thread_of(const recording::record& record) {
        const auto [at, is_new] =
            thread_numbers_.try_emplace({record.process(), record.pid}, threads_.size());
        if (is_new) {
            threads_.push_back({std::string(record.task), record.pid, record.process(),
                                std::string(record.host), record.distance});
            processes_[record.process()] =
                fmt::format("{} {}", record.process_name, record.process() - record.distance);
        }
        return at->second;
    }

    /// Adds the fields of a record. Returns the number of its event.
    std::size_t event_of(const recording::record& record) {
        const std::size_t number =
            record.event->is_described ? add_cells(record) : add_fields(record);
        events_[number].count++;
        events_[number].count_in_block++;
        return number;
    }

    std::size_t add_fields(const recording::record& record) {
        const auto [at, is_new] = event_numbers_.try_emplace(record.event->id, events_.size());
        if (is_new) {
            events_.push_back(
                {record.event->system, record.event->name, false, record.event->has_stack});
            for (const recording::field& field : record.event->fields)
                events_.back().fields.push_back({field.name, field.kind});
        }
        event_columns& event = events_[at->second];
        auto column = event.fields.begin();
        for (const recording::field& field : record.event->fields) {
            const auto value = read(field, record.data);
            if (value.kind == kind::absent)
                column->absent.push_back(event.count_in_block);
            column++->values.push_back(number_of(field, value));
        }
        return at->second;
    }

    std::size_t add_cells(const recording::record& record) {
        const auto row = described_.row_of(record);
        const auto [at, is_new] = table_numbers_.try_emplace(row.table, events_.size());
        if (is_new) {
            events_.push_back({record.event->system, row.name, true, row.has_stack});
            for (const eventheader::cell& cell : row.cells)
                events_.back().fields.push_back({cell.name, kind_of(cell)});
        }
        event_columns& event = events_[at->second];
        auto column = event.fields.begin();
        for (const eventheader::cell& cell : row.cells) {
            column->values.push_back(number_of(*column, cell));
            column++;
        }
        return at->second;
    }

    /// What a column has of a value: itself, or the number of its text.
    std::uint64_t number_of(const recording::field& field, const recording::value& value) {
        switch (value.kind) {
        case kind::absent:
            return 0;
        case kind::integer:
        case kind::natural:
            return value.natural;
        case kind::real:
            return std::bit_cast<std::uint64_t>(value.real);
        case kind::text:
            return intern(value.text());
        case kind::bytes:
        case kind::integers:
            break;
        }
        text_.clear();
        append_text(text_, field, value);
        return intern(text_);
    }

    std::uint64_t number_of(field_column& column, const eventheader::cell& cell) {
        if (is_number(column.kind))
            return cell.number;
        if (cell.text.empty() && !cell.is_text)
            return intern_null();
        if (!column.last_number || column.last != cell.text) {
            column.last = cell.text;
            column.last_number = intern(cell.text);
        }
        return *column.last_number;
    }

    void put_slice(std::uint32_t begin, std::uint32_t end, std::size_t track, std::size_t depth,
                   std::string_view name) {
        slices_.add(begin, end, track, std::min(depth, most_lanes - 1), intern(name));
    }

    std::size_t put_track(std::string_view name, int process, int thread, bool is_own) {
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
    void note_process(int process) {
        processes_.try_emplace(
            process, fmt::format("process {}", process % recording::record::machine_distance));
    }

    std::size_t track_of(const recording::record& record, const convention& fields) {
        const track track = tracks().of(record, fields);
        const auto [at, is_new] = track_numbers_.try_emplace(track.number, 0);
        if (is_new)
            at->second = put_track(track.thread ? fmt::format("{} ({})", track.name, record.task)
                                                : track.name,
                                   track.process, track.thread, track.is_own);
        return at->second;
    }

    void add_counter(const recording::record& record, const convention& fields) override {
        counters_.add(row_, track_of(record, fields));
    }

    void add_slice(const recording::record& record, const convention& fields) override {
        const slice_mark mark = slice_mark_of(record, fields);
        if (mark.role == slice_mark::role::moment)
            return;
        const std::size_t track = track_of(record, fields);
        std::vector<open_slice>& open = open_[track];
        if (mark.role == slice_mark::role::begin) {
            open.push_back({row_, std::string(mark.name)});
        } else if (!open.empty()) {
            const open_slice begin = std::move(open.back());
            open.pop_back();
            put_slice(begin.row, row_, track, open.size(), begin.name);
        }
    }

    void begin_span(const recording::record& record, const span_mark& mark) override {
        const open_span begin{row_, record.process(), places_.take(mark.key, record.process())};
        if (const auto replaced = spans_.open(mark, begin))
            close_span(mark.key, mark.name, *replaced, row_);
    }

    void end_span(const recording::record& /*record*/, const span_mark& mark) override {
        if (const auto begin = spans_.close(mark))
            close_span(mark.key, begin->first, begin->second, row_);
    }

    void close_span(const span_key& key, const std::string& name, const open_span& begin,
                    std::uint32_t end) {
        places_.free(begin.place);
        const auto [at, is_new] = span_tracks_.try_emplace(begin.place.row, 0);
        if (is_new)
            at->second = put_track(key.group, begin.process, 0, false);
        put_slice(begin.row, end, at->second, begin.place.lane, name);
    }

    output_file file_;
    std::string source_;
    open_spans<open_span> spans_;
    span_rows places_;
    std::map<std::size_t, std::size_t> span_tracks_; // by row
    std::map<std::size_t, std::size_t> track_numbers_;
    std::size_t track_count_ = 0;
    std::string tracks_json_;
    std::map<std::size_t, std::vector<open_slice>> open_;

    std::size_t count_ = 0;
    /// The number of the record that is added.
    std::uint32_t row_ = 0;
    std::uint64_t gap_count_ = 0;
    std::uint64_t lost_ = 0;
    std::vector<page_gap> gaps_;
    std::uint64_t start_ = 0;
    std::uint64_t last_ = 0;
    std::vector<event_columns> events_;
    std::unordered_map<int, std::size_t> event_numbers_;
    described_tables described_{most_tables, true};
    std::unordered_map<std::size_t, std::size_t> table_numbers_;
    std::vector<thread> threads_;
    std::map<std::pair<int, int>, std::size_t> thread_numbers_;
    std::map<int, std::string> processes_;
    std::string text_;

    // The block. Rows have the time since the row before; slices and counters have numbers of rows.
    named_columns<4> rows_{{"time", "event", "task", "cpu"}, {}};
    named_columns<5> slices_{{"begin", "end", "track", "depth", "name"}, {}};
    named_columns<2> counters_{{"row", "track"}, {}};
    std::unordered_map<std::string, std::uint32_t> strings_;
    std::uint32_t string_count_ = 0;
    std::optional<std::uint32_t> null_number_;
    std::string strings_json_;
};

void html_exporter::begin_page() {
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
    to += "\n</script>\n";
}

void html_exporter::write_block() {
    packed_block block;
    block.head = "{";
    rows_.move_to(block);
    block.head += ",\"slices\":{";
    slices_.move_to(block);
    block.head += "},\"counters\":{";
    counters_.move_to(block);
    block.head += "},\"events\":[";
    for (event_columns& event : events_) {
        block.head += &event == events_.data() ? "[" : ",[";
        for (std::size_t i = 0; i < event.fields.size(); i++) {
            field_column& field = event.fields[i];
            block.head += i == 0 ? "{\"column\":" : ",{\"column\":";
            block.add(field.values, is_number(field.kind) ? field.kind : kind::natural);
            fmt::format_to(std::back_inserter(block.head), ",\"absent\":[{}]}}",
                           fmt::join(field.absent, ","));
            field.values.clear();
            field.absent.clear();
            field.last_number.reset();
        }
        block.head += ']';
        event.count_in_block = 0;
    }
    ((block.head += "],\"strings\":[") += strings_json_) += "]}";
    strings_.clear();
    string_count_ = 0;
    null_number_.reset();
    strings_json_.clear();
    file_.text() += "<script type=\"application/octet-stream\" class=\"block\">";
    block.append_to(file_.text());
    file_.text() += "</script>\n";
    file_.advance();
}

/// What is known at the end only.
void html_exporter::write_head() {
    std::string& head = file_.text();
    head += "<script type=\"application/json\" id=\"head\">{\"source\":";
    text::append_json(head, source_);
    fmt::format_to(std::back_inserter(head), ",\"start\":\"{}\",\"wall_clock\":{},\"tasks\":[",
                   start_, recording::is_wall_clock(start_));
    for (const thread& thread : threads_) {
        head += &thread == threads_.data() ? "{\"name\":" : ",{\"name\":";
        text::append_json(head, thread.name);
        fmt::format_to(std::back_inserter(head),
                       ",\"pid\":{},\"process\":{},\"distance\":{},\"host\":", thread.pid,
                       thread.process, thread.distance);
        text::append_json(head, thread.host);
        head += '}';
    }
    head += "],\"processes\":{";
    for (const auto& [process, name] : processes_) {
        if (head.back() != '{')
            head += ',';
        fmt::format_to(std::back_inserter(head), "\"{}\":", process);
        text::append_json(head, name);
    }
    fmt::format_to(std::back_inserter(head), "}},\"lost\":{},\"gapCount\":{},\"gaps\":[", lost_,
                   gap_count_);
    // One can be before the first record.
    const auto in_page = [this](std::uint64_t time) { return time - std::min(start_, time); };
    for (const page_gap& gap : gaps_)
        fmt::format_to(std::back_inserter(head), "{}[{},{},{},{},{}]",
                       head.back() == '[' ? "" : ",", in_page(gap.since), in_page(gap.time),
                       gap.lost, gap.places, gap.unknown);
    fmt::format_to(std::back_inserter(head), "],\"errors\":[\"{}\"],\"tracks\":[{}],\"events\":[",
                   fmt::join(recording::names_of_errors(), "\",\""), tracks_json_);
    for (const event_columns& event : events_) {
        head += &event == events_.data() ? "{\"system\":" : ",{\"system\":";
        text::append_json(head, event.system);
        head += ",\"name\":";
        text::append_json(head, event.name);
        fmt::format_to(std::back_inserter(head),
                       ",\"described\":{},\"hasStack\":{},\"count\":{},\"fields\":[",
                       event.is_described, event.has_stack, event.count);
        for (const field_column& field : event.fields) {
            head += &field == event.fields.data() ? "{\"name\":" : ",{\"name\":";
            text::append_json(head, field.name);
            fmt::format_to(std::back_inserter(head), ",\"isNumber\":{}}}", is_number(field.kind));
        }
        head += "]}";
    }
    head += "]}</script>\n";
}

void html_exporter::finish() {
    for (auto& [track, open] : open_)
        for (std::size_t depth = open.size(); depth-- > 0;)
            put_slice(open[depth].row, none, track, depth, open[depth].name);
    spans_.rest([this](const span_key& key, const std::string& name, const open_span& begin) {
        close_span(key, name, begin, none);
    });
    write_block();
    write_head();
    file_.text() += "<script type=\"module\">\n";
    file_.text().append(page_js, page_js_end);
    file_.text() += "</script>\n</body>\n</html>\n";
    file_.finish();
}

} // namespace

std::unique_ptr<exporter> make_html(const options& options) {
    return std::make_unique<html_exporter>(options);
}

} // namespace tool::exporting
