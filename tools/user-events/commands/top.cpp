// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/color_option.hpp"
#include "commands/commands.hpp"
#include "commands/observation_options.hpp"
#include "recording/event_type.hpp"
#include "recording/record.hpp"
#include "recording/severity.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/line_editor.hpp"
#include "text/output.hpp"
#include "text/quantity.hpp"
#include "text/sparkline.hpp"
#include "text/table.hpp"
#include "tracing/events.hpp"
#include "tracing/groups.hpp"
#include "tracing/live_source.hpp"
#include "tracing/observation.hpp"
#include "tracing/signals.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <cmath>
#include <fmt/format.h>
#include <langinfo.h>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <ncurses.h>

namespace tool {

namespace {

struct options {
    observation_options live;
    double interval = 1;
    std::uint64_t count = 0;
    bool batch = false;
    color_option color;
};

constexpr int pause_ms = 50;

/// The numbers of records in the last intervals, the latest one last.
using history = std::vector<std::uint64_t>;
constexpr std::size_t most_intervals = 40;

/// The records of an event that a program has made in an interval.
struct row {
    tracing::event_name event;
    /// What the payload calls the event if it does, otherwise the event's name.
    std::string name;
    std::string program;
    std::uint64_t records;
    std::uint64_t bytes;
    /// By the recorders of the event, whatever program has made them.
    std::uint64_t lost;
    /// Of the most severe record since the interval before.
    recording::severity severity;
    tool::history history;
};

enum class order { records, bytes, name };

/// Counts records, and has the counts of the last whole interval.
class counter {
public:
    counter(const tracing::instance& in, const tracing::wanted_events& wanted)
        : has_status_(!in.is_mounted() && in.with_names().has("user_events_status")),
          source_(in, wanted, {},
                  {.take_unknown = [this](const recording::record& record) { add(record); }}) {
        if (has_status_)
            before_.emplace();
    }

    void read() {
        source_.read([this](const recording::record& record) {
            add(record);
            return true;
        });
    }

    /// Ends the interval. There is a row for each event and program that has had a record so far.
    std::vector<row> rows() {
        std::vector<row> result;
        std::optional<tracing::statuses> now;
        if (has_status_)
            now.emplace();
        const auto lost = [&](const tracing::event_name& name) -> std::uint64_t {
            // The kernel counts lost records only for events that programs register.
            if (!now || !recording::is_registered_system(name.system))
                return 0;
            const std::uint64_t before = before_->of(name).lost, after = now->of(name).lost;
            return after - std::min(after, before);
        };
        for (auto& [key, counted] : counts_) {
            const auto& [event, described, program] = key;
            const std::string& shown = described.empty() ? event->name : described;
            if (counted.history.size() == most_intervals)
                counted.history.erase(counted.history.begin());
            counted.history.push_back(counted.records);
            result.push_back({{event->system, event->name},
                              shown,
                              program,
                              counted.records,
                              counted.bytes,
                              lost({event->system, event->name}),
                              counted.severity,
                              counted.history});
            // The severity stays until there are other records: it does not flicker.
            counted = {0, 0, counted.severity, std::move(counted.history)};
        }
        before_ = std::move(now);
        return result;
    }

    std::uint64_t lost() const { return source_.lost(); }

private:
    struct counts {
        std::uint64_t records = 0;
        std::uint64_t bytes = 0;
        recording::severity severity = {};
        tool::history history = {};
    };

    using key = std::tuple<const recording::event_type*, std::string, std::string>;

    /// Programs choose their own names and those in payloads. What comes later is counted by the
    /// event alone.
    static constexpr std::size_t most_pairs = 10'000;

    void add(const recording::record& record) {
        key of{record.event, "", record.task};
        if (record.event->is_described)
            append_name(std::get<1>(of), record);
        if (counts_.size() >= most_pairs && !counts_.contains(of))
            of = {record.event, "", "(others)"};
        auto& found = counts_[std::move(of)];
        const recording::severity severity = severity_of(record);
        found.severity = found.records ? std::max(found.severity, severity) : severity;
        found.records++;
        found.bytes += record.data.size();
    }

