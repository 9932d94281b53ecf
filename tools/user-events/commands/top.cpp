// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/choice_options.hpp"
#include "commands/commands.hpp"
#include "commands/from_option.hpp"
#include "commands/group_option.hpp"
#include "commands/scope_options.hpp"
#include "recording/record.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/quantity.hpp"
#include "text/table.hpp"
#include "tracing/events.hpp"
#include "tracing/live_source.hpp"
#include "tracing/observation.hpp"
#include "tracing/signals.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unistd.h>

#include <ncurses.h>

namespace tool {

namespace {

struct options {
    std::vector<std::string> patterns;
    group_option group;
    from_option from;
    double interval = 1;
    std::uint64_t count = 0;
    bool batch = false;
    choice_options choice;
    scope_options programs;
};

constexpr int pause_ms = 50;

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
};

enum class order { records, bytes, name };

/// Counts records, and has the counts of the last whole interval.
class counter {
public:
    counter(const tracing::instance& in, const tracing::wanted_events& wanted)
        : has_status_(!in.is_mounted() && in.with_names().has("user_events_status")),
          source_(in, wanted, {},
                  {.take_unknown = [this](const recording::record& record) { add(record); }}) {}

    void read() {
        source_.read([this](const recording::record& record) {
            add(record);
            return true;
        });
    }

    /// Ends the interval. There is a row for each event and program that has had a record so far.
    std::vector<row> rows(order by, const std::string& part) {
        std::vector<row> result;
        // Only the records of user events are counted there.
        std::map<std::string, tracing::usage> used;
        if (has_status_)
            used = tracing::status();
        for (auto& [key, counted] : counts_) {
            const auto& [event, described, program] = key;
            const std::string& shown = described.empty() ? event->name : described;
            const std::uint64_t lost = used[event->name].lost;
            if (shown.find(part) != shown.npos || program.find(part) != program.npos)
                result.push_back({{event->system, event->name},
                                  shown,
                                  program,
                                  counted.records,
                                  counted.bytes,
                                  lost - std::min(lost, counted.lost)});
            counted = {0, 0, lost};
        }
        std::stable_sort(result.begin(), result.end(), [by](const row& a, const row& b) {
            switch (by) {
            case order::records:
                return a.records > b.records;
            case order::bytes:
                return a.bytes > b.bytes;
            default:
                return std::tie(a.event, a.name) < std::tie(b.event, b.name);
            }
        });
        return result;
    }

    std::uint64_t lost() const { return source_.lost(); }

private:
    struct counts {
        std::uint64_t records = 0;
        std::uint64_t bytes = 0;
        /// At the end of the last interval.
        std::uint64_t lost = 0;
    };

    /// Programs choose the names. Those that come later are counted as their tracepoint.
    static constexpr std::size_t most_names = 10'000;

    void add(const recording::record& record) {
        std::string name;
        if (record.event->is_described && counts_.size() < most_names)
            append_name(name, record);
        auto& found = counts_[{record.event, std::move(name), std::string(record.task)}];
        found.records++;
        found.bytes += record.data.size();
    }

