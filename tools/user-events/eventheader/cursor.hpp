// SPDX-License-Identifier: GPL-2.0-or-later
// A place in bytes, from which numbers and text are taken. This is the only code of the decoder
// that reads a payload or knows byte orders. It never reads outside of the bytes that it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tool::eventheader {

using bytes = std::span<const std::byte>;

/// Reads a number of at most 8 bytes.
constexpr std::uint64_t to_number(bytes from, bool is_big_endian) noexcept {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < from.size(); i++)
        result = result << 8 |
                 std::to_integer<std::uint64_t>(from[is_big_endian ? i : from.size() - 1 - i]);
    return result;
}

/// Reads a number of 1 to 8 bytes with a sign.
constexpr std::int64_t to_signed_number(bytes from, bool is_big_endian) noexcept {
    const auto unused = static_cast<unsigned>(64 - 8 * from.size());
    return static_cast<std::int64_t>(to_number(from, is_big_endian) << unused) >> unused;
}

inline std::string_view to_text(bytes from) noexcept {
    return {reinterpret_cast<const char*>(from.data()), from.size()};
}

/// The functions return whether there were enough bytes. If not, the cursor has not moved.
class cursor {
public:
    cursor() = default;
    cursor(bytes from, bool is_big_endian) noexcept : rest_(from), is_big_endian_(is_big_endian) {}

    bytes rest() const noexcept { return rest_; }
    bool is_at_end() const noexcept { return rest_.empty(); }
    bool is_big_endian() const noexcept { return is_big_endian_; }

    bool take(std::size_t size, bytes& to) noexcept {
        if (size > rest_.size())
            return false;
        to = rest_.first(size);
        rest_ = rest_.subspan(size);
        return true;
    }

    bool take(std::uint8_t& to) noexcept { return take_number(to); }
    bool take(std::uint16_t& to) noexcept { return take_number(to); }

    /// Takes units of 1, 2 or 4 bytes until one that is 0, which is no part of the result.
    bool take_terminated(std::size_t unit, bytes& to) noexcept {
        // The names of all fields of an event may be read very often.
        if (unit == 1) {
            const void* const end =
                rest_.empty() ? nullptr : std::memchr(rest_.data(), 0, rest_.size());
            if (!end)
                return false;
            const auto size =
                static_cast<std::size_t>(static_cast<const std::byte*>(end) - rest_.data());
            return take(size, to) && skip_one();
        }
        for (std::size_t end = 0; rest_.size() - end >= unit; end += unit)
            if (to_number(rest_.subspan(end, unit), false) == 0) {
                to = rest_.first(end);
                rest_ = rest_.subspan(end + unit);
                return true;
            }
        return false;
    }

private:
    bool skip_one() noexcept {
        rest_ = rest_.subspan(1);
        return true;
    }
    template <typename Number>
    bool take_number(Number& to) noexcept {
        bytes data;
        if (!take(sizeof to, data))
            return false;
        to = static_cast<Number>(to_number(data, is_big_endian_));
        return true;
    }

    bytes rest_;
    bool is_big_endian_ = false;
};

} // namespace tool::eventheader
