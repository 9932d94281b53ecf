// SPDX-License-Identifier: GPL-2.0-or-later
// Commands that are in a program and a package of their own, because the libraries that they need
// are of no use to the others.
#pragma once

namespace tool {

inline constexpr char ship_summary[] = "send records to an OpenTelemetry collector";
inline constexpr char serve_summary[] = "count records, for Prometheus";

/// Becomes the program user-events-fleet, with these arguments. Throws text::failure if it is not
/// installed.
/// Whether the program of these commands is installed.
bool has_fleet();
[[noreturn]] void run_fleet(const char* command, char** argv);

} // namespace tool
