// SPDX-License-Identifier: GPL-2.0-or-later
// The ring buffers of an instance: their size, and what the kernel counts of them.
#pragma once

#include "tracing/tracefs.hpp"

#include <cstddef>
#include <cstdint>

namespace tool::tracing {

/// How many records the instance has lost.
std::uint64_t lost_records(const instance& in);

/// How many records were taken out of the instance, by any reader.
std::uint64_t read_records(const instance& in);

/// The same, and those that are still in its buffers.
std::uint64_t made_records(const instance& in);

/// The size of the records that wait in the buffers.
std::uint64_t waiting_bytes(const instance& in);

/// The size of the buffers' pages: what a read takes at most. Since Linux 6.8, an instance can have
/// larger ones than the kernel's other pages.
std::size_t page_size(const instance& in);

/// Sets the size of the buffer of each CPU, in bytes; 4 KiB at least.
void set_buffer_size(const instance& in, std::uint64_t size);

} // namespace tool::tracing
