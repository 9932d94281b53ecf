// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/perf_file.hpp"

#include "recording/number.hpp"

#include <algorithm>
#include <array>
#include <unistd.h>

namespace tool::recording {

namespace {

/// Of records in a file that perf has written to a pipe, and of features. Only numbers in little
/// endian: of a file of another machine, the first bytes are others.
enum : std::uint64_t {
    record_sample = 9,
    record_trace_formats = 66,
    record_finished_round = 68,
    record_aux_trace = 71,
    record_feature = 80,
    record_compressed = 81,
    record_compressed_aligned = 83,
};
enum : std::uint64_t { feature_version = 5, feature_clock = 29, most_features = 256 };

constexpr std::uint64_t pipe_head_size = 16, section_size = 16, features_at = 72;
constexpr std::uint64_t longest_version = 64;

class reader {
public:
    explicit reader(const input& from) : from_(from) {}

    perf_file read() {
        if (from_.size() == 0)
            return {};
        if (number(8, 8) == pipe_head_size)
            read_pipe();
        else
            read_sections();
        return std::move(result_);
    }

private:
    /// 0 behind the end of the file.
    std::uint64_t number(std::uint64_t at, unsigned size) const {
        std::array<std::byte, sizeof(std::uint64_t)> bytes{};
        (void)!pread(from_.descriptor(), bytes.data(), size, static_cast<off_t>(at));
        return read_number(bytes.data(), size, false, false);
    }
    bool is_in_file(std::uint64_t at, std::uint64_t size) const {
        return at <= from_.size() && size <= from_.size() - at;
    }

    void take_feature(std::uint64_t feature, std::uint64_t at) {
        if (feature == feature_clock && number(at, 4) == 1) {
            // The time of day, and the time of the clock then.
            result_.clock_offset =
                static_cast<std::int64_t>(number(at + 8, 8) - number(at + 16, 8));
        } else if (feature == feature_version) {
            std::string text(std::min(number(at, 4), longest_version), '\0');
            (void)!pread(from_.descriptor(), text.data(), text.size(), static_cast<off_t>(at + 4));
            result_.version = text.substr(0, text.find_first_not_of("0123456789."));
        }
    }

    /// A head, the records, and sections of which the places are behind the records.
    void read_sections() {
        const std::uint64_t data = number(40, 8), size = number(48, 8);
        // The size is written at the end.
        result_.is_cut = size == 0 || !is_in_file(data, size);
        std::uint64_t place = data + size;
        for (std::uint64_t feature = 0; feature < most_features && !result_.is_cut; feature++) {
            if (!(number(features_at + feature / 8, 1) >> feature % 8 & 1))
                continue;
            result_.is_cut = !is_in_file(place, section_size) ||
                             !is_in_file(number(place, 8), number(place + 8, 8));
            take_feature(feature, number(place, 8));
            place += section_size;
        }
    }

    /// Records alone. perf ends each round of reading the kernel's buffers with a record of its
    /// own.
    void read_pipe() {
        bool is_in_round = false;
        std::uint64_t at = pipe_head_size;
        while (is_in_file(at, 8)) {
            const std::uint64_t kind = number(at, 4), size = number(at + 6, 2);
            // What follows these is not counted.
            const std::uint64_t more = kind == record_trace_formats
                                           ? (number(at + 8, 4) + 7) / 8 * 8
                                       : kind == record_aux_trace ? number(at + 8, 8)
                                                                  : 0;
            if (size < 8 || !is_in_file(at, size) || !is_in_file(at + size, more))
                break;
            if (kind == record_feature)
                take_feature(number(at + 8, 8), at + 16);
            is_in_round = kind != record_finished_round &&
                          (is_in_round || kind == record_sample || kind == record_compressed ||
                           kind == record_compressed_aligned);
            at += size + more;
        }
        result_.is_cut = is_in_round || at != from_.size();
    }

    const input& from_;
    perf_file result_;
};

} // namespace

bool is_perf_data(const input& from) {
    std::array<char, perf_data_magic.size()> head{};
    return pread(from.descriptor(), head.data(), head.size(), 0) ==
               static_cast<ssize_t>(head.size()) &&
           std::string_view(head.data(), head.size()) == perf_data_magic;
}

perf_file read_perf_file(const input& from) {
    return reader(from).read();
}

} // namespace tool::recording
