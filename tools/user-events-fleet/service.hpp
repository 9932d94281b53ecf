// SPDX-License-Identifier: GPL-2.0-or-later
// Commands that run as services of systemd.
#pragma once

#include "tracing/signals.hpp"

namespace tool {

/// Reports to systemd, if it has started the process, that the service is ready, reloads or stops.
void report_ready();
void report_reload();
void report_stop();

/// Whether SIGHUP has come and what --config names makes sense, so that the command has to end and
/// throw `restart`. If it makes none, says so, and the command goes on as it is.
bool has_to_restart(tracing::stop_signals& signals);

} // namespace tool