    bool has_status_;
    tracing::live_source source_;
    /// At the end of the last interval.
    std::optional<tracing::statuses> before_;
    std::map<key, counts> counts_;
};

/// The rows that have a text in the name of the event or the program.
std::vector<row> arranged(std::vector<row> rows, order by, const std::string& part) {
    std::erase_if(rows, [&](const row& row) {
        return row.name.find(part) == row.name.npos && row.program.find(part) == row.program.npos;
    });
    std::stable_sort(rows.begin(), rows.end(), [by](const row& a, const row& b) {
        switch (by) {
        case order::records:
            return a.records > b.records;
        case order::bytes:
            return a.bytes > b.bytes;
        default:
            return std::tie(a.event, a.name) < std::tie(b.event, b.name);
        }
    });
    return rows;
}

/// Rounded up, so that what has records does not look as if it had none.
std::string rate(std::uint64_t number, double seconds) {
    return fmt::format("{:.0f}", std::ceil(static_cast<double>(number) / seconds));
}

std::string byte_rate(std::uint64_t bytes, double seconds) {
    return text::from_bytes(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds));
}

void print(const std::vector<row>& rows, double seconds, std::uint64_t lost) {
    text::table table({"RECORDS/S", "BYTES/S", "LOST/S", "EVENT", "PROGRAM"});
    for (const row& row : rows)
        if (row.records || row.lost)
            table.add({{rate(row.records, seconds), text::style::bold, true},
                       {byte_rate(row.bytes, seconds), text::style::plain, true},
                       {rate(row.lost, seconds), text::style::plain, true},
                       {row.name, style_of(row.severity)},
                       {row.program}});
    table.print();
    text::print(fmt::format("lost: {}\n", lost));
    text::flush();
}

/// Escaped, and cut or filled with spaces to a number of columns.
std::string in_columns(const std::string& text, int columns) {
    const std::string shown = text::escaped(text);
    const auto width = static_cast<std::size_t>(std::max(columns, 1));
    if (shown.size() <= width)
        return fmt::format("{:<{}}", shown, width);
    // Not within a character.
    std::size_t end = width - 1;
    while (end > 0 && text::is_continuation(shown[end]))
        end--;
    return shown.substr(0, end) + "~";
}

/// The terminal, in the mode of ncurses.
class screen {
public:
    screen() {
        std::setlocale(LC_CTYPE, "");
        // initscr() would end the program if that failed.
        terminal_ = newterm(nullptr, stdout, stdin);
        if (!terminal_)
            throw text::failure("this terminal is not known", "set TERM, or use --batch");
        cbreak();
        noecho();
        curs_set(0);
        keypad(stdscr, true);
        nodelay(stdscr, true);
        // Escape is a key of its own.
        set_escdelay(25);
        if (text::has_colours() && has_colors()) {
            start_color();
            use_default_colors();
            init_pair(red, COLOR_RED, -1);
            init_pair(yellow, COLOR_YELLOW, -1);
        }
    }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;
    ~screen() {
        endwin();
        delscreen(terminal_);
    }

