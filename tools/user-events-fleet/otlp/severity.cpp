// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/severity.hpp"

#include "eventheader/words.hpp"
#include "recording/severity.hpp"

namespace tool::otlp {

using recording::kind;

std::optional<severity> severity_of_level(std::uint8_t level) {
    constexpr int numbers[] = {0, 5, 9, 13, 17, 21};
    const auto severity = recording::header_severity(level);
    if (severity == recording::severity::none)
        return {};
    return otlp::severity{numbers[static_cast<int>(severity)],
                          std::string(eventheader::level_name(level))};
}

std::optional<severity> severity_of(const recording::record& record) {
    const recording::field* const field = recording::level_field(*record.event);
    if (!field)
        return {};
    const recording::value value = read(*field, record.data);
    const recording::log_level* level = nullptr;
    if (value.kind == kind::text)
        level = recording::named_level(value.text());
    else if (value.kind == kind::integer || value.kind == kind::natural)
        level = recording::numbered_level(*record.event, value.natural);
    if (!level)
        return {};
    return severity{level->number,
                    std::string(value.kind == kind::text ? value.text() : level->name)};
}

} // namespace tool::otlp
