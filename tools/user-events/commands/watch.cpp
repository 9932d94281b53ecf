// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/choice_options.hpp"
#include "commands/color_option.hpp"
#include "commands/commands.hpp"
#include "commands/from_option.hpp"
#include "commands/group_option.hpp"
#include "commands/scope_options.hpp"
#include "commands/typed_filter.hpp"
#include "eventheader/payload_filter.hpp"
#include "recording/record.hpp"
#include "recording/severity.hpp"
#include "text/errors.hpp"
#include "text/output.hpp"
#include "tracing/events.hpp"
#include "tracing/live_source.hpp"
#include "tracing/observation.hpp"
#include "tracing/signals.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

namespace tool {

namespace {

constexpr std::uint64_t buffer_size = 4 << 20;

struct options {
    std::vector<std::string> patterns;
    group_option group;
    from_option from;
    std::string filter;
    std::string fields;
    std::uint64_t count = 0;
    std::uint64_t buffer = buffer_size;
    bool since_boot = false;
    bool wall_clock = false;
    bool json = false;
    bool raw = false;
    color_option color;
    choice_options choice;
    scope_options programs;
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

    void keep_chosen(recording::event_type& type) const {
        type.is_described &= !given_.raw;
        if (type.is_described)
            type.chosen = fields_;
        else if (!fields_.empty())
            std::erase_if(type.fields, [&](const recording::field& field) {
                return std::find(fields_.begin(), fields_.end(), field.name) == fields_.end();
            });
    }

    const options& given_;
    tracing::live_source source_;
    std::uint64_t shown_ = 0;
    bool is_wanting_ = true;
    std::vector<std::string> fields_;
    std::string lines_;
    typed_filter typed_;
};

/// The filter that the kernel does not apply.
std::optional<eventheader::filter> filter_of(const options& given) {
    if (given.from.is_given())
        return given.filter.empty() ? std::nullopt
                                    : std::optional(recording::to_filter(given.filter));
    return given.raw ? std::nullopt : eventheader::filter::parse(given.filter);
}

void warn_of_lost(const options& given, std::uint64_t lost) {
    if (!lost)
        return;
    text::warn(fmt::format("{} records were lost, because the buffers were full: {}", lost,
                           given.from.is_given()
                               ? "an administrator can make them larger, with buffer_size_kb"
                               : fmt::format("--buffer {}k makes them larger, --filter has fewer "
                                             "records",
                                             given.buffer * 4 / 1024)));
}

void watch_events(const options& given) {
    tracing::wanted_events wanted{.patterns =
                                      given.group.read(given.patterns, given.from.is_given()),
                                  .filter = given.filter,
                                  .choice = given.choice.read(),
                                  .programs = given.programs.read(),
                                  .has_providers = true};
    auto filter = filter_of(given);
    wanted.is_filter_shared = filter.has_value();
    wanted.is_filter_own = given.from.is_given() && filter.has_value();
    tracing::stop_signals signals;
    tracing::observation observation(given.from.directory, given.buffer,
                                     given.since_boot ? tracing::clock::any : tracing::clock::wall);
    watcher watcher(given, observation.in(), wanted, std::move(filter));
    observation.start(wanted);
    for (bool stopped = false; watcher.is_wanting() && !stopped;) {
        // What was recorded before the signal is shown.
        stopped = signals.wait(pause_ms);
        observation.update();
        watcher.read();
    }
    const std::uint64_t lost = watcher.source().lost();
    observation.stop();
    watcher.finish();
    warn_of_lost(given, lost);
}

} // namespace

action watch(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positionals(
        "PATTERN", given->patterns,
        "events, such as 'order_*', 'sched:sched_switch' or 'MyProvider:Request*'; without "
        "it, all user events");
    given->group.declare(with);
    given->from.declare(with);
    with.option("-f,--filter", "FILTER", given->filter,
                "only records for which this is true, such as 'cents > 300'");
    given->choice.declare(with);
    given->programs.declare(with);
    with.option("--fields", "NAME,...", given->fields, "show only these fields");
    with.option("-n,--count", "NUMBER", given->count, "end after this many records");
    with.size("--buffer", given->buffer, "the size of each CPU's buffer (default: 4M)");
    with.flag("--since-boot", given->since_boot,
              "show seconds since the boot, or those of the clock of --from");
    with.flag("--wall-clock", given->wall_clock, "show date and time of day (the default)");
    with.flag("--json", given->json, "print a line of JSON for each record");
    given->color.declare(with);
    with.flag("--raw", given->raw, "do not decode payloads that describe themselves");
    return [given] {
        if (given->since_boot && given->wall_clock)
            throw text::usage_error("--since-boot and --wall-clock exclude each other");
        given->from.require_alone(given->programs.read(), given->buffer != buffer_size);
        given->color.apply();
        watch_events(*given);
    };
}

} // namespace tool
