// SPDX-License-Identifier: GPL-2.0-only
// A tracepoint in the way of LinuxTracepoints: it has only the fields of the header.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <linux/user_events.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace eventheader_test {

/// The program ends with a message if tracing is not there, or does not take the event.
class tracepoint {
public:
    explicit tracepoint(const std::string& name)
        : file_(open("/sys/kernel/tracing/user_events_data", O_RDWR | O_CLOEXEC)),
          command_(name +
                   " u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level") {
        registration_.size = sizeof(registration_);
        registration_.enable_size = sizeof(enabled_);
        registration_.enable_addr = reinterpret_cast<std::uintptr_t>(&enabled_);
        registration_.name_args = reinterpret_cast<std::uintptr_t>(command_.c_str());
        if (file_ < 0 || ioctl(file_, DIAG_IOCSREG, &registration_) != 0) {
            std::perror(name.c_str());
            std::exit(1);
        }
    }
    tracepoint(const tracepoint&) = delete;
    tracepoint& operator=(const tracepoint&) = delete;
    ~tracepoint() { close(file_); }

    /// The payload begins with the header.
    void write(const std::string& payload) const {
        if (enabled_.load(std::memory_order_relaxed) == 0)
            return;
        const std::array<iovec, 2> parts{part(&registration_.write_index, sizeof(std::uint32_t)),
                                         part(payload.data(), payload.size())};
        if (writev(file_, parts.data(), parts.size()) < 0)
            std::perror("writev");
    }

private:
    static iovec part(const void* data, std::size_t size) {
        return {const_cast<void*>(data), size};
    }

    int file_;
    std::string command_;
    std::atomic<std::uint32_t> enabled_{0};
    user_reg registration_{};
};

} // namespace eventheader_test
