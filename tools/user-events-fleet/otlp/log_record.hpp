// SPDX-License-Identifier: GPL-2.0-or-later
// A record as a log record of OTLP, without its origin, trace and span.
#pragma once

#include "otlp/common_schema.hpp"

#include <cstdint>

namespace tool::otlp {

/// What fill() found in the payload: the kind of Common Schema, and the service that it names.
struct filled {
    schema kind = schema::none;
    service own = {};
};

/// Fills a message that may have been filled before, so that its attributes keep their memory.
/// `observed` is when the record was read. Of a span of the schema, only the attributes are filled,
/// as they are in the payload.
filled fill(message::LogRecord& to, const recording::record& from, std::uint64_t observed);

} // namespace tool::otlp
