// SPDX-License-Identifier: GPL-2.0-only
#include "diagnosis/checks.hpp"
#include "diagnosis/system.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sstream>

namespace tool::diagnosis {

namespace {

constexpr char signing[] =
    "sign the module, and enrol the key: mokutil --import mok.der; see Signing in the "
    "administrator guide";

/// What only matters as long as the module is not loaded.
finding matters_for_loading(std::string found, std::string remedy) {
    return has_events() ? good(std::move(found)) : note(std::move(found), std::move(remedy));
}

} // namespace

finding module() {
    switch (origin_of_events()) {
    case origin::built_in:
        return note("the kernel's own: without rules and marks",
                    "nothing has to be done: the module does not load on this kernel");
    case origin::loaded:
        return good("the module is loaded");
    case origin::installed:
        return bad("the module is installed, but not loaded",
                   "modprobe user_events; at each boot: echo user_events "
                   ">/etc/modules-load.d/user_events.conf");
    case origin::absent:
        break;
    }
    return bad("the module is not installed for this kernel",
               "make && insmod user_events.ko; see Installing and loading in the administrator "
               "guide");
}

finding headers() {
    const std::string folder = fmt::format("/lib/modules/{}/build", release());
    if (std::filesystem::exists(folder + "/Makefile"))
        return good("installed in " + folder);
    if (origin_of_events() != origin::absent)
        return good("not installed, but the module need not be built");
    return bad(
        "not installed, so the module cannot be built",
        fmt::format("apt install linux-headers-{0}, or dnf install kernel-devel-{0}", release()));
}

finding dkms() {
    // "user_events/1.0.0, 6.1.0-18-amd64, x86_64: installed"; "user_events/1.0.0: added"
    std::istringstream lines(output_of("dkms status user_events"));
    std::string name;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("user_events"))
            continue;
        if (line.find(release()) != line.npos && line.ends_with(": installed"))
            return good(line);
        name = line.substr(0, line.find_first_of(",:"));
    }
    if (name.empty())
        return good("does not build the module");
    return matters_for_loading(fmt::format("{} is not installed for this kernel", name),
                               fmt::format("dkms install {} -k {}", name, release()));
}

finding secure_boot() {
    if (!std::filesystem::exists("/sys/firmware/efi"))
        return good("this machine was not booted with EFI");
    // Four bytes of attributes, then the value.
    std::ifstream file("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                       std::ios::binary);
    const std::string variable{std::istreambuf_iterator<char>(file), {}};
    if (variable.size() != 5)
        return note("the firmware's variable cannot be read", "mokutil --sb-state");
    if (variable[4] == 0)
        return good("disabled");
    return matters_for_loading("enabled: the kernel may load only signed modules", signing);
}

finding lockdown() {
    // "none [integrity] confidentiality"
    std::string mode = first_line("/sys/kernel/security/lockdown");
    if (const auto open = mode.find('['), close = mode.find(']');
        open != mode.npos && close != mode.npos)
        mode = mode.substr(open + 1, close - open - 1);
    if (mode == "confidentiality")
        return bad("confidentiality: tracefs and perf are closed",
                   "boot without lockdown=confidentiality");
    if (mode == "integrity")
        return matters_for_loading("integrity: only signed modules load", signing);
    const std::string enforced = first_line("/sys/module/module/parameters/sig_enforce");
    if (enforced == "Y")
        return matters_for_loading("none, but module.sig_enforce=1: only signed modules load",
                                   signing);
    return good("the kernel is not locked down");
}

} // namespace tool::diagnosis
