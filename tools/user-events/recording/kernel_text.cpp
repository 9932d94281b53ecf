// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/kernel_text.hpp"

#include "recording/appended_list.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <iterator>

namespace tool::recording {

namespace {

constexpr std::string_view function_fields[] = {"ip", "parent_ip", "func"};
/// Of bprint and bputs.
constexpr std::string_view format_field = "fmt", text_field = "str";
/// The kernel's own texts are shorter.
constexpr std::size_t most_text = 4096;
constexpr std::uint64_t most_errno = 4095;
constexpr std::string_view digits = "0123456789";
constexpr std::string_view letters_and_digits =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

bool is_address(const field& field) {
    return field.place == place::field && (field.size == 4 || field.size == 8) &&
           (field.kind == kind::natural || field.kind == kind::integer);
}

bool has_function(const field& field) {
    return std::find(std::begin(function_fields), std::end(function_fields), field.name) !=
           std::end(function_fields);
}

/// Whether name() has changed the field.
bool is_named(const field& field) {
    return field.place == place::from_record && field.kind == kind::text &&
           (has_function(field) || field.name == format_field || field.name == text_field);
}

/// As in C, of the escapes that the kernel writes.
std::string unescaped(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); i++) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            result += text[i];
            continue;
        }
        const char next = text[++i];
        result += next == 'n' ? '\n' : next == 't' ? '\t' : next;
    }
    return result;
}

/// The values behind a format, as the kernel's vbin_printf() packs them.
class packed_values {
public:
    explicit packed_values(bytes from) : from_(from) {}

    /// A number of 1, 2, 4 or 8 bytes; nothing if it is not all there.
    std::optional<std::uint64_t> number(unsigned size, bool is_signed) {
        const std::size_t step = std::min(size, 4U);
        at_ = (at_ + step - 1) / step * step;
        if (at_ + size > from_.size())
            return {};
        const auto result = read_number(from_.data() + at_, size, is_signed, false);
        at_ += size;
        return result;
    }
    std::string_view text() {
        const auto rest = from_.subspan(std::min(at_, from_.size()));
        const auto* const begin = reinterpret_cast<const char*>(rest.data());
        const std::size_t size = strnlen(begin, rest.size());
        at_ += size + 1;
        return {begin, size};
    }

private:
    bytes from_;
    std::size_t at_ = 0;
};

/// `%-*.8s` and the like, without the value's type.
struct conversion {
    std::string flags;
    int width = 0;
    int precision = -1;

    template <typename Value>
    void append(std::string& to, const char* type, Value value) const {
        std::array<char, 1024> text{};
        const std::string format = fmt::format("%{}*.*{}", flags, type);
        std::snprintf(text.data(), text.size(), format.c_str(), width, precision, value);
        to += text.data();
    }
};

} // namespace

bool kernel_texts::name_fields(event_type& event) {
    if (event.system != "ftrace")
        return false;
    bool has_any = false, has_values = false;
    if (event.name == "raw_data" && !event.fields.empty())
        event.fields.back().kind = kind::bytes;
    for (field& field : event.fields) {
        if (!is_address(field))
            continue;
        const bool is_format = field.name == format_field, is_text = field.name == text_field;
        if (!has_function(field) && !is_format && !is_text)
            continue;
        has_any = true;
        has_values |= is_format;
        field.kind = kind::text;
        field.place = place::from_record;
        field.element_size = 1;
    }
    // What they are is in the text that they are a part of.
    if (has_values)
        std::erase_if(event.fields, [](const field& field) { return field.name == "buf"; });
    return has_any;
}

void kernel_texts::name(const event_type& event, std::vector<std::byte>& record) {
    const std::size_t size = record.size();
    for (const field& field : event.fields) {
        if (!is_named(field) || field.offset + field.size > size)
            continue;
        const auto address =
            read_number(record.data() + field.offset, field.size, false, field.is_big_endian);
        std::string text;
        if (has_function(field)) {
            text = function_at(address);
        } else {
            text = format_at(address);
            if (field.name == format_field)
                text = formatted(text, bytes(record).first(size).subspan(field.offset + field.size),
                                 field.size);
        }
        // A line has one at its end already.
        if (text.ends_with('\n'))
            text.pop_back();
        text = text.substr(0, most_text);
        const auto start = record.size();
        if (start + text.size() > UINT16_MAX)
            return;
        const auto* const from = reinterpret_cast<const std::byte*>(text.data());
        record.insert(record.end(), from, from + text.size());
        write_number(std::span(record).subspan(field.offset, 4), text.size() << 16 | start,
                     field.is_big_endian);
    }
}

