// SPDX-License-Identifier: GPL-2.0-or-later
// The ring buffers of an instance: their size, and what the kernel counts of them.
#pragma once

#include "tracing/tracefs.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

struct tracefs_cpu;

namespace tool::tracing {

/// The numbers of the CPUs that have a buffer, in order.
std::vector<int> cpus(const instance& in);

/// Opens the pages of a CPU's buffer for reading without waiting, or of another file in its
/// directory. Throws text::failure.
std::unique_ptr<tracefs_cpu, void (*)(tracefs_cpu*)>
open_buffer(const instance& in, int cpu, std::string_view file = "trace_pipe_raw");

/// How many records the instance has lost.
std::uint64_t lost_records(const instance& in);

/// How many records were taken out of the instance, by any reader.
std::uint64_t read_records(const instance& in);

/// How many records were taken out of the instance, and how many are still in its buffers,
/// together.
std::uint64_t made_records(const instance& in);

/// The size of the records that wait in the buffers.
std::uint64_t waiting_bytes(const instance& in);

/// The size of the buffers' pages: what a read takes at most. Since Linux 6.8, an instance can have
/// larger ones than the kernel's other pages.
std::size_t page_size(const instance& in);

/// Sets the size of the buffer of each CPU, in bytes; 4 KiB at least.
void set_buffer_size(const instance& in, std::uint64_t size);

} // namespace tool::tracing
