// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace selftest {

using Bytes = std::vector<std::byte>;

/// Builds the bytes of a record, one value after the other without padding.
class Payload {
public:
    template <typename T>
    requires std::is_trivially_copyable_v<T> Payload& add(const T& value) {
        const std::size_t end = bytes_.size();
        bytes_.resize(end + sizeof(value));
        std::memcpy(bytes_.data() + end, &value, sizeof(value));
        return *this;
    }

    /// The characters alone, without a NUL.
    Payload& add_characters(std::string_view characters) {
        for (char character : characters)
            add(character);
        return *this;
    }

    /// The characters and a NUL.
    Payload& add_string(std::string_view characters) {
        return add_characters(characters).add('\0');
    }

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
