// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the records of an instance as they are made.
#pragma once

#include "tracing/tracefs.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tool::tracing {

struct live_record {
    std::uint64_t time;
    int cpu;
    std::span<const std::byte> data;
};

/// Takes the records out of an instance, whose clock has to be "mono". The instance has to outlive
/// the object.
class live_reader {
public:
    explicit live_reader(const instance& in);
    ~live_reader();

    /// Calls the function for each record until now, in the order of their times, until it returns
    /// false. Returns how often it was called.
    std::size_t read(const std::function<bool(const live_record&)>& use);

    /// Calls the function for the records that were taken out of the instance, but that read() has
    /// left for later.
    void read_rest(const std::function<void(const live_record&)>& use);

    /// How many records were lost until now, because the buffers were full.
    std::uint64_t lost() const;

private:
    struct cpu_buffer;
    struct is_later;
    void collect();
    cpu_buffer* first_before(std::uint64_t end);
    void advance_first(bool take);

    const instance& in_;
    std::vector<std::unique_ptr<cpu_buffer>> buffers_;
    /// Those that have a next record: a heap, the one with the oldest record first.
    std::vector<cpu_buffer*> waiting_;
};

/// How many records the instance has lost.
std::uint64_t lost_records(const instance& in);

/// How many records were taken out of the instance, by any reader.
std::uint64_t read_records(const instance& in);

/// The size of the records that wait in the buffers.
std::uint64_t waiting_bytes(const instance& in);

/// Sets the size of the buffer of each CPU, in bytes; 4 KiB at least.
void set_buffer_size(const instance& in, std::uint64_t size);

} // namespace tool::tracing
