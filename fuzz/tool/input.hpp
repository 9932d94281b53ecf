// SPDX-License-Identifier: GPL-2.0-only
// What the fuzzers of the tool share: the bytes that libFuzzer gives, and the end at a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

inline void require(bool condition) {
    if (!condition)
        std::abort();
}

/// Takes bytes from the input; zeros behind its end.
class input {
public:
    input(const std::uint8_t* data, std::size_t size)
        : rest_(reinterpret_cast<const char*>(data), size) {}

    unsigned byte() {
        const std::string_view one = take(1);
        return one.empty() ? 0 : static_cast<unsigned char>(one[0]);
    }
    std::string_view take(std::size_t size) {
        const std::string_view result = rest_.substr(0, size);
        rest_.remove_prefix(result.size());
        return result;
    }
    bool is_empty() const { return rest_.empty(); }

private:
    std::string_view rest_;
};
