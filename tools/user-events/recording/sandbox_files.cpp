// SPDX-License-Identifier: GPL-2.0-or-later
// The part of the sandbox that Landlock enforces: which files can be opened.
#include "recording/sandbox.hpp"

#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tool::recording {

namespace {

// Those after Linux 6.1, whose header the oldest supported Debian has.
constexpr std::uint64_t may_truncate = 1 << 14;
constexpr std::uint64_t may_control_device = 1 << 15;
constexpr std::uint64_t may_bind_tcp = 1 << 0;
constexpr std::uint64_t may_connect_tcp = 1 << 1;
constexpr std::uint64_t no_abstract_socket = 1 << 0;
constexpr std::uint64_t no_signal = 1 << 1;

constexpr std::uint64_t may_read = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t may_make_files =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG;

/// What a connection to another machine takes: libraries, names of hosts, certificates.
constexpr const char* network_files[] = {
    "/etc",
    "/usr",
    "/lib",
    "/lib64",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
};
/// Variables of OpenSSL that name other certificates.
constexpr const char* network_variables[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"};

/// landlock_ruleset_attr of ABI 6. The kernel is told how much of it the kernel knows.
struct ruleset_attributes {
    std::uint64_t files;
    std::uint64_t network;
    std::uint64_t scoped;
};

/// Everything that this version of the ABI can refuse.
std::uint64_t file_accesses(long version) {
    std::uint64_t result = LANDLOCK_ACCESS_FS_REFER - 1;
    result |= version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
    result |= version >= 3 ? may_truncate : 0;
    result |= version >= 5 ? may_control_device : 0;
    return result;
}

std::size_t size_of_attributes(long version) {
    return sizeof(std::uint64_t) * (version >= 6 ? 3 : version >= 4 ? 2 : 1);
}

class ruleset {
public:
    ruleset(long version, bool network) : files_(file_accesses(version)) {
        const ruleset_attributes attributes{files_,
                                            network ? may_bind_tcp : may_bind_tcp | may_connect_tcp,
                                            no_abstract_socket | no_signal};
        descriptor_ = static_cast<int>(
            syscall(SYS_landlock_create_ruleset, &attributes, size_of_attributes(version), 0));
    }
    ruleset(const ruleset&) = delete;
    ruleset& operator=(const ruleset&) = delete;
    ~ruleset() {
        if (descriptor_ >= 0)
            close(descriptor_);
    }

    /// Below this path. Nothing happens if there is none.
    void allow(const char* path, std::uint64_t accesses) {
        const int at = open(path, O_PATH | O_CLOEXEC);
        struct stat found {};
        if (at < 0 || fstat(at, &found) != 0)
            return;
        // Others make no sense for a file, and the kernel refuses them.
        if (!S_ISDIR(found.st_mode))
            accesses &= LANDLOCK_ACCESS_FS_READ_FILE;
        landlock_path_beneath_attr rule{};
        rule.allowed_access = accesses & files_;
        rule.parent_fd = at;
        syscall(SYS_landlock_add_rule, descriptor_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
        close(at);
    }

    bool enforce() { return syscall(SYS_landlock_restrict_self, descriptor_, 0) == 0; }

private:
    std::uint64_t files_;
    int descriptor_ = -1;
};

} // namespace

bool confine_files(const allowances& allowed) {
    const long version =
        syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1)
        return false;
    ruleset rules(version, allowed.network);
    for (const auto& path : allowed.directories)
        rules.allow(path.c_str(), may_make_files);
    if (allowed.network) {
        for (const char* const path : network_files)
            rules.allow(path, may_read);
        for (const char* const name : network_variables)
            if (const char* const path = std::getenv(name))
                rules.allow(path, may_read);
    }
    return rules.enforce();
}

} // namespace tool::recording
