// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "mapping.hpp"
#include "outcome.hpp"

#include <linux/io_uring.h>
#include <optional>
#include <sys/uio.h>

namespace selftest {

/// An io_uring for one operation at a time, without liburing. All calls throw std::system_error if
/// the ring itself fails; the writes wait for, and return, the result of the operation.
class IoUring {
public:
    IoUring();

    /// Writes to a file, at its position.
    Outcome write(int file, const void* data, std::size_t size);
    /// Writes several parts to a file, at its position.
    Outcome writev(int file, const iovec* parts, unsigned count);
    /// Writes to a file, at its position, from the registered memory.
    Outcome write_fixed(int file, const void* data, std::size_t size);

    /// Registers the memory for write_fixed(). Can be called once.
    void register_memory(const Mapping& memory);

private:
    Outcome run(unsigned char operation, int file, const void* data, std::size_t size);

    io_uring_params parameters_{};
    Descriptor ring_;
    std::optional<Mapping> submissions_, completions_, entries_;
};

} // namespace selftest
