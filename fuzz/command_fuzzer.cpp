// SPDX-License-Identifier: GPL-2.0-only
// Feeds commands, and payloads for them, to the module's parser and its check of payloads: the
// very files kernel/format.c and kernel/payload.c, built for user space. An input is a command, a
// NUL, and the payload.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include "format.h"
#include "payload.h"

#include <linux/slab.h>
}

namespace {

struct Freed {
    void operator()(const void* memory) const { kfree(memory); }
};
using Format = std::unique_ptr<ue_format, Freed>;
using Text = std::unique_ptr<char, Freed>;

/// Ends the process, with the text that a broken promise was found with.
void require(bool holds, const char* promise, std::string_view text) {
    if (holds)
        return;
    std::cerr << "not so: " << promise << "\nwith: " << text << '\n';
    std::abort();
}

struct Parsed {
    int error;
    Format format;
};

Parsed parse(const std::string& command) {
    // Of its exact size, so that reading past its end is seen.
    const std::unique_ptr<char[]> copy(new char[command.size() + 1]);
    std::memcpy(copy.get(), command.c_str(), command.size() + 1);
    ue_format* format = nullptr;
    const int error = ue_format_parse(copy.get(), &format);
    require(error == 0 || error == -EINVAL || error == -ENOMEM, "the error is a documented one",
            command);
    require((error == 0) == (format != nullptr), "a format comes with success alone", command);
    return {error, Format(format)};
}

bool is_space(char c) {
    return std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos;
}

/// The fields of a format are where, and as large as, the command says.
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
                "names lie in the format", command);
        const bool here = field.place == UE_PLACE_HERE;
        require(here || field.size == sizeof(u32), "a location is a word", command);
        const std::string_view type = ue_field_type(&format, &field);
        const auto names = [&](const char* part) { return type.find(part) != type.npos; };
        require(here != (names("__data_loc") || names("__rel_loc")),
                "what the kernel takes for a location is one", command);
        offset += field.size;
        locations += !here;
    }
    require(format.size == offset, "sizes add up", command);
    require(format.nr_locations == locations, "locations are counted", command);
}

bool same(const ue_format& a, const ue_format& b) {
    return ue_format_equal(&a, &b) && ue_format_equal(&b, &a) &&
           std::string_view(ue_format_name(&a)) == ue_format_name(&b) && a.size == b.size &&
           a.nr_locations == b.nr_locations;
}

/// As many bytes as it says are all that the format needs, wherever they are.
void check_copy(const ue_format& format, const std::string& command) {
    const std::unique_ptr<char[]> copy(new char[format.bytes]);
    std::memcpy(copy.get(), &format, format.bytes);
    const auto& copied = *reinterpret_cast<const ue_format*>(copy.get());
    require(same(format, copied), "a copy is the same format", command);
    for (const auto make : {ue_format_text, ue_format_print_fmt})
        require(std::string_view(Text(make(&format)).get()) == Text(make(&copied)).get(),
                "a copy has the same texts", command);
}

/// Takes a text from the start of another. Returns whether it was there.
bool take(std::string_view& text, std::string_view start) {
    const bool there = text.starts_with(start);
    if (there)
        text.remove_prefix(start.size());
    return there;
}

/// Takes what may be a name in the print format: nothing that tools would evaluate.
bool take_name(std::string_view& text) {
    const auto harmless = [](char c) {
        return (c & 0x80) != 0 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
               (c >= 'a' && c <= 'z') || std::string_view("_.:-").find(c) != std::string_view::npos;
    };
    const auto end = std::find_if_not(text.begin(), text.end(), harmless);
    const bool there = end != text.begin();
    text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    return there;
}

/// The print format is a quoted text, and names behind accessors.
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

/// The canonical text means the same, and is its own canonical text.
void check_text(const ue_format& format, const std::string& command) {
    const Text text(ue_format_text(&format));
    require(text != nullptr, "there is a text", command);
    const Parsed again = parse(text.get());
    require(again.error == 0 && same(format, *again.format), "the text means the same", command);
    const Text second(ue_format_text(again.format.get()));
    require(std::string_view(text.get()) == second.get(), "the text is canonical", command);

    const Text print(ue_format_print_fmt(&format));
    require(print != nullptr, "there is a print format", command);
    require(is_harmless(print.get(), format.nr_fields), "the print format has names alone",
            command);
}

/// The same words with other white space between them, and with fields of nothing.
std::string respaced(const std::string& command) {
    const auto name_end = std::find_if(command.begin(), command.end(), is_space);
    std::string other(command.begin(), name_end);
    bool begun = false;
    for (auto c = name_end; c != command.end(); ++c) {
        if (is_space(*c))
            other += begun ? "\t \n" : "\v";
        else if (*c == ';')
            other += "\f; ;\r";
        else
            other += *c;
        begun = true;
    }
    return other;
}