    bool has_status_;
    tracing::live_source source_;
    std::map<std::tuple<const recording::event_type*, std::string, std::string>, counts> counts_;
};

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
                       {row.name},
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
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xc0U) == 0x80)
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
    }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;
    ~screen() {
        endwin();
        delscreen(terminal_);
    }

    void draw(const std::vector<row>& rows, double seconds, std::uint64_t lost) {
        static constexpr int rates = 36, program = 16;
        const int event = COLS - rates - program;
        erase();
        line(0, A_NORMAL,
             fmt::format("{} lost  q quit  s sort by {}  / filter{}  e enable  d disable", lost,
                         by == order::records ? "bytes"
                         : by == order::bytes ? "name"
                                              : "records",
                         part.empty() ? "" : " (" + part + ")"));
        line(1, A_BOLD,
             fmt::format("{:>10} {:>10} {:>10}  {} {}", "RECORDS/S", "BYTES/S", "LOST/S",
                         in_columns("EVENT", event), "PROGRAM"));
        const int selected = index_of_selected(rows);
        for (int i = 0; i < static_cast<int>(rows.size()) && i + 3 < LINES; i++) {
            const row& row = rows[static_cast<std::size_t>(i)];
            line(i + 2, i == selected ? A_REVERSE : A_NORMAL,
                 fmt::format("{:>10} {:>10} {:>10}  {} {}", rate(row.records, seconds),
                             byte_rate(row.bytes, seconds), rate(row.lost, seconds),
                             in_columns(row.name, event), text::escaped(row.program)));
        }
        line(LINES - 1, A_NORMAL, message_);
        refresh();
    }

    /// Handles the keys that were pressed. Returns false if the user wants to quit.
    bool handle_keys(const std::vector<row>& rows) {
        for (int key = 0; (key = getch()) != ERR;) {
            message_.clear();
            if (key == 'q')
                return false;
            if (key == 's')
                by = by == order::records ? order::bytes
                     : by == order::bytes ? order::name
                                          : order::records;
            else if (key == '/')
                part = question("show events and programs with: ");
            else if (!rows.empty())
                handle_key_of_row(key, rows);
        }
        return true;
    }

    order by = order::records;
    /// What a shown event or program has in its name.
    std::string part;
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

    void line(int y, int attributes, const std::string& text) {
        attrset(attributes);
        mvaddnstr(y, 0, text.c_str(), std::max(COLS - 1, 0));
    }

    std::string question(const char* text) {
        char answer[100] = "";
        move(LINES - 1, 0);
        clrtoeol();
        addstr(text);
        echo();
        nodelay(stdscr, false);
        getnstr(answer, sizeof(answer) - 1);
        nodelay(stdscr, true);
        noecho();
        return answer;
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

    SCREEN* terminal_;
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
    const tracing::wanted_events wanted{.patterns =
                                            given.group.read(given.patterns, given.from.is_given()),
                                        .choice = given.choice.read(),
                                        .programs = given.programs.read(),
                                        .has_providers = true};
    tracing::stop_signals signals;
    tracing::observation observation(given.from.directory, 4 << 20, tracing::clock::any);
    counter counter(observation.in(), wanted);
    observation.start(wanted);
    const std::unique_ptr<screen> terminal(has_screen ? new screen : nullptr);
    if (terminal)
        terminal->is_read_only = given.from.is_given();
    const auto interval = std::chrono::duration<double>(given.interval);
    std::vector<row> rows;
    auto start = clock::now();
    double seconds = given.interval;
    for (std::uint64_t shown = 0; given.count == 0 || shown < given.count;) {
        const bool stopped = signals.wait(pause_ms);
        observation.update();
        counter.read();
        if (stopped || (terminal && !terminal->handle_keys(rows)))
            return;
        const auto now = clock::now();
        if (now - start >= interval) {
            seconds = std::chrono::duration<double>(now - start).count();
            rows = counter.rows(terminal ? terminal->by : order::records,
                                terminal ? terminal->part : "");
            start = now;
            shown++;
            if (!terminal)
                print(rows, seconds, counter.lost());
        }
        if (terminal)
            terminal->draw(rows, seconds, counter.lost());
    }
}

} // namespace

action top(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positionals("PATTERN", given->patterns, "events; without it, all user events");
    given->group.declare(with);
    given->from.declare(with);
    with.duration("-i,--interval", given->interval, "the time between two counts (default: 1s)");
    with.option("-n,--count", "NUMBER", given->count, "end after this many counts");
    given->choice.declare(with);
    given->programs.declare(with);
    with.flag("-b,--batch", given->batch, "print tables, without a screen");
    return [given] {
        given->from.require_alone(given->programs.read());
        run_top(*given);
    };
}

} // namespace tool
