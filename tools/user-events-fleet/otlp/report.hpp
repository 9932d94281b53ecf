// SPDX-License-Identifier: GPL-2.0-or-later
// Tells the collector about dropped records.
#pragma once

#include "otlp/encoder.hpp"
#include "otlp/queue.hpp"

namespace tool::otlp {

/// Makes requests of reports, with the resource of user-events itself.
queue::report_maker report_maker(encoding as);

} // namespace tool::otlp
