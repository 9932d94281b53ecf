// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/file_head.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tool::recording {

namespace {

constexpr std::string_view options_mark("options  \0", 10), records_mark("flyrecord\0", 10);

/// The numbers of options, and of sections in version 7.
enum : std::uint64_t {
    opt_done = 0,
    opt_date = 1,
    opt_statistics = 2,
    opt_buffer = 3,
    opt_clock = 4,
    opt_uname = 5,
    opt_offset = 7,
    opt_cpu_count = 8,
    opt_guest_times = 12, // trace-cmd.dat.v7(5): TIME_SHIFT
    opt_ticks = 14,
    opt_header = 16,
    opt_ftrace_formats = 17,
    opt_formats = 18,
    opt_functions = 19,
    opt_printk_formats = 20,
    opt_tasks = 21,
};

constexpr std::uint64_t section_is_compressed = 1;

/// Of those that are compressed: the formats of all events have a few megabytes.
constexpr std::uint64_t largest_section = 256U << 20;

[[noreturn]] void damaged() {
    throw bad_file("is no recording, or damaged or cut off",
                   "recordings are made by `user-events record -o FILE` or `trace-cmd record -o "
                   "FILE`");
}

/// A number as in C, in any base.
std::uint64_t to_number(std::string_view text) {
    return static_cast<std::uint64_t>(std::strtoll(std::string(text).c_str(), nullptr, 0));
}

/// Reads a head of both versions.
class head_reader {
public:
    head_reader(std::string_view file, bool has_texts) : file_(file), has_texts_(has_texts) {}

    file_head read() {
        byte_reader from(file_, false);
        if (!from.has(trace_dat_magic))
            damaged();
        const std::string_view version = from.text();
        head_.pages.is_big_endian = from.number(1) != 0;
        head_.long_size = static_cast<unsigned>(from.number(1));
        byte_reader rest = at(file_.size() - from.left());
        head_.pages.size = page_size(rest.number(4));
        if (version == "6")
            read_version_6(rest);
        else if (version == "7")
            read_version_7(rest);
        else
            damaged();
        head_.machine = to_machine(head_.statistics);
        if (head_.buffers.empty())
            throw bad_file("has no records", "`trace-cmd report` prints the text of a tracer");
        return std::move(head_);
    }
    kernel_text_files texts() && { return std::move(texts_); }

private:
    byte_reader at(std::uint64_t offset) const {
        if (offset > file_.size())
            damaged();
        return {file_.substr(static_cast<std::size_t>(offset)), head_.pages.is_big_endian};
    }
    byte_reader reader(std::string_view data) const { return {data, head_.pages.is_big_endian}; }

    static std::size_t page_size(std::uint64_t size) {
        // A page of the kernel has 4 KiB to 64 KiB, its buffers' up to 128 of these.
        if (size < 64 || size > (8U << 20))
            damaged();
        return static_cast<std::size_t>(size);
    }

    void read_header(byte_reader& from) {
        if (!from.has({"header_page\0", 12}))
            damaged();
        head_.header_page = from.sized(8);
        if (!from.has({"header_event\0", 13}))
            damaged();
        from.sized(8);
        // The kernel's `long`, which a 32-bit trace-cmd of a 64-bit kernel does not have.
        const auto commit = head_.header_page.find(" commit;");
        const auto size =
            head_.header_page.find("size:", std::min(commit, head_.header_page.size()));
        if (size == head_.header_page.npos)
            damaged();
        head_.pages.long_size = head_.header_page[size + 5] == '4' ? 4 : 8;
    }
    void read_formats(byte_reader& from, const std::string& system) {
        for (auto count = from.number(4); count > 0; count--)
            head_.formats.push_back({system, std::string(from.sized(8))});
    }
    void read_systems(byte_reader& from) {
        for (auto count = from.number(4); count > 0; count--) {
            const std::string system(from.text());
            read_formats(from, system);
        }
    }

