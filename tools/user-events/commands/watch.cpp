// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/color_option.hpp"
#include "commands/commands.hpp"
#include "commands/observation_options.hpp"
#include "commands/typed_filter.hpp"
#include "recording/record.hpp"
#include "recording/severity.hpp"
#include "text/errors.hpp"
#include "text/nearest.hpp"
#include "text/output.hpp"
#include "tracing/events.hpp"
#include "tracing/live_source.hpp"
#include "tracing/observation.hpp"
#include "tracing/signals.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace tool {

namespace {

struct options {
    observation_options live;
    std::string fields;
    std::uint64_t count = 0;
    bool since_boot = false;
    bool wall_clock = false;
    bool json = false;
    bool raw = false;
    color_option color;
};

/// How long the records of a CPU may wait in its buffer.
constexpr int pause_ms = 50;

class watcher {
public:
    watcher(const options& given, const tracing::instance& in, const tracing::wanted_events& wanted,
            std::optional<eventheader::filter> filter)
        : given_(given),
          source_(in, wanted, std::move(filter),
                  {.has_wall_clock = !given.since_boot,
                   .change = [this](recording::event_type& type) { keep_chosen(type); }}) {
        std::istringstream names(given.fields);
        for (std::string name; std::getline(names, name, ',');)
            fields_.push_back(name);
    }

    /// Returns whether more records are wanted.
    bool show(const recording::record& record) {
        if (given_.json)
            append_json_line(lines_, record);
        else
            append_text_line(record);
        if (lines_.size() >= enough)
            print();
        return ++shown_ != given_.count;
    }

    /// Shows what was recorded until now.
    void read() {
        typed_.update();
        if (is_wanting_)
            source_.read([this](const recording::record& record) {
                return is_wanting_ = !typed_.passes(record) || show(record);
            });
        print();
    }
    /// To be called after the last record.
    void finish() {
        typed_.finish();
        for (const auto& name : fields_)
            if (!has_described_ && has_types_ && !found_.count(name))
                text::warn(
                    fmt::format("none of the records had a field {}, which --fields names", name),
                    text::did_you_mean(name, known_));
        source_.warn_of_unknown_fields();
    }
    bool is_wanting() const noexcept { return is_wanting_; }
    const tracing::live_source& source() const noexcept { return source_; }

private:
    void print() {
        typed_.print_above(lines_);
        lines_.clear();
    }

    void append_text_line(const recording::record& record) {
        const std::size_t start = lines_.size();
        append_line(lines_, record);
        if (!text::has_colours())
            return;
        const std::string line = lines_.substr(start, lines_.size() - 1 - start);
        lines_.resize(start);
        lines_ += text::styled(line, style_of(severity_of(record)));
        lines_ += '\n';
    }

    static constexpr std::size_t enough = 1 << 16;

    void keep_chosen(recording::event_type& type) {
        type.is_described &= !given_.raw;
        type.chosen = fields_;
        has_types_ = true;
        has_described_ |= type.is_described;
        for (const auto& field : type.fields) {
            found_.insert(field.name);
            known_.push_back(field.name);
        }
    }

    const options& given_;
    tracing::live_source source_;
    std::uint64_t shown_ = 0;
    bool is_wanting_ = true;
    std::vector<std::string> fields_;
    /// The fields of the events that had records.
    std::set<std::string> found_;
    std::vector<std::string> known_;
    bool has_types_ = false, has_described_ = false;
    std::string lines_;
    typed_filter typed_;
};

void warn_of_lost(const options& given, std::uint64_t lost) {
    if (!lost)
        return;
    text::warn(fmt::format("{} records were lost, because the buffers were full: {}", lost,
                           given.live.has_from()
                               ? "an administrator can make them larger, with buffer_size_kb"
                               : fmt::format("--buffer {}k makes them larger, --filter records "
                                             "less",
                                             given.live.buffer * 4 / 1024)));
}

void watch_events(const options& given) {
    auto [wanted, filter] = given.live.filtered(given.raw);
    tracing::stop_signals signals;
    tracing::observation observation(given.live.from, given.live.buffer,
                                     given.since_boot ? tracing::clock::any : tracing::clock::wall);
    watcher watcher(given, observation.in(), wanted, std::move(filter));
    observation.start(wanted);
    auto program = given.live.start_program();
    for (bool stopped = false; watcher.is_wanting() && !stopped;) {
        // What was recorded before the signal is shown.
        stopped = signals.wait(pause_ms) || (program && program->has_ended());
        observation.update();
        watcher.read();
    }
    const std::uint64_t lost = watcher.source().lost();
    watcher.finish();
    warn_of_lost(given, lost);
    observation.require_all();
    if (const int status = program && program->has_ended() ? program->status() : 0)
        throw text::silent_failure{status};
}

} // namespace

action watch(arguments& with) {
    const auto given = std::make_shared<options>();
    given->live.declare_patterns(with);
    given->live.declare_from(with);
    given->live.declare_filter(with);
    given->live.declare_choice(with);
    with.option("--fields", "NAME,...", given->fields, "show only these fields");
    with.option("-n,--count", "NUMBER", given->count, "end after this many records");
    given->live.declare_buffer(with);
    with.flag("--since-boot", given->since_boot,
              "show seconds since the boot; with --from, the times of the instance's clock");
    with.flag("--wall-clock", given->wall_clock, "show date and time of day (the default)");
    with.flag("--json", given->json, "print a line of JSON for each record");
    given->color.declare(with);
    given->live.declare_program(with);
    with.flag("--raw", given->raw, "show payloads of EventHeader and .NET as bytes");
    return [given] {
        if (given->since_boot && given->wall_clock)
            throw text::usage_error("--since-boot and --wall-clock exclude each other");
        given->live.require_alone();
        given->color.apply();
        watch_events(*given);
    };
}

} // namespace tool
