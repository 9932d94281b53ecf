// SPDX-License-Identifier: MIT
// For unit tests: the records of the program are kept in the process, without the kernel.
// user_events.hpp does not include this header.
#pragma once

#include "command.hpp"
#include "registration.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace USER_EVENTS_NAMESPACE::testing {

/// A record that the program has written.
class record {
public:
    record(std::string_view command, std::string payload)
        : command_(command), payload_(std::move(payload)) {}

    /// The name of the event.
    std::string_view name() const noexcept {
        return std::string_view(command_).substr(0, command_.find(' '));
    }

    /// The value of a field. T is an arithmetic type, an enumeration, std::string, or a std::vector
    /// of numbers. Nothing if the event has no such field, or if T cannot hold its value.
    template <typename T>
    std::optional<T> get(std::string_view field) const {
        std::optional<T> found;
        for_each_field([&](const part& each) {
            if (each.name == field)
                found = decoder<T>::decode(each);
        });
        return found;
    }

    /// As tools print it: `order_placed: number=1 item=coffee`.
    std::string print() const {
        std::string line(name());
        line += ':';
        for_each_field([&](const part& each) {
            line += ' ';
            line += each.name;
            line += '=';
            print(line, each);
        });
        return line;
    }

    /// All bytes of the fields.
    std::string_view payload() const noexcept { return payload_; }

private:
    /// A field and its bytes. The type of an array is that of its elements.
    struct part {
        std::string_view type, name, bytes;
        bool is_array;
    };

    static std::string_view take_word(std::string_view& text) {
        const std::size_t end = text.find(' ');
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        return word;
    }

    /// Calls a function with a number of the type, if it is one.
    template <typename Function>
    static void with_type(std::string_view type, Function function) {
        const std::string_view name = type == "char" ? "s8" : type == "unsigned char" ? "u8" : type;
        detail::find_number([&](auto each) {
            if (each.name != name)
                return false;
            function(typename decltype(each)::type());
            return true;
        });
    }

    static std::size_t size_of(std::string_view type) {
        std::size_t size = 0;
        with_type(type, [&](auto number) { size = sizeof(number); });
        return size;
    }

    template <typename Function>
    void for_each_field(Function function) const {
        std::string_view fields = command_;
        take_word(fields);
        std::size_t place = 0;
        while (!fields.empty()) {
            const std::size_t end = fields.find(';');
            function(next_field(fields.substr(0, end), place));
            fields.remove_prefix(end == fields.npos ? fields.size() : end + 1);
        }
    }

    /// The library's commands have one space between two words.
    part next_field(std::string_view text, std::size_t& place) const {
        const std::string_view payload = payload_;
        part found{take_word(text), {}, {}, false};
        std::size_t size = 4;
        if (found.type == "struct") {
            found.type = take_word(text);
            found.name = take_word(text);
            std::from_chars(text.data(), text.data() + text.size(), size);
        } else if (found.type == "__rel_loc" || found.type == "__data_loc") {
            const bool is_relative = found.type == "__rel_loc";
            found.type = take_word(text);
            found.type.remove_suffix(2);
            found.name = text;
            std::uint32_t location = 0;
            std::memcpy(&location, payload.data() + place, sizeof(location));
            const std::size_t start =
                (location & 0xffff) + (is_relative ? place + 4 : 0) - (is_relative ? 0 : 8);
            found.bytes = payload.substr(start, location >> 16);
            found.is_array = true;
            place += size;
            return found;
        } else {
            if (found.type == "unsigned")
                found.type = {found.type.data(), found.type.size() + 1 + take_word(text).size()};
            found.name = text;
            const std::size_t open = found.type.find('[');
            found.is_array = open != found.type.npos;
            if (found.is_array)
                std::from_chars(found.type.data() + open + 1, found.type.data() + found.type.size(),
                                size);
            else
                size = size_of(found.type);
            found.type = found.type.substr(0, open);
        }
        found.bytes = payload.substr(place, size);
        place += size;
        return found;
    }

    /// Calls a function with the number at the beginning of bytes, as a 64-bit number or a double.
    template <typename Function>
    static void with_number(std::string_view type, std::string_view bytes, Function function) {
        with_type(type, [&](auto number) {
            using exact = decltype(number);
            using integer =
                std::conditional_t<std::is_signed_v<exact>, std::int64_t, std::uint64_t>;
            if (bytes.size() < sizeof(number))
                return;
            std::memcpy(&number, bytes.data(), sizeof(number));
            function(
                static_cast<std::conditional_t<std::is_floating_point_v<exact>, double, integer>>(
                    number));
        });
    }

