// SPDX-License-Identifier: GPL-2.0-or-later
// Commands that run as services of systemd.
#pragma once

#include "tracing/signals.hpp"

#include <chrono>
#include <string_view>

namespace tool {

/// Reports to systemd, if it has started the process, that the service is ready or stops.
void report_ready();
void report_stop();

/// Throws text::failure if the service has ended because its standard output has no reader left, as
/// when the journal has failed: systemd then starts it again.
void require_reader(const tracing::stop_signals& signals);

/// Prints text at once. Throws text::failure as require_reader() does, also if the reader is not
/// there any more.
void print_to_reader(std::string_view text);

/// Long work that a service also does after systemd has told it to stop. systemd waits for 90 s in
/// all, and then kills the service. After a report that the work goes on, systemd waits for another
/// 30 s (EXTEND_TIMEOUT_USEC of sd_notify(3), since systemd 236).
class long_work {
public:
    /// To be called for each small part of the work. Reports at most once a second.
    void step();

private:
    unsigned steps_ = 0;
    std::chrono::steady_clock::time_point next_;
};

/// Whether SIGHUP has come and what --config names makes sense, so that the command has to end and
/// throw `restart`. If it makes none or cannot be checked, says so, and the command goes on as it
/// is.
bool has_to_restart(tracing::stop_signals& signals);

} // namespace tool