void check_spacing(const Parsed& parsed, const std::string& command) {
    const std::string other = respaced(command);
    const Parsed again = parse(other);
    require(again.error == parsed.error, "white space does not matter", command);
    require(parsed.error != 0 || same(*parsed.format, *again.format),
            "white space does not make another format", command);
}

/// Two formats are equal if their texts are, but for the event's name.
void check_equality(const Parsed& parsed, const std::string& command) {
    const auto fields = [](const Parsed& one) {
        const Text text(ue_format_text(one.format.get()));
        return std::string(text.get()).substr(std::strlen(ue_format_name(one.format.get())));
    };
    std::string changed = command;
    changed.back() ^= 1;
    for (const std::string& other : {changed, command + ";u8 further"}) {
        const Parsed another = parse(other);
        if (another.error == 0)
            require(ue_format_equal(parsed.format.get(), another.format.get()) ==
                        (fields(parsed) == fields(another)),
                    "formats of the same fields, and no others, are equal", command);
    }
}

void check_name(const Parsed& parsed, const std::string& command) {
    const Text name(ue_command_name(command.c_str()));
    const auto end = std::find_if(command.begin(), command.end(), is_space);
    require(std::string(command.begin(), end) == name.get(), "the name ends at white space",
            command);
    const bool flags = std::strchr(name.get(), ':') != nullptr;
    require(ue_command_has_flags(command.c_str()) == flags, "text flags are seen", command);
    require(!flags || parsed.error == -EINVAL, "there are no text flags", command);
    require(parsed.error != 0 ||
                std::string_view(ue_format_name(parsed.format.get())) == name.get(),
            "a format has its command's name", command);
}

/// Each allocation fails once: nothing is lost, nothing is taken for a success.
void check_without_memory(const Parsed& parsed, const std::string& command) {
    for (unsigned nth = 1;; nth++) {
        ue_allocation_to_fail = nth;
        const Parsed again = parse(command);
        const bool failed = ue_allocation_to_fail == 0;
        ue_allocation_to_fail = 0;
        require(again.error == (failed ? -ENOMEM : parsed.error), "no memory is ENOMEM", command);
        if (!failed)
            break;
    }
    if (parsed.error != 0)
        return;
    ue_allocation_to_fail = 1;
    require(ue_format_text(parsed.format.get()) == nullptr, "no memory, no text", command);
}

/// What payload.h and the ABI say of one location, in other words than the module's.
bool location_fits(const ue_format& format, const ue_field& field,
                   const std::vector<char>& payload) {
    std::uint16_t offset_and_size[2];
    std::memcpy(offset_and_size, &payload[field.offset], sizeof(offset_and_size));
    const auto [offset, size] = offset_and_size;
    const long start =
        field.place == UE_PLACE_DATA_LOC ? long{offset} - 8 : long{field.offset} + 4 + offset;
    const long end = start + size;
    if (end > static_cast<long>(payload.size()))
        return false;
    const bool text = std::strstr(ue_field_type(&format, &field), "char") != nullptr;
    return !text || end < 1 || payload[end - 1] == '\0';
}

void check_payload(const ue_format& format, std::string_view written, const std::string& command) {
    // The writer refuses less than the fixed fields; here the rest is zeros.
    constexpr std::size_t largest = 1 << 16;
    if (format.size > largest)
        return;
    std::vector<char> payload(written.begin(), written.end());
    payload.resize(std::max<std::size_t>(payload.size(), format.size));
    payload.shrink_to_fit();

    bool fits = true;
    for (int i = 0; i < format.nr_fields; i++) {
        const ue_field& field = format.fields[i];
        if (field.place != UE_PLACE_HERE)
            fits = fits && location_fits(format, field, payload);
    }
    const int result = ue_payload_check(&format, payload.data(), payload.size());
    require(fits ? result == 0 || result == 1 : result == -EFAULT,
            "a payload passes if its locations lie in it", command);
    payload.resize(payload.size() + (result == 1));

    for (int i = 0; fits && i < format.nr_fields; i++) {
        const ue_field& field = format.fields[i];
        const ue_span span = ue_field_span(&field, payload.data());
        const std::string_view type = ue_field_type(&format, &field);
        const auto names = [&](const char* part) { return type.find(part) != type.npos; };
        // Of the common fields nothing is known.
        const long start = std::max<long>(span.start, 0);
        if (names("char") && (field.place != UE_PLACE_HERE || names("[")))
            require(std::memchr(&payload[0] + start, 0, payload.size() - start),
                    "the kernel finds the end of a text in its record", command);
        require(span.start >= -8 && span.start + span.size <= static_cast<s64>(payload.size()),
                "a field's bytes lie in the record", command);
    }
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
    check_name(parsed, command);
    check_spacing(parsed, command);
    check_without_memory(parsed, command);
    if (parsed.error == 0) {
        check_layout(*parsed.format, command);
        check_copy(*parsed.format, command);
        check_text(*parsed.format, command);
        check_equality(parsed, command);
        check_payload(*parsed.format, payload, command);
    }
    return 0;
}