    /// Those that both versions have alike.
    void read_option(std::uint64_t id, std::string_view data) {
        byte_reader from = reader(data);
        const std::string_view text = data.substr(0, data.find('\0'));
        if (id == opt_date) {
            // Microseconds.
            head_.clock.offset += to_number(text) * 1000;
        } else if (id == opt_offset) {
            head_.clock.offset += to_number(text);
        } else if (id == opt_statistics) {
            head_.statistics += text;
        } else if (id == opt_uname) {
            // Linux NAME RELEASE MACHINE
            const auto begin = std::min(text.find(' '), text.size() - !text.empty());
            head_.host = text.substr(begin + !text.empty(), text.find(' ', begin + 1) - begin - 1);
        } else if (id == opt_guest_times) {
            head_.is_of_guest = true;
        } else if (id == opt_ticks) {
            // Its third number is for files of several machines, which are read as one.
            head_.clock.multiplier = static_cast<std::uint32_t>(from.number(4));
            head_.clock.shift = static_cast<std::uint32_t>(from.number(4));
        }
    }

    void read_version_6(byte_reader& from) {
        read_header(from);
        read_formats(from, "ftrace");
        read_systems(from);
        const auto functions = from.sized(4), formats = from.sized(4);
        if (has_texts_)
            texts_ = {std::string(functions), std::string(formats)};
        head_.tasks = from.sized(8);
        std::uint64_t cpus = from.number(4);
        bool has_clock = false;
        std::vector<std::string_view> instances;
        if (from.has(options_mark))
            while (const auto id = from.number(2)) {
                const auto data = from.sized(4);
                if (id == opt_buffer)
                    instances.push_back(data);
                else if (id == opt_cpu_count)
                    cpus = reader(data).number(4);
                has_clock |= id == opt_clock;
                read_option(id, data);
            }
        if (from.has({"latency  \0", 10}))
            return;
        read_places(from, "", cpus);
        if (has_clock)
            read_clock(from);
        for (const auto data : instances) {
            byte_reader option = reader(data);
            byte_reader place = at(option.number(8));
            read_places(place, std::string(option.text()), cpus);
        }
    }
    void read_places(byte_reader& from, std::string name, std::uint64_t cpus) {
        if (!from.has(records_mark))
            damaged();
        stored_buffer buffer{std::move(name), head_.pages.size, {}};
        for (std::uint64_t cpu = 0; cpu < cpus; cpu++) {
            const auto offset = from.number(8), size = from.number(8);
            buffer.cpus.push_back({static_cast<int>(cpu), offset, size});
        }
        head_.buffers.push_back(std::move(buffer));
    }

    /// Nothing else depends on it.
    void read_clock(byte_reader from) {
        try {
            head_.clock_name = from.sized(8);
        } catch (const bad_file&) {
            head_.clock_name.clear();
        }
    }

    void read_version_7(byte_reader& from) {
        static const std::map<std::string_view, compression> known{
            {"none", compression::none}, {"zlib", compression::zlib}, {"zstd", compression::zstd}};
        const std::string_view name = from.text();
        from.text(); // the version of the compression
        const auto how = known.find(name);
        if (how == known.end())
            throw bad_file(
                fmt::format("is compressed with {}, which is not supported", name),
                "trace-cmd convert --file-version 7 --compression none -i FILE -o OTHER");
        head_.compression = how->second;
        std::set<std::uint64_t> seen;
        std::vector<std::string> buffers;
        std::uint64_t offset = from.number(8);
        do {
            if (!offset || !seen.insert(offset).second)
                damaged();
            offset = read_options(offset, buffers);
        } while (offset);
        for (const auto& data : buffers)
            read_buffer(data);
    }

