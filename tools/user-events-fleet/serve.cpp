// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands.hpp"
#include "commands/group_option.hpp"
#include "config.hpp"
#include "metrics/counting.hpp"
#include "metrics/exposition.hpp"
#include "metrics/http_server.hpp"
#include "metrics/names.hpp"
#include "service.hpp"
#include "text/errors.hpp"
#include "tracing/signals.hpp"
#include "tracing/tracefs.hpp"

#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct options {
    std::vector<std::string> patterns;
    group_option group;
    std::vector<std::string> histograms;
    /// Used by cli.cpp; here it only says whether there is a file.
    std::string config;
    std::string listen = "127.0.0.1:9927";
    metrics::limits limits;
    std::uint64_t names = 100;
};

/// How often to look for new events.
constexpr int pause_ms = 1000;
/// How often to read the counts if no request does: the kernel's tables must not get full.
constexpr std::chrono::seconds longest_pause(10);

void serve_metrics(const options& given) {
    std::vector<metrics::chosen_field> fields;
    for (const auto& histogram : given.histograms)
        fields.emplace_back(histogram, given.group.name);
    given.group.check(given.patterns);
    if (is_only_checked()) {
        metrics::check_address(given.listen);
        return;
    }
    const auto patterns = given.group.read(given.patterns);
    tracing::stop_signals signals;
    if (!given.config.empty())
        signals.reload_on_hangup();
    // The triggers count; only records of EventHeader events are recorded, see metrics::names.
    const auto instance = tracing::instance::temporary();
    std::optional<metrics::names> names;
    auto of_names = metrics::names::for_tracepoints(patterns);
    if (given.names && (patterns.empty() || !of_names.empty()))
        names.emplace(instance, std::move(of_names), given.names, given.limits.events);
    metrics::counting counting(instance, patterns, fields, given.limits);
    instance.write("tracing_on", "1");
    auto last = std::chrono::steady_clock::now();
    metrics::http_server server(given.listen, "/metrics", [&](const std::string& accept) {
        const auto as = metrics::format_for(accept);
        last = std::chrono::steady_clock::now();
        auto sample = counting.read();
        if (names) {
            names->read();
            sample.names = names->counts();
        }
        return metrics::response{metrics::content_type(as), metrics::to_exposition(sample, as)};
    });
    print_to_reader(fmt::format("http://{}/metrics\n", server.address()));
    report_ready();
    auto next = last;
    const int pause = names ? metrics::names::pause_ms : pause_ms;
    while (!signals.wait(server.wait_at_most(pause), server.file())) {
        server.run();
        if (names)
            names->read();
        if (has_to_restart(signals))
            throw restart();
        const auto now = std::chrono::steady_clock::now();
        if (now < next)
            continue;
        next = now + std::chrono::milliseconds(pause_ms);
        counting.update();
        if (now - last > longest_pause) {
            counting.read();
            last = now;
        }
    }
    report_stop();
    require_reader(signals);
}

} // namespace

action serve(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positionals("PATTERN", given->patterns,
                     "events, such as 'order_*'; without it, all user events");
    given->group.declare(with);
    with.option("--listen", "ADDRESS", given->listen,
                "HOST:PORT, or :PORT for all addresses (default: 127.0.0.1:9927)");
    with.option("--histogram", "EVENT:FIELD", given->histograms,
                "count the values of this field; can be repeated");
    with.option("--events", "NUMBER", given->limits.events,
                "count at most this many events (default: 500)");
    with.option("--programs", "NUMBER", given->limits.programs,
                "count at most this many programs for each event (default: 50)");
    with.option("--names", "NUMBER", given->names,
                "count EventHeader events by at most this many names for each tracepoint "
                "(default: 100; 0: record nothing)");
    with.config(given->config, read_config);
    return [given] { serve_metrics(*given); };
}

} // namespace tool
