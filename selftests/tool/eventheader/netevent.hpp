// SPDX-License-Identifier: GPL-2.0-only
// Makes metadata and extensions as the runtime of .NET does, from the published layout of
// NetTrace 5. It shares nothing with the decoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace eventpipe_test {

inline std::string number(std::uint64_t value, std::size_t size) {
    std::string result;
    for (std::size_t i = 0; i < size; i++)
        result += static_cast<char>(value >> 8 * i);
    return result;
}

/// Text of ASCII as UTF-16, with its NUL.
inline std::string wide(std::string_view text) {
    std::string result;
    for (const char each : text)
        (result += each) += '\0';
    return result + std::string(2, '\0');
}

constexpr int object = 1, truth = 3, character = 4, int8 = 5, uint8 = 6, int16 = 7, uint16 = 8,
              int32 = 9, uint32 = 10, int64 = 11, uint64 = 12, real32 = 13, real64 = 14, date = 16,
              guid = 17, text = 18, array = 19;

/// A field of the first layout, which has no arrays. `inner` is the description of an object.
inline std::string field(std::string_view name, int type, const std::string& inner = "") {
    return number(static_cast<std::uint64_t>(type), 4) + inner + wide(name);
}

/// A field of the second layout. An array is of elements of the type.
inline std::string sized(std::string_view name, int type, bool is_array = false,
                         const std::string& inner = "") {
    std::string rest = wide(name) + (is_array ? number(array, 4) : "") +
                       number(static_cast<std::uint64_t>(type), 4) + inner;
    return number(rest.size() + 4, 4) + rest;
}

inline std::string fields(int count, const std::string& descriptions) {
    return number(static_cast<std::uint64_t>(count), 4) + descriptions;
}

inline std::string tag(int kind, const std::string& data) {
    return number(data.size(), 4) + static_cast<char>(kind) + data;
}

struct head {
    std::string_view provider = "Shop";
    std::string_view name = "Request";
    std::uint32_t id = 7;
    std::uint64_t keywords = 0;
    std::uint32_t version = 0;
    std::uint32_t level = 4;
};

inline std::string metadata(const head& of, const std::string& rest) {
    return number(1, 4) + wide(of.provider) + number(of.id, 4) + wide(of.name) +
           number(of.keywords, 8) + number(of.version, 4) + number(of.level, 4) + rest;
}

inline std::string label(int kind, const std::string& data) {
    return static_cast<char>(kind) + (kind == 1 ? number(data.size(), 4) : "") + data;
}

} // namespace eventpipe_test
