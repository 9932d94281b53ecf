// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's ring buffers: the records in their pages, and those of several buffers in the order
// of time. Live records and those of files are read by this.
#pragma once

#include "recording/number.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tool::recording {

/// How a kernel lays out its pages. Those of this machine by default.
struct page_layout {
    std::size_t size = 4096;
    /// Of the kernel, in bytes.
    unsigned long_size = sizeof(long);
    bool is_big_endian = std::endian::native == std::endian::big;

    std::uint64_t number(const std::byte* from, unsigned size) const noexcept {
        return read_number(from, size, false, is_big_endian);
    }
};

/// The records in a page, which may have any bytes. The page's own header_event, in tracefs,
/// describes them. (libtraceevent's kbuffer trusts a page: it reads behind its end, and some
/// lengths have it go round for ever.)
class page_records {
public:
    explicit page_records(const page_layout& layout) : layout_(layout) {}

    /// Begins with a page, which has to exist until the next one.
    void load(bytes page);
    /// Finds the next record. Returns false behind the last one.
    bool next();

    std::uint64_t time() const noexcept { return time_; }
    bytes data() const noexcept { return data_; }
    /// Where the record's own head is in the page.
    std::size_t begin() const noexcept { return begin_; }
    /// How many records are missing before the page: nothing if none are, 0 if the number is not
    /// known.
    std::optional<std::uint64_t> missing() const noexcept { return missing_; }
    /// Whether the page has bytes that make no sense. Its records before them have been found.
    bool is_damaged() const noexcept { return is_damaged_; }

private:
    bool take(std::size_t head, std::uint64_t size);
    bool damaged() noexcept;

    page_layout layout_;
    bytes page_;
    std::size_t at_ = 0;
    std::size_t end_ = 0;
    std::size_t begin_ = 0;
    std::uint64_t time_ = 0;
    bytes data_;
    std::optional<std::uint64_t> missing_;
    bool is_damaged_ = false;
};

/// Removes the records of a page that are older than `time`, and what the page says of missing
/// records. At least one record has to remain.
void remove_older(std::span<std::byte> page, const page_layout& layout, std::uint64_t time);

/// A buffer of one CPU.
class ring_buffer {
public:
    /// Fills the page with the next one. Returns false if there is none at present.
    using page_source = std::function<bool(std::span<std::byte> page)>;

    ring_buffer(int cpu, const page_layout& layout, page_source source)
        : cpu_(cpu), page_(layout.size), records_(layout), source_(std::move(source)) {}

    /// Finds the next record. Without `take`, only in the page that was taken last.
    void advance(bool take = true);

    bool has_record() const noexcept { return has_record_; }
    int cpu() const noexcept { return cpu_; }
    /// Of the record.
    std::uint64_t time() const noexcept { return records_.time(); }
    bytes data() const noexcept { return records_.data(); }
    /// What is missing before the record, as page_records::missing() has it.
    const std::optional<std::uint64_t>& missing() const noexcept { return missing_; }
    /// Whether some page so far was damaged.
    bool is_damaged() const noexcept { return is_damaged_; }

private:
    int cpu_;
    std::vector<std::byte> page_;
    page_records records_;
    page_source source_;
    std::optional<std::uint64_t> missing_;
    bool has_record_ = false;
    bool is_damaged_ = false;
};

/// Several buffers, in the order of time. Of records of the same time, that of the buffer that was
/// added first comes first.
class merged_buffers {
public:
    void add(std::unique_ptr<ring_buffer> buffer) { buffers_.push_back(std::move(buffer)); }

    /// Looks whether buffers without a record have one now.
    void refill();
    /// The number of the buffer with the oldest record; nothing if there is no record.
    std::optional<std::size_t> first() const;
    /// Goes on to the next record of that buffer, as ring_buffer::advance() does.
    void advance_first(bool take = true);
    /// Goes on to the next record of a buffer that has one. A result of an earlier call is no
    /// longer valid.
    void advance(std::size_t number);

    const ring_buffer& operator[](std::size_t number) const { return *buffers_[number]; }
    bool is_damaged() const;

private:
    bool is_later(std::size_t a, std::size_t b) const;

    std::vector<std::unique_ptr<ring_buffer>> buffers_;
    /// Those that have a record: a heap, the one with the oldest record first.
    std::vector<std::size_t> waiting_;
};

} // namespace tool::recording
