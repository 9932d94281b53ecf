// SPDX-License-Identifier: GPL-2.0-only
#include "group.hpp"

#include "deadline.hpp"
#include "text_file.hpp"

#include <cerrno>
#include <unistd.h>

namespace selftest {

Outcome change_group(const std::string& text) {
    return write_line(tracing_file("user_events_groups"), text);
}

std::string group_line(const std::string& name) {
    for (const std::string& line : lines_of(read_text(tracing_file("user_events_groups"))))
        if (line.starts_with(name + " "))
            return line;
    return "";
}

std::string group_device(const std::string& name) {
    return "/dev/user_events/" + name;
}

DataFile open_group(const std::string& name, int flags) {
    return DataFile(Descriptor::open(group_device(name), flags));
}

std::string group_status(const std::string& name) {
    return read_text(group_device(name));
}

Group::Group(const std::string& options, std::string name) : name_(std::move(name)) {
    expect(change_group(name_ + options), "group " + name_ + options);
}

Group::~Group() {
    eventually([this] { return remove() != fails(EBUSY); });
}

} // namespace selftest