    /// The head of a section: whether it is compressed.
    static bool take_section(byte_reader& from, std::uint64_t& size) {
        from.number(2);
        const auto flags = from.number(2);
        from.number(4); // a description
        size = from.number(8);
        return flags & section_is_compressed;
    }
    std::string section(std::uint64_t offset) const {
        byte_reader from = at(offset);
        std::uint64_t size = 0;
        if (!take_section(from, size))
            return std::string(from.take(size));
        const auto packed = from.number(4), whole = from.number(4);
        return decompressed(head_.compression, from.take(packed), whole, largest_section);
    }
    /// Returns where the next ones are; 0 if these were the last.
    std::uint64_t read_options(std::uint64_t offset, std::vector<std::string>& buffers) {
        const std::string all = section(offset);
        byte_reader from = reader(all);
        while (true) {
            const auto id = from.number(2);
            const auto data = from.sized(4);
            if (id == opt_done)
                return reader(data).number(8);
            if (id == opt_buffer)
                buffers.emplace_back(data);
            else if (has_section(id))
                read_section(id, reader(data).number(8));
            else
                read_option(id, data);
        }
    }
    /// Other options have sections, too, which are not needed: names of the kernel's functions are
    /// many megabytes.
    bool has_section(std::uint64_t id) const {
        return (has_texts_ && (id == opt_functions || id == opt_printk_formats)) ||
               id == opt_header || id == opt_ftrace_formats || id == opt_formats || id == opt_tasks;
    }
    void read_section(std::uint64_t id, std::uint64_t offset) {
        const std::string all = section(offset);
        byte_reader from = reader(all);
        if (id == opt_header)
            read_header(from);
        else if (id == opt_ftrace_formats)
            read_formats(from, "ftrace");
        else if (id == opt_formats)
            read_systems(from);
        else if (id == opt_functions)
            texts_.functions = from.sized(4);
        else if (id == opt_printk_formats)
            texts_.formats = from.sized(4);
        else
            head_.tasks = from.sized(8);
    }
    void read_buffer(const std::string& data) {
        byte_reader from = reader(data);
        byte_reader place = at(from.number(8));
        std::uint64_t size = 0;
        const bool is_compressed = take_section(place, size);
        stored_buffer buffer{std::string(from.text()), 0, {}, is_compressed};
        head_.clock_name = from.text();
        buffer.page_size = page_size(from.number(4));
        for (auto count = from.number(4); count > 0; count--) {
            const auto cpu = static_cast<int>(from.number(4));
            const auto offset = from.number(8), length = from.number(8);
            buffer.cpus.push_back({cpu, offset, length});
        }
        head_.buffers.push_back(std::move(buffer));
    }

    std::string_view file_;
    bool has_texts_;
    kernel_text_files texts_;
    file_head head_;
};

} // namespace

std::string_view byte_reader::take(std::uint64_t size) {
    if (size > rest_.size())
        damaged();
    const std::string_view result = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(result.size());
    return result;
}

std::uint64_t byte_reader::number(unsigned size) {
    const auto* const from = reinterpret_cast<const std::byte*>(take(size).data());
    return read_number(from, size, false, is_big_endian_);
}

std::string_view byte_reader::text() {
    const auto end = rest_.find('\0');
    if (end == rest_.npos)
        damaged();
    const std::string_view result = take(end);
    take(1);
    return result;
}

bool byte_reader::has(std::string_view text) {
    const bool result = rest_.starts_with(text);
    rest_.remove_prefix(result ? text.size() : 0);
    return result;
}

std::uint64_t clock_conversion::operator()(std::uint64_t time) const noexcept {
    // The product has more than 64 bits: `high` counts 2^32.
    constexpr unsigned half = 32;
    const std::uint64_t high = (time >> half) * multiplier;
    const std::uint64_t low = (time & UINT32_MAX) * multiplier;
    const unsigned by = shift & 63;
    if (multiplier)
        time = by <= half ? (high << (half - by)) + (low >> by)
                          : (high + (low >> half)) >> (by - half);
    return time + offset;
}

file_head read_head(std::string_view file) {
    return head_reader(file, false).read();
}

kernel_text_files read_kernel_texts(std::string_view file) {
    head_reader reader(file, true);
    reader.read();
    return std::move(reader).texts();
}

} // namespace tool::recording
