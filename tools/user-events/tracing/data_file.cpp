// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/data_file.hpp"

#include "text/errors.hpp"
#include "tracing/tracefs.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <user_events/file.h>

#include "../../include/uapi/linux/user_events.h"

namespace tool::tracing {

namespace {

/// Also meaning_of() in the library's errors.hpp.
std::string registration_remedy(int error) {
    switch (error) {
    case EINVAL:
        return "an event is `NAME TYPE FIELD; TYPE FIELD`, such as 'order u32 number; char[16] "
               "item'; the user guide lists the types";
    case EADDRINUSE:
        return "it exists with other fields: `user-events list` shows them; `user-events delete` "
               "removes it";
    case E2BIG:
    case ENAMETOOLONG:
        return "a name and its fields may have 511 characters";
    case EMFILE:
        return "there are too many events or registrations: raise "
               "/proc/sys/kernel/user_events_max, user_events_max_per_user or "
               "user_events_registrations_max_per_user";
    case EPERM:
        return "an event that stays without a program needs CAP_PERFMON: run it as root";
    default:
        return {};
    }
}

} // namespace

data_file::data_file() : file_(user_events_find_and_open()) {
    if (file_ == -ECANCELED)
        throw text::failure("USER_EVENTS=off is in the environment", "unset USER_EVENTS");
    if (file_ == -EACCES)
        throw text::failure("this user may not open user_events_data or the device",
                            text::remedy_for(EACCES, "/dev/user_events/default"));
    if (file_ < 0)
        throw text::file_failure(-file_, "open", "user_events_data");
}

data_file::~data_file() {
    if (added_)
        unregister();
    close(file_);
}

std::uint32_t data_file::add(const std::string& command, bool persistent) {
    user_reg to{};
    to.size = sizeof(to);
    to.enable_size = sizeof(word_);
    to.enable_addr = reinterpret_cast<std::uintptr_t>(&word_);
    to.name_args = reinterpret_cast<std::uintptr_t>(command.c_str());
    to.flags = persistent ? USER_EVENT_REG_PERSIST : 0;
    if (ioctl(file_, DIAG_IOCSREG, &to) != 0)
        throw text::failure(
            fmt::format("cannot register \"{}\": {}", command, std::strerror(errno)),
            registration_remedy(errno));
    added_ = true;
    return to.write_index;
}

bool data_file::unregister() noexcept {
    user_unreg from{};
    from.size = sizeof(from);
    from.disable_addr = reinterpret_cast<std::uintptr_t>(&word_);
    added_ = false;
    return ioctl(file_, DIAG_IOCSUNREG, &from) == 0;
}

void data_file::write(std::uint32_t index, std::span<const std::byte> payload) {
    if (!is_enabled())
        return;
    const iovec parts[] = {{&index, sizeof(index)},
                           {const_cast<std::byte*>(payload.data()), payload.size()}};
    // EBADF: it was disabled in the meantime.
    if (writev(file_, parts, 2) < 0 && errno != EBADF)
        throw text::failure(fmt::format("cannot write the event: {}", std::strerror(errno)),
                            errno == E2BIG || errno == ENOSPC ? "make its text shorter" : "");
}

int try_delete(const std::string& name) {
    // Not the file of the environment, which may be that of another group.
    const int file = open(instance::top().path("user_events_data").c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0)
        return errno;
    const int error = ioctl(file, DIAG_IOCSDEL, name.c_str()) != 0 ? errno : 0;
    close(file);
    return error;
}

} // namespace tool::tracing
