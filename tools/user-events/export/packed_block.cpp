// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/packed_block.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <new>
#include <span>
#include <zlib.h>

namespace tool::exporting {

namespace {

void append_base64(std::string& to, std::string_view from) {
    static constexpr char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    to.reserve(to.size() + from.size() / 3 * 4 + 4);
    for (std::size_t i = 0; i < from.size(); i += 3) {
        const std::size_t size = std::min<std::size_t>(3, from.size() - i);
        unsigned bits = 0;
        for (std::size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < size ? static_cast<unsigned char>(from[i + j]) : 0U);
        for (std::size_t j = 0; j < 4; j++)
            to += j <= size ? digits[bits >> (18 - 6 * j) & 63] : '=';
    }
}

std::string compressed(std::string_view data) {
    uLongf size = compressBound(data.size());
    std::string result(size, '\0');
    if (compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                  reinterpret_cast<const Bytef*>(data.data()), data.size(), 6) != Z_OK)
        throw std::bad_alloc();
    result.resize(size);
    return result;
}

/// Typed arrays of JavaScript begin at multiples of the size of their elements.
void align(std::string& data) {
    data.resize((data.size() + 7) & ~std::size_t{7});
}

} // namespace

void packed_block::add_as(const char* type, std::size_t size,
                          const std::vector<std::uint64_t>& values) {
    align(columns_);
    fmt::format_to(std::back_inserter(head), R"({{"type":"{}","offset":{},"length":{}}})", type,
                   columns_.size(), values.size());
    std::size_t at = columns_.size();
    columns_.resize(at + size * values.size());
    const auto bytes = std::as_writable_bytes(std::span(columns_));
    for (const std::uint64_t value : values) {
        recording::write_number(bytes.subspan(at, size), value, false);
        at += size;
    }
}

void packed_block::add(const std::vector<std::uint64_t>& values, recording::kind kind) {
    const auto most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    if (kind == recording::kind::real)
        add_as("f64", 8, values);
    else if (most <= 0xff)
        add_as("u8", 1, values);
    else if (most <= 0xffff)
        add_as("u16", 2, values);
    else if (most <= 0xffffffff)
        add_as("u32", 4, values);
    else
        // The page joins the blocks of a field: another one can have negative numbers.
        add_as(kind == recording::kind::integer ? "s64" : "u64", 8, values);
}

void packed_block::append_to(std::string& to) const {
    std::string data(sizeof(std::uint32_t), '\0');
    recording::write_number(std::as_writable_bytes(std::span(data)), head.size(), false);
    data += head;
    align(data);
    data += columns_;
    append_base64(to, compressed(data));
}

} // namespace tool::exporting
