// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <linux/user_events.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace selftest {

using Bytes = std::vector<std::byte>;

/// Returns a location: the offset and size of a dynamic field's data.
inline std::uint32_t location(std::uint32_t offset, std::uint32_t size) {
    return DYN_LOC(offset, size);
}

/// Builds a payload from values, without padding.
class Payload {
public:
    /// Appends the bytes of a value.
    template <typename T>
    requires std::is_trivially_copyable_v<T> Payload& add(const T& value) {
        const std::size_t end = bytes_.size();
        bytes_.resize(end + sizeof(value));
        std::memcpy(bytes_.data() + end, &value, sizeof(value));
        return *this;
    }

    /// Appends the characters without a NUL.
    Payload& add_characters(std::string_view characters) {
        for (char character : characters)
            add(character);
        return *this;
    }

    /// Appends the characters and a NUL.
    Payload& add_string(std::string_view characters) {
        return add_characters(characters).add('\0');
    }

    /// Appends bytes.
    Payload& add_bytes(const Bytes& bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }

    const Bytes& bytes() const { return bytes_; }
    std::size_t size() const { return bytes_.size(); }

private:
    Bytes bytes_;
};

} // namespace selftest