    void draw(const std::vector<row>& rows, double seconds, std::uint64_t lost) {
        static constexpr int rates = 36, program = 16, narrowest = 4;
        const int spare = (COLS - rates - program) / 3;
        const int spark = spare < narrowest ? 0 : std::min<int>(spare, most_intervals);
        const int gap = spark ? 2 : 0;
        const int event = COLS - rates - program - spark - gap;
        const bool is_utf8 = std::string_view(nl_langinfo(CODESET)) == "UTF-8";
        erase();
        line(0, A_NORMAL,
             fmt::format("{} lost  q quit  s sort by {}  / filter{}  e enable  d disable", lost,
                         by == order::records ? "bytes"
                         : by == order::bytes ? "name"
                                              : "records",
                         part.empty() ? "" : " (" + part + ")"));
        line(1, A_BOLD,
             fmt::format("{:>10} {:>10} {:>10}  {:{}}{} {}", "RECORDS/S", "BYTES/S", "LOST/S",
                         spark ? "RATE" : "", spark + gap, in_columns("EVENT", event), "PROGRAM"));
        const int selected = index_of_selected(rows);
        for (int i = 0; i < static_cast<int>(rows.size()) && i + 3 < LINES; i++) {
            const row& row = rows[static_cast<std::size_t>(i)];
            line(i + 2, attributes_of(row) | (i == selected ? A_REVERSE : A_NORMAL),
                 fmt::format("{:>10} {:>10} {:>10}  {:{}}{} {}", rate(row.records, seconds),
                             byte_rate(row.bytes, seconds), rate(row.lost, seconds), "",
                             spark + gap, in_columns(row.name, event), text::escaped(row.program)));
            mvaddstr(i + 2, rates - 2, text::sparkline(row.history, spark, is_utf8).c_str());
        }
        line(LINES - 1, A_NORMAL,
             is_typing_ ? "show events and programs with: " + text::escaped(editor_.line())
                        : message_);
        refresh();
    }

    /// Handles the keys that were pressed. Returns false if the user wants to quit.
    bool handle_keys(const std::vector<row>& rows) {
        for (int key = 0; (key = getch()) != ERR;) {
            is_changed = true;
            message_.clear();
            if (is_typing_) {
                type(key);
                continue;
            }
            if (key == 'q')
                return false;
            if (key == 's')
                by = by == order::records ? order::bytes
                     : by == order::bytes ? order::name
                                          : order::records;
            else if (key == '/')
                begin_typing();
            else if (!rows.empty())
                handle_key_of_row(key, rows);
        }
        return true;
    }

    order by = order::records;
    /// What a shown event or program has in its name.
    std::string part;
    /// Whether a key has changed what is to be drawn. The size of the terminal is one, too.
    bool is_changed = true;
    /// Whether events cannot be switched.
    bool is_read_only = false;

private:
    /// The rows change their order, the selected one stays selected. Without it, the first is.
    int index_of_selected(const std::vector<row>& rows) const {
        const auto found = std::find_if(rows.begin(), rows.end(), [this](const row& row) {
            return row.event == selected_event_ && row.name == selected_name_ &&
                   row.program == selected_program_;
        });
        return found == rows.end() ? 0 : static_cast<int>(found - rows.begin());
    }

    void handle_key_of_row(int key, const std::vector<row>& rows) {
        const int last = static_cast<int>(rows.size()) - 1;
        const int step = key == KEY_DOWN ? 1 : key == KEY_UP ? -1 : 0;
        const row& row =
            rows[static_cast<std::size_t>(std::clamp(index_of_selected(rows) + step, 0, last))];
        if (step) {
            selected_event_ = row.event;
            selected_name_ = row.name;
            selected_program_ = row.program;
        }
        if (key == 'e' || key == 'd')
            enable(row.event, key == 'e');
    }

    void line(int y, attr_t attributes, const std::string& text) {
        attrset(static_cast<int>(attributes));
        mvaddnstr(y, 0, text.c_str(), std::max(COLS - 1, 0));
    }

    static attr_t attributes_of(const row& row) {
        if (!text::has_colours())
            return A_NORMAL;
        switch (style_of(row.severity)) {
        case text::style::dim:
            return A_DIM;
        case text::style::yellow:
            return static_cast<attr_t>(COLOR_PAIR(yellow));
        case text::style::red:
            return static_cast<attr_t>(COLOR_PAIR(red));
        case text::style::bold_red:
            return static_cast<attr_t>(COLOR_PAIR(red)) | A_BOLD;
        default:
            return A_NORMAL;
        }
    }

    void begin_typing() {
        part_before_ = std::exchange(part, "");
        editor_.begin();
        is_typing_ = true;
    }

