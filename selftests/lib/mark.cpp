// SPDX-License-Identifier: GPL-2.0-only
#include "mark.hpp"

#include "user_events.hpp"

#include <sys/ioctl.h>

namespace selftest {

user_mark mark_of(std::uint32_t type, std::string_view data) {
    user_mark mark{};
    mark.size = sizeof(mark);
    mark.type = type;
    mark.data = address_of(data.data());
    mark.data_size = static_cast<std::uint32_t>(data.size());
    return mark;
}

Outcome MarkFile::write(std::string_view text) {
    return Outcome::of(::write(file_.number(), text.data(), text.size()));
}

Outcome MarkFile::mark(std::uint32_t type, std::string_view data) {
    return mark(mark_of(type, data));
}

Outcome MarkFile::id(std::uint32_t type) {
    return Outcome::of(ioctl(file_.number(), USER_MARK_ID, static_cast<unsigned long>(type)));
}

Outcome MarkFile::control(unsigned long request, const void* argument) {
    return Outcome::of(ioctl(file_.number(), request, argument));
}

} // namespace selftest