    template <typename T>
    struct decoder {
        static std::optional<T> decode(const part& from) {
            std::optional<T> found;
            if (!from.is_array)
                with_number(from.type, from.bytes, [&](auto number) { found = convert(number); });
            return found;
        }
        template <typename Number>
        static std::optional<T> convert(Number number) {
            if constexpr (std::is_enum_v<T>) {
                const auto value = decoder<std::underlying_type_t<T>>::convert(number);
                return value ? std::optional(static_cast<T>(*value)) : std::nullopt;
            } else if constexpr (std::is_floating_point_v<T>) {
                // long double holds all numbers of records, at least on x86-64 and arm64.
                const T value = static_cast<T>(number);
                const long double exact = number;
                const bool is_same = value == exact || exact != exact;
                return is_same ? std::optional(value) : std::nullopt;
            } else if constexpr (std::is_floating_point_v<Number>) {
                return std::nullopt;
            } else {
                const T value = static_cast<T>(number);
                const bool is_same =
                    static_cast<Number>(value) == number && (value < T{}) == (number < Number{});
                return is_same ? std::optional(value) : std::nullopt;
            }
        }
    };
    template <typename T>
    struct decoder<std::vector<T>> {
        static std::optional<std::vector<T>> decode(const part& from) {
            std::vector<T> all;
            const std::size_t size = size_of(from.type);
            if (!from.is_array || size == 0)
                return std::nullopt;
            for (std::size_t at = 0; at + size <= from.bytes.size(); at += size)
                if (const auto value =
                        decoder<T>::decode({from.type, {}, from.bytes.substr(at, size), false}))
                    all.push_back(*value);
                else
                    return std::nullopt;
            return all;
        }
    };
    template <typename Allocator>
    struct decoder<std::basic_string<char, std::char_traits<char>, Allocator>> {
        static std::optional<std::string> decode(const part& from) {
            if (!from.is_array || from.type != "char")
                return std::nullopt;
            return std::string(from.bytes.substr(0, from.bytes.find('\0')));
        }
    };

    static void print(std::string& line, const part& from) {
        const auto number = [&](std::string_view bytes) {
            bool is_number = false;
            with_number(from.type, bytes, [&](auto value) {
                char text[40];
                line.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
                is_number = true;
            });
            return is_number;
        };
        if (from.is_array && from.type == "char") {
            line += from.bytes.substr(0, from.bytes.find('\0'));
        } else if (from.is_array && from.type != "unsigned char" && from.type != "u8") {
            line += '{';
            for (std::size_t at = 0; at < from.bytes.size(); at += size_of(from.type)) {
                line += at ? "," : "";
                if (!number(from.bytes.substr(at)))
                    break;
            }
            line += '}';
        } else if (from.is_array || !number(from.bytes)) {
            constexpr const char* digits = "0123456789abcdef";
            for (const char byte : from.bytes) {
                line += digits[static_cast<unsigned char>(byte) >> 4];
                line += digits[byte & 15];
            }
        }
    }

    std::string command_, payload_;
};

/// Takes all records of the calling program or shared library, as long as the object exists. All
/// events are enabled, and the library neither registers events with the kernel nor writes records
/// of events to the kernel. Marks go to the kernel as always. Only one sink at a time.
///
///     const user_events::testing::sink sink;
///     serve(order);
///     CHECK(sink.records("order_placed").at(0).get<int>("number") == 17);
///
/// Records allocate memory and wait for a mutex while there is a sink.
class [[nodiscard]] sink {
public:
    [[nodiscard, gnu::visibility("hidden")]] sink() {
        set_active(this);
        detail::registration::set_sink(take, mutex_);
    }
    sink(const sink&) = delete;
    sink& operator=(const sink&) = delete;
    [[gnu::visibility("hidden")]] ~sink() {
        detail::registration::set_sink(nullptr, mutex_);
        // Another thread may be about to record.
        set_active(nullptr);
    }

    /// What has been recorded so far, by all events or by those of a name.
    std::vector<record> records(std::string_view name = {}) const {
        const detail::lock_guard lock(mutex_);
        std::vector<record> found;
        for (const record& each : records_)
            if (name.empty() || each.name() == name)
                found.push_back(each);
        return found;
    }

    /// Forgets what has been recorded.
    void clear() {
        const detail::lock_guard lock(mutex_);
        records_.clear();
    }

private:
    /// Protects the other members. A thread that waits for it may outlive the object. fork() waits
    /// for it, so that a child can record.
    [[gnu::visibility("hidden")]] static inline constinit detail::mutex mutex_;
    [[gnu::visibility("hidden")]] static inline constinit sink* active = nullptr;

    static void set_active(sink* value) {
        const detail::lock_guard lock(mutex_);
        active = value;
    }
    [[gnu::visibility("hidden")]] static int take(const detail::registration& event,
                                                  const iovec* parts, int count) noexcept {
        std::string payload;
        for (int i = 0; i < count; i++)
            payload.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
        const detail::lock_guard lock(mutex_);
        if (active)
            active->records_.emplace_back(event.command(), payload.substr(index_size));
        return 0;
    }
    static constexpr std::size_t index_size = sizeof(std::uint32_t);

    std::vector<record> records_;
};

} // namespace USER_EVENTS_NAMESPACE::testing