    /// The rows follow what is typed.
    void type(int key) {
        if (key > 0xff && key != KEY_BACKSPACE && key != KEY_ENTER)
            return;
        const auto result = editor_.take(key == KEY_BACKSPACE ? 0x7f
                                         : key == KEY_ENTER   ? '\n'
                                                              : static_cast<unsigned char>(key));
        part = result == text::line_editor::result::cancelled ? part_before_ : editor_.line();
        is_typing_ = result == text::line_editor::result::typing;
    }

    void enable(const tracing::event_name& name, bool on) {
        const int error =
            is_read_only
                ? EROFS
                : tracing::instance::top().try_write(name.directory() + "/enable", on ? "1" : "0");
        message_ = error ? fmt::format("{} cannot be switched", text::escaped(name.event))
                         : fmt::format("{} is {} in the top-level instance",
                                       text::escaped(name.event), on ? "enabled" : "disabled");
    }

    /// Pairs of colours.
    enum : short { red = 1, yellow };

    SCREEN* terminal_;
    text::line_editor editor_;
    bool is_typing_ = false;
    std::string part_before_;
    tracing::event_name selected_event_;
    std::string selected_name_;
    std::string selected_program_;
    std::string message_;
};

void run_top(const options& given) {
    using clock = std::chrono::steady_clock;
    const bool has_screen = !given.batch;
    if (has_screen && (!text::is_terminal() || !isatty(STDIN_FILENO)))
        throw text::usage_error("standard input and output are no terminal", "use --batch");
    const auto wanted = given.live.wanted();
    tracing::stop_signals signals;
    tracing::observation observation(given.live.from, given.live.buffer, tracing::clock::any);
    counter counter(observation.in(), wanted);
    observation.start(wanted);
    auto program = given.live.start_program();
    const std::unique_ptr<screen> terminal(has_screen ? new screen : nullptr);
    if (terminal)
        terminal->is_read_only = given.live.has_from();
    const auto interval = std::chrono::duration<double>(given.interval);
    std::vector<row> rows, shown_rows;
    auto start = clock::now();
    double seconds = given.interval;
    for (std::uint64_t shown = 0; given.count == 0 || shown < given.count;) {
        const bool stopped = signals.wait(pause_ms) || (program && program->has_ended());
        observation.update();
        counter.read();
        if (program && stopped) {
            rows = counter.rows();
            if (!terminal)
                print(arranged(rows, order::records, ""),
                      std::chrono::duration<double>(clock::now() - start).count(), counter.lost());
            if (const int status = program->has_ended() ? program->status() : 0)
                throw text::silent_failure{status};
        }
        if (stopped || (terminal && !terminal->handle_keys(shown_rows)))
            return;
        const auto now = clock::now();
        if (now - start >= interval) {
            seconds = std::chrono::duration<double>(now - start).count();
            rows = counter.rows();
            start = now;
            shown++;
            if (terminal)
                terminal->is_changed = true;
            else
                print(arranged(rows, order::records, ""), seconds, counter.lost());
        }
        if (terminal && std::exchange(terminal->is_changed, false)) {
            shown_rows = arranged(rows, terminal->by, terminal->part);
            terminal->draw(shown_rows, seconds, counter.lost());
        }
    }
}

} // namespace

action top(arguments& with) {
    const auto given = std::make_shared<options>();
    given->live.declare_patterns(with, "events; without it, all user events");
    given->live.declare_from(with);
    with.duration("-i,--interval", given->interval, "the time between two counts (default: 1s)");
    with.option("-n,--count", "NUMBER", given->count, "end after this many intervals");
    given->live.declare_choice(with);
    given->color.declare(with);
    with.flag("-b,--batch", given->batch, "print tables, without a screen");
    given->live.declare_program(with);
    return [given] {
        given->live.require_alone();
        given->color.apply();
        run_top(*given);
    };
}

} // namespace tool
