// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/facts.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <sys/utsname.h>

namespace tool::diagnosis {

namespace {

/// modprobe finds a module if it is in this file.
bool is_installed() {
    std::ifstream modules(fmt::format("/lib/modules/{}/modules.dep", release()));
    for (std::string line; std::getline(modules, line);)
        if (const auto name = line.substr(0, line.find(':'));
            name.find("/user_events.ko") != name.npos)
            return true;
    return false;
}

} // namespace

std::string release() {
    utsname system{};
    uname(&system);
    return system.release;
}

origin origin_of_events() {
    if (std::filesystem::exists("/sys/module/user_events"))
        return origin::loaded;
    // Everybody may read it, even where tracefs is not mounted.
    if (std::filesystem::exists("/proc/sys/kernel/user_events_max"))
        return origin::built_in;
    return is_installed() ? origin::installed : origin::absent;
}

std::string output_of(const std::string& command) {
    struct close_pipe {
        void operator()(FILE* pipe) const { pclose(pipe); }
    };
    const std::unique_ptr<FILE, close_pipe> pipe(popen((command + " 2>/dev/null").c_str(), "re"));
    std::string text;
    std::array<char, 256> part{};
    while (pipe && std::fgets(part.data(), part.size(), pipe.get()))
        text += part.data();
    return text;
}

} // namespace tool::diagnosis
