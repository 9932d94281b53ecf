// SPDX-License-Identifier: GPL-2.0-or-later
// What the runtime of .NET says of an event, once in a session: NetTrace metadata of version 5.
#pragma once

#include "eventheader/field.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace tool::eventpipe {

using eventheader::bytes;

/// How many fields an event may have, with those in structs.
inline constexpr std::size_t most_fields = 4096;

struct description {
    std::string provider;
    /// With two semicolons for one, as in EventHeader events. It may be empty.
    std::string name;
    std::uint64_t keyword = 0;
    std::uint16_t id = 0;
    std::uint8_t version = 0;
    std::uint8_t level = 0;
    std::uint8_t opcode = 0;
    /// The fields of a struct are behind it. A field whose type is not known has the shape
    /// `unknown`.
    std::vector<eventheader::field> fields;
    /// What the fields' names refer to.
    std::deque<std::string> names;

    description() = default;
    description(description&&) = default;
    description& operator=(description&&) = default;
    description(const description&) = delete;
    description& operator=(const description&) = delete;
};

/// Takes metadata apart, which may be any bytes. Returns nothing if they are malformed.
std::optional<description> to_description(bytes metadata);

} // namespace tool::eventpipe
