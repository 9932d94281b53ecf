// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/checks.hpp"
#include "diagnosis/container.hpp"
#include "diagnosis/facts.hpp"

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

constexpr char load_at_boot[] = "echo user_events >/etc/modules-load.d/user_events.conf";

/// The first line of what modinfo says about the installed module; empty if there is none.
std::string installed(std::string_view field) {
    // The PATH of users often lacks this directory.
    const std::string text = output_of(fmt::format("/sbin/modinfo -F {} user_events", field));
    return text.substr(0, text.find('\n'));
}

/// The file that has systemd load the module at boot, or an empty path.
std::filesystem::path file_that_loads() {
    for (const char* const folder : {"/etc", "/run", "/usr/local/lib", "/usr/lib"}) {
        std::error_code ignored;
        for (const auto& entry : std::filesystem::directory_iterator(
                 fmt::format("{}/modules-load.d", folder), ignored)) {
            std::ifstream file(entry.path());
            for (std::string line; std::getline(file, line);)
                if (line == "user_events" && entry.path().extension() == ".conf")
                    return entry.path();
        }
    }
    return {};
}

/// Whether the kernel has a key of this name, with which it accepts modules.
bool has_key(const std::string& signer) {
    // "0a1b... I------ 1 perm 1f030000 0 0 asymmetri NAME: 5d51...: X509.rsa 5d51... []"
    std::ifstream keys("/proc/keys");
    for (std::string line; std::getline(keys, line);)
        if (line.find(fmt::format(" asymmetri {}: ", signer)) != line.npos)
            return true;
    return false;
}

/// What only matters as long as the module is not loaded.
finding matters_for_loading(std::string found, std::string remedy) {
    return has_events() ? good(std::move(found)) : note(std::move(found), std::move(remedy));
}

finding loaded_version() {
    const std::string loaded = first_line("/sys/module/user_events/version");
    const std::string later = installed("version");
    const bool has_intree_text =
        first_line("/sys/module/user_events/parameters/intree_text") == "Y";
    if (later.empty() || later == loaded)
        return good(fmt::format("the module is loaded, version {}{}", loaded,
                                has_intree_text
                                    ? ", with the parameter intree_text: trace shows records "
                                      "as Linux's own user_events does"
                                    : ""));
    return note(
        fmt::format("version {} of the module is loaded, version {} is installed", loaded, later),
        "reboot; or end the programs that use it: rmmod user_events && modprobe user_events");
}

/// "integrity", for example; empty without lockdown.
std::string lockdown_mode() {
    // "none [integrity] confidentiality"
    const std::string modes = first_line("/sys/kernel/security/lockdown");
    const auto open = modes.find('['), close = modes.find(']');
    return open == modes.npos || close == modes.npos ? ""
                                                     : modes.substr(open + 1, close - open - 1);
}

bool signatures_are_enforced() {
    return first_line("/sys/module/module/parameters/sig_enforce") == "Y";
}

} // namespace

finding module() {
    switch (origin_of_events()) {
    case origin::built_in:
        return note("the kernel's own: without rules and marks",
                    "nothing has to be done: the module does not load on this kernel");
    case origin::loaded:
        return loaded_version();
    case origin::installed:
        if (engine())
            break;
        return bad("the module is installed, but not loaded",
                   fmt::format("modprobe user_events; at each boot: {}", load_at_boot));
    case origin::absent:
        break;
    }
    if (engine())
        return bad("the module is not loaded", "outside of the container: modprobe user_events");
    return bad(
        "the module is not installed for this kernel",
        "install the package user-events-dkms, or: make && make install-module; see Installing "
        "and loading in the administrator guide");
}

finding boot() {
    if (origin_of_events() == origin::built_in)
        return good("the kernel always has user_events");
    if (const auto file = file_that_loads(); !file.empty())
        return good(fmt::format("{} loads the module", file.string()));
    return {verdict::good, "the module is not loaded at boot",
            fmt::format("to switch that on: {}", load_at_boot)};
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
    const std::string mode = lockdown_mode();
    if (mode == "confidentiality")
        return bad("confidentiality: tracefs and perf are closed",
                   "boot without lockdown=confidentiality");
    if (mode == "integrity")
        return matters_for_loading("integrity: only signed modules load", signing);
    if (mode.empty() && engine())
        return note("/sys/kernel/security is not in this container",
                    "outside: cat /sys/kernel/security/lockdown");
    if (signatures_are_enforced())
        return matters_for_loading("none, but module.sig_enforce=1: only signed modules load",
                                   signing);
    return good("the kernel is not locked down");
}

finding signature() {
    if (installed("filename").empty())
        return good("no module is installed");
    const std::string signer = installed("signer");
    const bool trusted = !signer.empty() && has_key(signer);
    if (trusted)
        return good(fmt::format("the module is signed by {}, whose key the kernel has", signer));
    const std::string found =
        signer.empty() ? "the module is not signed"
                       : fmt::format("the module is signed by {}, whose key the kernel lacks or "
                                     "hides from this user",
                                     signer);
    if (lockdown_mode() != "integrity" && !signatures_are_enforced())
        return good(found + "; this kernel loads it nevertheless");
    // DKMS signs what it builds.
    return matters_for_loading(found, signer.empty() ? signing
                                                     : "mokutil --import /var/lib/dkms/mok.pub; "
                                                       "reboot, and choose Enroll MOK");
}

} // namespace tool::diagnosis
