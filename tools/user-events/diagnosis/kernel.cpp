// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/checks.hpp"
#include "diagnosis/facts.hpp"
#include "text/table.hpp"

#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <utility>
#include <zlib.h>

namespace tool::diagnosis {

namespace {

/// Those that Kbuild wants; tools/check/versions compares the two lists.
constexpr const char* needed_options[] = {
    "MODULES",       "KALLSYMS",       "KALLSYMS_ALL", "KPROBES",
    "EVENT_TRACING", "DYNAMIC_EVENTS", "PERF_EVENTS",  "DYNAMIC_FTRACE_WITH_ARGS",
    "SYSCTL",        "SLUB",           "UPROBES",
};

struct configuration {
    std::string path;
    /// Without CONFIG_.
    std::set<std::string> enabled;
};

/// What the kernel was built with; an empty path if that is not known. zlib also reads files that
/// are not compressed.
configuration read_configuration() {
    const std::string name = release();
    for (const std::string& path :
         {std::string("/proc/config.gz"), "/boot/config-" + name,
          "/lib/modules/" + name + "/config", "/lib/modules/" + name + "/build/.config"}) {
        const std::unique_ptr<gzFile_s, decltype(&gzclose)> file(gzopen(path.c_str(), "re"),
                                                                 gzclose);
        if (!file)
            continue;
        configuration result{path, {}};
        std::array<char, 4096> line{};
        while (gzgets(file.get(), line.data(), line.size()))
            if (const std::string_view text(line.data());
                text.starts_with("CONFIG_") && text.ends_with("=y\n"))
                result.enabled.emplace(text.substr(7, text.size() - 10));
        return result;
    }
    return {};
}

/// Major and minor.
using version = std::pair<int, int>;

version running_version() {
    version running{0, 0};
    std::sscanf(release().c_str(), "%d.%d", &running.first, &running.second);
    return running;
}

} // namespace

finding kernel_version() {
    const version running = running_version();
    const std::string name = release();
    if (has_events())
        return good(name);
    if (running >= version{6, 6} && running <= version{6, 10})
        return bad(name + ": the module refuses Linux 6.6 to 6.10, which use freed memory",
                   "boot Linux 6.11 or later, or 6.5 or earlier; see Kernels in the administrator "
                   "guide");
    if (running >= version{7, 4})
        return note(name + ": the module was not tested on Linux 7.4 and later",
                    "see Kernels in the administrator guide for what is promised");
    return good(name);
}

finding kernel_options() {
    const configuration kernel = read_configuration();
    if (kernel.path.empty())
        return has_events()
                   ? good("not known, but the kernel has user_events")
                   : note("neither /proc/config.gz nor /boot/config-" + release() + " can be read",
                          "`make` checks them, too");
    if (kernel.enabled.count("USER_EVENTS"))
        return good("CONFIG_USER_EVENTS=y: the kernel needs no module");
    if (kernel.enabled.count("PREEMPT_RT") && running_version() < version{7, 2})
        return bad(kernel.path +
                       " has CONFIG_PREEMPT_RT=y, with which the module needs Linux 7.2 or later",
                   "boot such a kernel, or one without that option");
    std::vector<std::string> missing;
    for (const char* const option : needed_options)
        if (!kernel.enabled.count(option))
            missing.push_back(fmt::format("CONFIG_{}=y", option));
    if (missing.empty())
        return good(kernel.path + " has all that the module needs");
    return bad(fmt::format("{} lacks {}", kernel.path, text::joined(missing)),
               "boot a kernel with these options: see Kernels in the administrator guide");
}

/// Also in kernel/interfaces/sysctl.c.
finding sysctls() {
    if (first_line("/proc/sys/kernel/ftrace_enabled") == "0")
        return bad("kernel.ftrace_enabled is 0: the module cannot be loaded",
                   "sysctl kernel.ftrace_enabled=1");
    std::string found;
    for (const char* const name : {"ftrace_enabled", "user_events_max", "user_events_max_per_user",
                                   "user_events_registrations_max_per_user"})
        if (const auto value = first_line(std::string("/proc/sys/kernel/") + name); !value.empty())
            found += fmt::format("{}{} is {}", found.empty() ? "kernel." : ", ", name, value);
    return good(found.empty() ? "none for events" : found);
}

} // namespace tool::diagnosis
