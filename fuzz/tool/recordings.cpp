// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes what the command line tool does with the records of a file: it reads any bytes as the
// fields of any event, prints them, and exports them. Pages may have any bytes, too. The formats of
// the events are well-formed, because libtraceevent crashes on others: the tool reads in a process
// of its own for that.
#include "export/exporter.hpp"
#include "input.hpp"
#include "recording/file.hpp"
#include "recording/statistics.hpp"
#include "text/errors.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::size_t page_size = 4096;

struct declared_field {
    const char* text; // {} is the name
    int size;
};

constexpr declared_field field_types[] = {
    {"u8 {}", 1},
    {"s16 {}", 2},
    {"u32 {}", 4},
    {"s64 {}", 8},
    {"char {}", 1},
    {"char {}[16]", 16},
    {"unsigned char {}[5]", 5},
    {"u32 {}[3]", 12},
    {"__data_loc char[] {}", 4},
    {"__rel_loc char[] {}", 4},
    {"__rel_loc u8[] {}", 4},
    {"__data_loc u64[] {}", 4},
    {"struct f64 {}", 8},
    {"struct f32 {}", 4},
    {"struct point {}", 12},
    {"unsigned int {}", 3}, // no size of a number
};

constexpr const char* field_names[] = {
    "track_event_type", "slice_name", "track_name",  "counter_value",
    "scope_tgid",       "pid",        "clone_flags", "id",
    "a-b.\xc3\xa9",     "p[q"};
constexpr const char* event_names[] = {"work", "task_newtask", "io_begin", "io_end", "io_end.1f"};

template <typename Number>
void append(std::string& to, Number number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

/// The format of an event with up to eight fields, whose types and names the input chooses.
std::string format(input& from, int id) {
    std::string text =
        fmt::format("name: {}\nID: {}\nformat:\n"
                    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
                    event_names[from.byte() % std::size(event_names)], id);
    int offset = 8;
    for (unsigned count = from.byte() % 9; count > 0; count--) {
        const declared_field& type = field_types[from.byte() % std::size(field_types)];
        const unsigned name = from.byte();
        const std::string declared =
            fmt::format(fmt::runtime(type.text),
                        name < 128 ? std::string(field_names[name % std::size(field_names)])
                                   : fmt::format("f{}", count));
        text += fmt::format("\tfield:{};\toffset:{};\tsize:{};\tsigned:{};\n", declared, offset,
                            type.size, type.text[0] == 's' || type.text[0] == 'c');
        offset += type.size;
    }
    return text + "\nprint fmt: \"\"\n";
}

/// The records, as many as fit into a page; or any page.
std::string page(input& from) {
    if (from.byte() % 8 == 7) {
        std::string any(from.take(page_size));
        any.resize(page_size, '\0');
        return any;
    }
    std::string content;
    while (!from.is_empty()) {
        std::string record;
        append(record, static_cast<std::uint16_t>(1000 + from.byte() % 3));
        append(record, std::uint16_t{0});
        append(record, static_cast<std::int32_t>(from.byte() % 5));
        const unsigned delta = from.byte();
        record += from.take(from.byte() % 105);
        record.resize((record.size() + 3) & ~std::size_t{3}, '\0');
        if (content.size() + 4 + record.size() > page_size - 16)
            break;
        append(content, static_cast<std::uint32_t>(record.size() / 4 | delta << 5));
        content += record;
    }
    std::string result;
    append(result, std::uint64_t{1'000'000});
    append(result, static_cast<std::uint64_t>(content.size()));
    result += content;
    result.resize(page_size, '\0');
    return result;
}

void append_with_size(std::string& to, std::string_view text) {
    append(to, static_cast<std::uint64_t>(text.size()));
    to += text;
}

/// A file of version 6 with two events, as trace-cmd.dat.v6(5) describes it.
std::string make_file(input& from) {
    std::string file("\x17\x08\x44tracing6\0\0\x08", 14);
    append(file, static_cast<std::uint32_t>(page_size));
    file.append("header_page\0", 12);
    append_with_size(file, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                           "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                           "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                           "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n");
    file.append("header_event\0", 13);
    append_with_size(file, "");
    append(file, std::uint32_t{0});
    append(file, std::uint32_t{1});
    file.append("user_events\0", 12);
    append(file, std::uint32_t{2});
    append_with_size(file, format(from, 1000));
    append_with_size(file, format(from, 1001));
    append(file, std::uint32_t{0});
    append(file, std::uint32_t{0});
    append_with_size(file, "1 one\n2 two\n");
    append(file, std::uint32_t{1});
    // Statistics with the lists that `record` and `snapshot` write.
    const std::string lines(from.take(from.byte() % 64));
    std::string statistics =
        "\nthread process name:\n" + lines + "\nsystem event one record of:\nuser_events " + lines;
    statistics += '\0';
    file.append("options  \0\2\0", 12);
    append(file, static_cast<std::uint32_t>(statistics.size()));
    file += statistics;
    file.append("\0\0flyrecord\0", 12);
    append(file, static_cast<std::uint64_t>(page_size * 2));
    append(file, static_cast<std::uint64_t>(page_size));
    file.resize(page_size * 2, '\0');
    return file + page(from);
}

void read(const std::string& path, const tool::recording::selection& selection,
          const std::function<void(const tool::recording::record&)>& use) {
    const tool::recording::input recording(path);
    tool::recording::file file(recording, selection);
    try {
        file.read(use);
    } catch (const tool::text::failure&) {
        // A page is damaged.
    }
}

void export_to(const std::string& path, std::unique_ptr<tool::exporting::exporter> (*make)(
                                            const tool::exporting::options&)) {
    tool::text::new_file output("/dev/null");
    const auto exporter = make({.file = &output,
                                .directory = {},
                                .pairs = {{"io_begin", "io_end", "id"}},
                                .source = "</script>"});
    read(path, {}, [&](const auto& record) { exporter->add(record); });
    exporter->finish();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int descriptor = memfd_create("recording", 0);
    static const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
    input from(data, size);
    const std::string file = make_file(from);
    if (ftruncate(descriptor, static_cast<off_t>(file.size())) != 0 ||
        pwrite(descriptor, file.data(), file.size(), 0) != static_cast<ssize_t>(file.size()))
        std::abort();
    std::string text;
    tool::recording::statistics statistics;
    read(path, {}, [&](const tool::recording::record& record) {
        append_line(text, record);
        append_json_line(text, record);
        statistics.add(record);
    });
    for (const char c : text)
        if (static_cast<unsigned char>(c) < ' ' && c != '\n')
            std::abort();
    try {
        read(path, {"*", "id > 5 || slice_name == \"x\""}, [](const auto&) {});
    } catch (const tool::text::usage_error&) {
        // The events lack these fields.
    }
    export_to(path, tool::exporting::make_perfetto);
    export_to(path, tool::exporting::make_html);
    return 0;
}
