// SPDX-License-Identifier: GPL-2.0-only
//
// A program in a container, which finds user_events as the library does.
//
// client write 'NAME FIELDS' SIZE   writes records of SIZE bytes while the event is enabled, until
//                                   it is killed; the first four bytes are a number
// client keep 'NAME FIELDS'         makes a persistent event
// client delete NAME                deletes an event
//
// The last two print the name of the errno, or "done".
#include <user_events/user_events.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/user_events.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

namespace {

int write_for_ever(const char* format, std::size_t size) {
    static user_event event = USER_EVENT_INIT;
    if (const int error = user_event_register(&event, format)) {
        std::fprintf(stderr, "client: %s\n", strerrorname_np(error));
        return 1;
    }
    std::vector<char> payload(size < sizeof(std::uint32_t) ? sizeof(std::uint32_t) : size);
    for (std::uint32_t number = 1;; usleep(10'000)) {
        if (!user_event_enabled(&event))
            continue;
        std::memcpy(payload.data(), &number, sizeof(number));
        user_event_write(&event, payload.data(), payload.size());
        number++;
    }
}

int keep(int file, const char* format) {
    static std::uint32_t word;
    user_reg reg{};
    reg.size = sizeof(reg);
    reg.enable_size = sizeof(word);
    reg.flags = USER_EVENT_REG_PERSIST;
    reg.enable_addr = reinterpret_cast<std::uintptr_t>(&word);
    reg.name_args = reinterpret_cast<std::uintptr_t>(format);
    return ioctl(file, DIAG_IOCSREG, &reg);
}

} // namespace

int main(int argc, char* argv[]) {
    const std::string_view command = argc > 2 ? argv[1] : "";
    if (command == "write" && argc == 4)
        return write_for_ever(argv[2], std::stoul(argv[3]));
    if (command != "keep" && command != "delete")
        return 2;
    const int file = user_events_find_and_open();
    int error = file < 0 ? -file : 0;
    if (!error &&
        (command == "keep" ? keep(file, argv[2]) : ioctl(file, DIAG_IOCSDEL, argv[2])) < 0)
        error = errno;
    std::printf("%s\n", error ? strerrorname_np(error) : "done");
    return 0;
}
