// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "mapping.hpp"
#include "outcome.hpp"

#include <linux/io_uring.h>
#include <optional>
#include <sys/uio.h>

namespace selftest {

/// An io_uring of one operation at a time. It needs no library.
class IoUring {
public:
    IoUring();

    /// Writes to a file, at its position, and waits for what comes of it.
    Outcome write(int file, const void* data, std::size_t size);
    Outcome writev(int file, const iovec* parts, unsigned count);
    /// From the memory that was registered.
    Outcome write_fixed(int file, const void* data, std::size_t size);

    /// Registers memory that write_fixed() may write from, in place of none. Once.
    void register_memory(const Mapping& memory);

private:
    Outcome run(unsigned char operation, int file, const void* data, std::size_t size);

    io_uring_params parameters_{};
    Descriptor ring_;
    std::optional<Mapping> submissions_, completions_, entries_;
};

} // namespace selftest
