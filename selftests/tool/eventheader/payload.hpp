// SPDX-License-Identifier: GPL-2.0-only
// Makes payloads of EventHeader events, well-formed ones and others. It shares nothing with the
// decoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace eventheader_test {

enum class order : std::uint8_t { little, big };

/// The bytes of hexadecimal digits; spaces are skipped.
inline std::string from_hex(std::string_view digits) {
    std::string result, pair;
    for (const char c : digits)
        if (c != ' ' && (pair += c).size() == 2) {
            result += static_cast<char>(std::stoi(pair, nullptr, 16));
            pair.clear();
        }
    return result;
}

/// Text with its NUL.
inline std::string terminated(std::string_view text) {
    return std::string(text) + '\0';
}

/// What a description of a field may have besides its name, encoding and format.
struct extras {
    int array = 0;  // the bits for arrays
    int count = -1; // of a constant array
    int tag = -1;
};
/// Encodings.
constexpr int structure = 1, byte = 2, half = 3, word = 4, twice = 5, string = 7, counted = 10;
constexpr int constant_array = 0x20;
constexpr int variable_array = 0x40;

class payload {
public:
    explicit payload(order order = order::little, int pointer_flag = 1)
        : order_(order), flags_(pointer_flag | (order == order::little ? 2 : 0) | 4) {}

    // The header.
    int version = 0, id = 0, tag = 0, opcode = 0, level = 5;

    std::string number(std::uint64_t value, std::size_t size) const {
        std::string result;
        for (std::size_t i = 0; i < size; i++)
            result += static_cast<char>(value >> 8 * (order_ == order::little ? i : size - 1 - i));
        return result;
    }

    payload& flags(int flags) {
        flags_ = flags;
        return *this;
    }
    payload& name(std::string_view name) {
        name_ = name;
        return *this;
    }
    /// The format byte is written if there is a format or a tag, or always.
    payload& field(std::string_view name, int encoding, int format = 0, extras with = {}) {
        const bool has_format = format != 0 || with.tag >= 0;
        descriptions_ += terminated(name);
        descriptions_ += static_cast<char>(encoding | with.array | (has_format ? 0x80 : 0));
        if (has_format)
            descriptions_ += static_cast<char>(format | (with.tag >= 0 ? 0x80 : 0));
        if (with.tag >= 0)
            descriptions_ += number(static_cast<std::uint64_t>(with.tag), 2);
        if (with.count >= 0)
            descriptions_ += number(static_cast<std::uint64_t>(with.count), 2);
        return *this;
    }
    /// Bytes among the descriptions.
    payload& description(std::string_view bytes) {
        descriptions_ += bytes;
        return *this;
    }
    payload& value(std::string_view bytes) {
        values_ += bytes;
        return *this;
    }
    payload& value(std::uint64_t number, std::size_t size) {
        return value(this->number(number, size));
    }

    /// An extension in front of the metadata, or behind.
    payload& extension(int kind, std::string_view data) {
        before_ += encoded(kind | 0x8000, data);
        return *this;
    }
    payload& last_extension(int kind, std::string_view data) {
        after_ = encoded(kind, data);
        return *this;
    }
    payload& without_metadata() {
        has_metadata_ = false;
        return *this;
    }

    std::string metadata() const { return terminated(name_) + descriptions_; }

    std::string bytes() const {
        std::string result{static_cast<char>(flags_), static_cast<char>(version)};
        result += number(static_cast<std::uint64_t>(id), 2);
        result += number(static_cast<std::uint64_t>(tag), 2);
        result += static_cast<char>(opcode);
        result += static_cast<char>(level);
        result += before_;
        if (has_metadata_)
            result += encoded(1 | (after_.empty() ? 0 : 0x8000), metadata());
        return result + after_ + values_;
    }

private:
    std::string encoded(int kind, std::string_view data) const {
        return number(data.size(), 2) + number(static_cast<std::uint64_t>(kind), 2) +
               std::string(data);
    }

    order order_;
    int flags_;
    std::string name_ = "E";
    std::string before_, descriptions_, after_, values_;
    bool has_metadata_ = true;
};

} // namespace eventheader_test
