// SPDX-License-Identifier: GPL-2.0-only
// A program that writes events in the way of LinuxTracepoints: it registers tracepoints that have
// only the fields of the header, and writes header, extensions and values with one writev().
//
//	eventheader_client [COUNT [NAME]]
//
// For each of COUNT requests, a start and a stop of one activity, and an event RequestDone, or
// NAME.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <linux/user_events.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

using namespace std::string_literals;

constexpr char fields[] = " u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level";

struct header {
    std::uint8_t flags = 7; // 64-bit pointers, little-endian, extensions
    std::uint8_t version = 0;
    std::uint16_t id = 0;
    std::uint16_t tag = 0;
    std::uint8_t opcode;
    std::uint8_t level;
};
static_assert(sizeof(header) == 8);

struct extension {
    std::uint16_t size;
    std::uint16_t kind;
};

class tracepoint {
public:
    tracepoint(int file, const std::string& name, std::uint8_t level)
        : file_(file), level_(level), command_(name + fields) {
        registration_.size = sizeof(registration_);
        registration_.enable_size = sizeof(enabled_);
        registration_.enable_addr = reinterpret_cast<std::uintptr_t>(&enabled_);
        registration_.name_args = reinterpret_cast<std::uintptr_t>(command_.c_str());
        if (ioctl(file, DIAG_IOCSREG, &registration_) != 0) {
            std::perror(name.c_str());
            std::exit(1);
        }
    }
    tracepoint(const tracepoint&) = delete;
    tracepoint& operator=(const tracepoint&) = delete;

    void write(std::uint8_t opcode, const std::string& activity, const std::string& metadata,
               const std::string& values) {
        if (enabled_.load(std::memory_order_relaxed) == 0)
            return;
        header head{.opcode = opcode, .level = level_};
        const extension of_activity{static_cast<std::uint16_t>(activity.size()), 0x8002};
        const extension of_metadata{static_cast<std::uint16_t>(metadata.size()), 1};
        const std::array<iovec, 7> parts{
            part(&registration_.write_index, sizeof(registration_.write_index)),
            part(&head, sizeof(head)),
            part(&of_activity, activity.empty() ? 0 : sizeof(of_activity)),
            part(activity.data(), activity.size()),
            part(&of_metadata, sizeof(of_metadata)),
            part(metadata.data(), metadata.size()),
            part(values.data(), values.size())};
        if (writev(file_, parts.data(), parts.size()) < 0)
            std::perror("writev");
    }

private:
    static iovec part(const void* data, std::size_t size) {
        return {const_cast<void*>(data), size};
    }

    int file_;
    std::uint8_t level_;
    std::string command_;
    std::atomic<std::uint32_t> enabled_{0};
    user_reg registration_{};
};

std::string bytes_of(std::uint16_t number) {
    return {static_cast<char>(number), static_cast<char>(number >> 8)};
}

} // namespace

int main(int argc, char* argv[]) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 1;
    const int file = open("/sys/kernel/tracing/user_events_data", O_RDWR | O_CLOEXEC);
    if (file < 0) {
        std::perror("user_events_data");
        return 1;
    }
    constexpr std::uint8_t info = 0, start = 1, stop = 2;
    tracepoint information(file, "MyProvider_L4K1", 4), verbose(file, "MyProvider_L5K2", 5);
    const std::string done =
        (argc > 2 ? argv[2] : "RequestDone") + "\0status\0\x03http\0\x81\x02verb\0\x07path\0\x07"s;
    for (int i = 0; i < count; i++) {
        const std::string activity(16, static_cast<char>(i + 1));
        verbose.write(start, activity, "Request\0"s, "");
        information.write(info, activity, done,
                          bytes_of(static_cast<std::uint16_t>(i % 2 ? 503 : 200)) + "GET\0/tea\0"s);
        verbose.write(stop, activity, "Request\0"s, "");
    }
    return close(file);
}
