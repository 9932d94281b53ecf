// SPDX-License-Identifier: GPL-2.0-or-later
// What a trace.dat has besides its records, as trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) describe
// it. The file may have any bytes.
#pragma once

#include "recording/machine.hpp"
#include "recording/ring_buffer.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tool::recording {

/// The file is no recording, or is damaged. The message says what is wrong, and follows the file's
/// name; the remedy says what to do.
struct bad_file : std::runtime_error {
    explicit bad_file(const std::string& what, std::string remedy = {})
        : std::runtime_error(what), remedy(std::move(remedy)) {}
    std::string remedy;
};

enum class compression : std::uint8_t { none, zlib, zstd };

/// The largest part of records: trace-cmd makes parts of ten pages, and a page has 8 MiB at most.
inline constexpr std::uint64_t largest_part = 128U << 20;

/// Throws bad_file if `data` cannot be decompressed to exactly `size` bytes, or if `size` is more
/// than `most`.
std::string decompressed(compression how, std::string_view data, std::uint64_t size,
                         std::uint64_t most);

/// Numbers and texts, one after the other. The functions throw bad_file if not all is there.
class byte_reader {
public:
    byte_reader(std::string_view from, bool is_big_endian)
        : rest_(from), is_big_endian_(is_big_endian) {}

    std::string_view take(std::uint64_t size);
    std::uint64_t number(unsigned size);
    /// A text behind its size, a number of so many bytes.
    std::string_view sized(unsigned size_of_size) { return take(number(size_of_size)); }
    /// A text that a NUL ends.
    std::string_view text();
    /// Takes a text if it is next.
    bool has(std::string_view text);
    std::size_t left() const noexcept { return rest_.size(); }

private:
    std::string_view rest_;
    bool is_big_endian_;
};

/// Where records of a CPU are in the file.
struct stored_cpu {
    int number;
    std::uint64_t offset;
    std::uint64_t size;
};

/// An instance.
struct stored_buffer {
    std::string name; // empty for the top-level one
    std::size_t page_size;
    std::vector<stored_cpu> cpus;
    bool is_compressed = false;
};

struct stored_format {
    std::string system;
    std::string text;
};

/// From the clock of the records to nanoseconds.
struct clock_conversion {
    /// Ticks of the processor become nanoseconds if the multiplier is not 0.
    std::uint32_t multiplier = 0;
    std::uint32_t shift = 0;
    /// What to add in the end.
    std::uint64_t offset = 0;

    std::uint64_t operator()(std::uint64_t time) const noexcept;
};

struct file_head {
    page_layout pages;
    unsigned long_size = 0; // of programs
    recording::compression compression = compression::none;
    std::string header_page;
    std::vector<stored_format> formats;
    /// As in saved_cmdlines.
    std::string tasks;
    /// What `trace-cmd report --stat` prints.
    std::string statistics;
    clock_conversion clock;
    /// As in trace_clock, "local [mono]", or "mono"; empty if it is not known.
    std::string clock_name;
    /// The machine's name for itself; empty if it is not known.
    std::string host;
    std::optional<recording::machine> machine;
    /// Whether the file says how the clock of the host differs, which `clock` does not have.
    bool is_of_guest = false;
    std::vector<stored_buffer> buffers;
};

/// What a file begins with; its version follows.
inline constexpr std::string_view trace_dat_magic{"\x17\x08\x44tracing", 10};

/// Reads the head of a file, all of whose bytes are given. Throws bad_file.
file_head read_head(std::string_view file);

/// The text of /proc/kallsyms, and that of tracefs' printk_formats.
struct kernel_text_files {
    std::string functions;
    std::string formats;
};

/// Returns those in such a file; empty if it has none. They can have many megabytes, and
/// read_head() leaves them out. Throws bad_file.
kernel_text_files read_kernel_texts(std::string_view file);

} // namespace tool::recording
