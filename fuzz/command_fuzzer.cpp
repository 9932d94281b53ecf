// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes the module's command parser, payload check and parser of triggers: kernel/format/format.c,
// payload.c and trigger_parse.c, built for user space. An input is a command or a trigger, a NUL,
// and a payload or a trigger.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include "format/format.h"
#include "format/payload.h"
#include "format/trigger_parse.h"

#include <linux/slab.h>
}

namespace {

struct Freed {
    void operator()(const void* memory) const { kfree(memory); }
};
using Format = std::unique_ptr<ue_format, Freed>;
using Text = std::unique_ptr<char, Freed>;

/// Aborts with the command if a condition does not hold.
void require(bool holds, const char* condition, std::string_view command) {
    if (holds)
        return;
    std::cerr << "does not hold: " << condition << "\ncommand: " << command << '\n';
    std::abort();
}

struct Parsed {
    int error;
    Format format;
};

Parsed parse(const std::string& command) {
    // A copy of the exact size, so that AddressSanitizer detects a read past its end.
    const std::unique_ptr<char[]> copy(new char[command.size() + 1]);
    std::memcpy(copy.get(), command.c_str(), command.size() + 1);
    ue_format* format = nullptr;
    const int error = ue_format_parse(copy.get(), &format);
    require(error == 0 || error == -EINVAL || error == -ENOMEM, "the error is documented", command);
    require((error == 0) == (format != nullptr), "there is a format exactly if parsing succeeds",
            command);
    return {error, Format(format)};
}

bool is_space(char c) {
    return std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos;
}

/// Checks the sizes and offsets of fields.
void check_layout(const ue_format& format, const std::string& command) {
    std::uint64_t offset = 0;
    unsigned locations = 0;
    for (int i = 0; i < format.nr_fields; i++) {
        const ue_field& field = format.fields[i];
        require(field.offset == offset, "fields are packed", command);
        require(field.size > 0, "no field is empty", command);
        const std::string_view name = ue_field_name(&format, &field);
        require(!name.empty() && std::none_of(name.begin(), name.end(), is_space),
                "a field's name is one word", command);
        require(field.length == 0 || field.length == field.size, "an array's elements are bytes",
                command);
        require(name.data() + name.size() < reinterpret_cast<const char*>(&format) + format.bytes,
                "names are inside the format", command);
        const bool here = field.storage == UE_STORED_INLINE;
        require(here || field.size == sizeof(u32), "a location has 4 bytes", command);
        const std::string_view type = ue_field_type(&format, &field);
        const auto names = [&](const char* part) { return type.find(part) != type.npos; };
        require(here != (names("__data_loc") || names("__rel_loc")),
                "a field is a location exactly if the kernel takes its type for one", command);
        offset += field.size;
        locations += !here;
    }
    require(format.size == offset, "the format's size is the sum of its fields'", command);
    require(format.nr_locations == locations, "nr_locations is the number of locations", command);
}

bool same(const ue_format& a, const ue_format& b) {
    return ue_format_equal(&a, &b) && ue_format_equal(&b, &a) &&
           std::string_view(ue_format_name(&a)) == ue_format_name(&b) &&
           ue_format_name_length(&a) == std::strlen(ue_format_name(&a)) && a.size == b.size &&
           a.nr_locations == b.nr_locations;
}

/// Checks that a bytewise copy of a format is the same format: `bytes` covers all of it.
void check_copy(const ue_format& format, const std::string& command) {
    const std::unique_ptr<char[]> copy(new char[format.bytes]);
    std::memcpy(copy.get(), &format, format.bytes);
    const auto& copied = *reinterpret_cast<const ue_format*>(copy.get());
    require(same(format, copied), "a copy equals the format", command);
    for (const auto make : {ue_format_text, ue_format_print_fmt})
        require(std::string_view(Text(make(&format)).get()) == Text(make(&copied)).get(),
                "a copy has the same texts", command);
}

/// Removes a prefix from a text. Returns whether the text had it.
bool take(std::string_view& text, std::string_view prefix) {
    const bool found = text.starts_with(prefix);
    if (found)
        text.remove_prefix(prefix.size());
    return found;
}

/// Removes a name from a print format. Returns false if there is none. A name has only characters
/// that no tool evaluates.
bool take_name(std::string_view& text) {
    const auto harmless = [](char c) {
        return (c & 0x80) != 0 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
               (c >= 'a' && c <= 'z') || std::string_view("_.:-").find(c) != std::string_view::npos;
    };
    const auto end = std::find_if_not(text.begin(), text.end(), harmless);
    const bool found = end != text.begin();
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    return found;
}

/// Returns whether a print format is a quoted text followed by field names in accessors, and
/// nothing else.
bool is_harmless(std::string_view print, int fields) {
    if (!take(print, "\""))
        return false;
    for (int i = 0; i < fields; i++) {
        if ((i > 0 && !take(print, " ")) || !take_name(print))
            return false;
        if (!take(print, "=%lld") && !take(print, "=%llu") && !take(print, "=%d") &&
            !take(print, "=%u") && !take(print, "=%s"))
            return false;
    }
    if (!take(print, "\""))
        return false;
    for (int i = 0; i < fields; i++) {
        const bool number = take(print, ", REC->");
        if (!number && !take(print, ", __get_str(") && !take(print, ", __get_rel_str("))
            return false;
        if (!take_name(print) || (!number && !take(print, ")")))
            return false;
    }
    return print.empty();
}

/// Checks that the canonical text parses to the same format and to the same canonical text.
void check_text(const ue_format& format, const std::string& command) {
    const Text text(ue_format_text(&format));
    require(text != nullptr, "the canonical text exists", command);
    const Parsed again = parse(text.get());
    require(again.error == 0 && same(format, *again.format),
            "the canonical text parses to the same format", command);
    const Text second(ue_format_text(again.format.get()));
    require(std::string_view(text.get()) == second.get(),
            "the canonical text of the canonical text is the same", command);

    const Text print(ue_format_print_fmt(&format));
    require(print != nullptr, "the print format exists", command);
    require(is_harmless(print.get(), format.nr_fields),
            "a tool has nothing to evaluate in the print format but field names", command);
}

/// Returns the command with other white space, and with empty fields inserted.
std::string respaced(const std::string& command) {
    const auto name_end = std::find_if(command.begin(), command.end(), is_space);
    std::string other(command.begin(), name_end);
    bool spaced = false;
    for (auto c = name_end; c != command.end(); ++c) {
        if (is_space(*c))
            other += spaced ? "\t \n" : "\v";
        else if (*c == ';')
            other += "\f; ;\r";
        else
            other += *c;
        spaced = true;
    }
    return other;
}

void check_spacing(const Parsed& parsed, const std::string& command) {
    const std::string other = respaced(command);
    const Parsed again = parse(other);
    require(again.error == parsed.error, "white space does not change the error", command);
    require(parsed.error != 0 || same(*parsed.format, *again.format),
            "white space does not change the format", command);
}

/// Checks that two formats are equal exactly if their texts are.
void check_equality(const Parsed& parsed, const std::string& command) {
    const auto text = [](const Parsed& one) {
        const Text text(ue_format_text(one.format.get()));
        return std::string(text.get());
    };
    std::string changed = command;
    changed.back() ^= 1;
    for (const std::string& other : {changed, command + ";u8 further", command + " ; ;"}) {
        const Parsed another = parse(other);
        if (another.error == 0)
            require(ue_format_equal(parsed.format.get(), another.format.get()) ==
                        (text(parsed) == text(another)),
                    "formats are equal exactly if their texts are", command);
    }
}

void check_name(const Parsed& parsed, const std::string& command) {
    const Text name(ue_command_name(command.c_str()));
    const auto end = std::find_if(command.begin(), command.end(), is_space);
    require(std::string(command.begin(), end) == name.get(), "the name ends at white space",
            command);
    const bool flags = std::strchr(name.get(), ':') != nullptr;
    require(ue_command_has_flags(command.c_str()) == flags, "text flags are detected", command);
    require(!flags || parsed.error == -EINVAL, "text flags are rejected", command);
    require(parsed.error != 0 ||
                std::string_view(ue_format_name(parsed.format.get())) == name.get(),
            "a format has its command's name", command);
}

/// Fails each allocation in turn: the result is ENOMEM, and nothing leaks.
void check_without_memory(const Parsed& parsed, const std::string& command) {
    for (unsigned nth = 1;; nth++) {
        ue_allocation_to_fail = nth;
        const Parsed again = parse(command);
        const bool failed = ue_allocation_to_fail == 0;
        ue_allocation_to_fail = 0;
        require(again.error == (failed ? -ENOMEM : parsed.error), "a failed allocation is ENOMEM",
                command);
        if (!failed)
            break;
    }
    if (parsed.error != 0)
        return;
    ue_allocation_to_fail = 1;
    require(ue_format_text(parsed.format.get()) == nullptr,
            "the text is NULL after a failed allocation", command);
}

/// Returns whether a location is valid. An independent implementation of the rules in payload.h.
bool location_fits(const ue_format& format, const ue_field& field,
                   const std::vector<char>& payload) {
    std::uint16_t offset_and_size[2];
    std::memcpy(offset_and_size, &payload[field.offset], sizeof(offset_and_size));
    const auto [offset, size] = offset_and_size;
    const long start =
        field.storage == UE_STORED_DATA_LOC ? long{offset} - 8 : long{field.offset} + 4 + offset;
    const long end = start + size;
    if (end > static_cast<long>(payload.size()))
        return false;
    const bool text = std::strstr(ue_field_type(&format, &field), "char") != nullptr;
    return !text || end < 1 || payload[end - 1] == '\0';
}

void check_payload(const ue_format& format, std::string_view written, const std::string& command) {
    // Writing rejects a payload shorter than the fixed fields; this check fills it with zeros.
    constexpr std::size_t largest = 1 << 16;
    if (format.size > largest)
        return;
    std::vector<char> payload(written.begin(), written.end());
    payload.resize(std::max<std::size_t>(payload.size(), format.size));
    payload.shrink_to_fit();

    bool fits = true;
    for (int i = 0; i < format.nr_fields; i++) {
        const ue_field& field = format.fields[i];
        if (field.storage != UE_STORED_INLINE)
            fits = fits && location_fits(format, field, payload);
    }
    const int result = ue_payload_check(&format, payload.data(), payload.size());
    require(fits ? result >= 0 && result <= UE_PAYLOAD_ZEROS_MAX : result == -EFAULT,
            "a payload is valid exactly if its locations are", command);
    payload.resize(payload.size() + static_cast<std::size_t>(std::max(result, 0)));

    for (int i = 0; fits && i < format.nr_fields; i++) {
        const ue_field& field = format.fields[i];
        const ue_span span = ue_field_span(&field, payload.data());
        const std::string_view type = ue_field_type(&format, &field);
        const auto names = [&](const char* part) { return type.find(part) != type.npos; };
        // A span may begin in the common fields, which this payload does not have.
        const long start = std::max<long>(span.start, 0);
        if (names("char") && (field.storage != UE_STORED_INLINE || names("[")))
            require(std::memchr(&payload[0] + start, 0, payload.size() - start),
                    "a string ends inside the record", command);
        const bool read_as_one =
            type.starts_with("struct ") && field.size != 1 && field.size != 2 && field.size != 4;
        require(!read_as_one || field.offset + UE_READ_SIZE <= payload.size() ||
                    field.size >= UE_READ_SIZE,
                "the eight bytes that probes read of a structure are inside the record", command);
        require(span.start >= -8 && span.start + span.size <= static_cast<s64>(payload.size()),
                "a field's bytes are inside the record", command);
    }
}

/// Checks that what is accepted as the trigger of a rule names only fields, and no time stamp.
void check_trigger(const std::string& trigger, const ue_format* format) {
    if (ue_trigger_parse(trigger.c_str()) != nullptr)
        return;
    const std::string word = trigger.substr(0, trigger.find_first_of(" \t"));
    std::size_t from = 0;
    for (char separator = '\0'; from <= word.size();) {
        const std::size_t end = std::min(word.find_first_of(":=,.", from), word.size());
        const std::string part = word.substr(from, end - from);
        // Names in UTF-8 are names.
        require(std::all_of(part.begin(), part.end(),
                            [](unsigned char c) {
                                return c >= 0x80 || std::isalnum(c) || c == '_' || c == '-';
                            }),
                "a trigger has no expression and no variable", trigger);
        require(part != "common_timestamp", "a trigger does not set the clock", trigger);
        static const std::set<std::string> options{"key",    "keys", "val", "vals",
                                                   "values", "sort", "size"};
        require(separator != ':' || options.contains(part) || word.find("hist") != 0,
                "a histogram has only known options", trigger);
        separator = end < word.size() ? word[end] : '\0';
        from = end + 1;
    }
    if (format)
        ue_trigger_fits(trigger.c_str(), format);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t end = std::min(input.find('\0'), input.size());
    if (end > UE_COMMAND_MAX)
        return -1;
    const std::string command(input.substr(0, end));
    const std::string_view payload = input.substr(std::min(end + 1, input.size()));

    const Parsed parsed = parse(command);
    check_trigger(command, nullptr);
    check_name(parsed, command);
    check_spacing(parsed, command);
    check_without_memory(parsed, command);
    if (parsed.error == 0) {
        check_layout(*parsed.format, command);
        check_copy(*parsed.format, command);
        check_text(*parsed.format, command);
        check_equality(parsed, command);
        check_payload(*parsed.format, payload, command);
        check_trigger(std::string(payload.substr(0, payload.find('\0'))), parsed.format.get());
    }
    return 0;
}
