// SPDX-License-Identifier: GPL-2.0-or-later
// The layout in which OpenTelemetry's exporters for user_events write logs and spans: Microsoft's
// Common Schema 4.0. A payload has `__csver__` and the structs PartA (time, trace, service), PartB
// (what the type `_typeName` says) and PartC (attributes).
#pragma once

#include "otlp/resources.hpp"

#include <cstdint>

namespace tool::otlp {

enum class schema : std::uint8_t { none, log, span };

/// Whether the first attribute is the mark of the schema: if not, the others need not be looked at.
bool may_have_schema(const attribute_list& from);

/// Whether the attributes of a payload, with dotted names, are those of the schema.
schema schema_of(const attribute_list& from);

/// Moves what the schema has for a log record from its attributes to where OTLP has it. Attributes
/// that the schema does not know, and values that make no sense, stay. The attributes of PartC lose
/// that prefix.
service promote(message::LogRecord& of);

/// The same for a span. The attributes are those of `from`, which loses them.
service promote(attribute_list& from, message::Span& to);

} // namespace tool::otlp
