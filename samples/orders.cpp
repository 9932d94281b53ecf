// SPDX-License-Identifier: MIT
//
// A program with an event. It registers the event once. For each order it reads the event's bit,
// and writes a record if the bit is set. It calls the kernel directly, without a library.
#include <linux/user_events.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

// The kernel sets bit 0 of this word while the event is enabled.
alignas(4) std::uint32_t enabled = 0;

bool is_enabled() {
    return std::atomic_ref(enabled).load(std::memory_order_relaxed) & 1;
}

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

class OrderPlaced {
public:
    OrderPlaced() {
        file_ = open("/sys/kernel/tracing/user_events_data", O_RDWR | O_CLOEXEC);
        if (file_ < 0)
            fail("user_events_data");
        user_reg registration{};
        registration.size = sizeof(registration);
        registration.enable_bit = 0;
        registration.enable_size = sizeof(enabled);
        registration.enable_addr = reinterpret_cast<std::uintptr_t>(&enabled);
        registration.name_args = reinterpret_cast<std::uintptr_t>(format);
        if (ioctl(file_, DIAG_IOCSREG, &registration) < 0)
            fail("DIAG_IOCSREG");
        index_ = registration.write_index;
        std::printf("registered \"%s\"\n", format);
    }

    void write(std::uint32_t number, std::uint32_t cents, const std::string& item) const {
        // The string follows its location: it is at offset 0 from the location's end.
        const std::uint32_t location = DYN_LOC(0, item.size() + 1);
        const iovec parts[] = {part(index_),
                               part(number),
                               part(cents),
                               part(location),
                               {const_cast<char*>(item.c_str()), item.size() + 1}};
        if (writev(file_, parts, std::size(parts)) < 0)
            fail("writev");
    }

private:
    static constexpr char format[] = "order_placed u32 number; u32 cents; __rel_loc char[] item";

    static iovec part(const std::uint32_t& value) {
        return {const_cast<std::uint32_t*>(&value), sizeof(value)};
    }

    int file_;
    std::uint32_t index_;
};

} // namespace

// Reads orders from standard input. Each line is the price in cents and the item.
int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const OrderPlaced order_placed;
    std::uint32_t number = 0;
    std::uint32_t cents = 0;
    std::string item;
    while (std::cin >> cents && std::getline(std::cin >> std::ws, item)) {
        ++number;
        const bool wanted = is_enabled();
        if (wanted)
            order_placed.write(number, cents, item);
        std::printf("order %u, %s: the bit is %d, %s\n", number, item.c_str(), wanted,
                    wanted ? "recorded" : "not recorded");
    }
}