const kernel_functions& kernel_texts::functions() {
    if (!functions_)
        functions_.emplace(function_source_());
    return *functions_;
}

std::string kernel_texts::function_at(std::uint64_t address) {
    auto found = functions().find(address);
    return found ? found->substr(0, found->rfind('+')) : fmt::format("{:#x}", address);
}

std::string kernel_texts::format_at(std::uint64_t address) {
    if (!formats_) {
        formats_.emplace();
        // 0xffffffff82000000 : "text\n"
        for_each_line(format_source_(), "", [this](std::string_view line) {
            std::uint64_t at = 0;
            const auto begin = line.find('"'), end = line.rfind('"');
            if (!line.starts_with("0x") || begin == line.npos || begin == end)
                return true;
            const std::string_view text = line.substr(begin + 1, end - begin - 1);
            line.remove_prefix(2);
            if (take_number(line, at, 16))
                (*formats_)[at] = unescaped(text);
            return true;
        });
    }
    const auto found = formats_->find(address);
    return found == formats_->end() ? fmt::format("{:#x}", address) : found->second;
}

/// What the kernel prints for `%p` and this letter.
std::string kernel_texts::pointer(std::uint64_t address, char letter) {
    const std::uint64_t error = -address;
    if (letter == 'e' && error > 0 && error <= most_errno)
        if (const char* const name = strerrorname_np(static_cast<int>(error)))
            return fmt::format("-{}", name);
    if (letter == 's')
        return function_at(address);
    const auto function = letter == 'S' ? functions().find(address) : std::nullopt;
    return function.value_or(fmt::format("{:#x}", address));
}

/// The text of printf() with this format. Stops where the values end.
std::string kernel_texts::formatted(std::string_view format, bytes values, unsigned long_size) {
    packed_values from(values);
    std::string result;
    const auto take = [&](std::string_view any) {
        const auto size = std::min(format.find_first_not_of(any), format.size());
        std::string part(format.substr(0, size));
        format.remove_prefix(size);
        return part;
    };
    const auto take_size = [&] {
        constexpr int most = 256;
        if (!format.starts_with('*'))
            return std::min(std::atoi(take(digits).substr(0, 4).c_str()), most);
        format.remove_prefix(1);
        const auto given = static_cast<int>(from.number(4, true).value_or(0));
        return std::clamp(given, -most, most);
    };
    while (result.size() < most_text) {
        const auto percent = std::min(format.find('%'), format.size());
        result += format.substr(0, percent);
        format.remove_prefix(std::min(percent + 1, format.size()));
        conversion how{take("-+ #0")};
        how.width = take_size();
        if (format.starts_with('.')) {
            format.remove_prefix(1);
            how.precision = std::max(take_size(), 0);
        }
        const std::string length = take("hlLzjtq");
        if (format.empty())
            break;
        const char kind = format.front();
        format.remove_prefix(1);
        if (kind == '%') {
            result += '%';
        } else if (kind == 's') {
            how.append(result, "s", std::string(from.text()).c_str());
        } else if (kind == 'p') {
            const std::string what = take(letters_and_digits);
            // The kernel makes text of others when it makes the record.
            if (!what.empty() &&
                std::string_view("sSxKe").find(what[0]) == std::string_view::npos) {
                how.append(result, "s", std::string(from.text()).c_str());
                continue;
            }
            const auto address = from.number(long_size, false);
            if (!address)
                break;
            how.append(result, "s", pointer(*address, what.empty() ? 'x' : what[0]).c_str());
        } else {
            const bool is_letter = kind == 'c', is_signed = kind == 'd' || kind == 'i';
            if (!is_letter && !is_signed &&
                std::string_view("uxXo").find(kind) == std::string_view::npos)
                break;
            const unsigned size =
                is_letter || length == "hh"                                         ? 1
                : length == "h"                                                     ? 2
                : length.empty()                                                    ? 4
                : length == "ll" || length == "L" || length == "q" || length == "j" ? 8
                                                                                    : long_size;
            const auto number = from.number(size, is_signed);
            if (!number)
                break;
            if (is_letter)
                how.append(result, "c", static_cast<int>(*number));
            else
                how.append(result, std::string{'l', 'l', kind}.c_str(),
                           static_cast<unsigned long long>(*number));
        }
    }
    return result;
}

} // namespace tool::recording
