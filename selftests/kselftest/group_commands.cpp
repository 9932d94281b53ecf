// SPDX-License-Identifier: GPL-2.0-only
// group_commands SYSTEM FILE DIRECTORY
//
// Serves DIRECTORY/file in the background. FILE is dynamic_events. Each command that is written to
// the file, "u:NAME FIELDS", is written to FILE as "u:SYSTEM/NAME FIELDS", with the same result.
#include "descriptor.hpp"
#include "fuse.hpp"
#include "outcome.hpp"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

using namespace selftest;

namespace {

/// Returns 0 or an errno.
int write_command(std::string_view command, const std::string& system, const std::string& file) {
    constexpr std::string_view prefix = "u:";
    if (!command.starts_with(prefix))
        return EINVAL;
    const std::string whole =
        std::string(prefix) + system + "/" + std::string(command.substr(prefix.size()));
    const Descriptor to = Descriptor::open(file, O_WRONLY | O_APPEND);
    const ssize_t written = write(to.number(), whole.data(), whole.size());
    if (written < 0)
        return errno;
    return static_cast<std::size_t>(written) == whole.size() ? 0 : EIO;
}

} // namespace

int main(int count, char* arguments[]) try {
    if (count != 4)
        return 2;
    const std::string system = arguments[1], file = arguments[2];
    FuseFile commands(arguments[3]);
    // The process that returns leaves the file mounted: it ends without destructors.
    if (daemon(0, 0) != 0)
        throw_errno("daemon");
    commands.serve([&](const FuseFile::Transfer& transfer) {
        const bool writes = transfer.kind == FuseFile::Transfer::Kind::writes;
        commands.complete(transfer, writes ? write_command(transfer.text, system, file) : 0);
    });
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "group_commands: %s\n", error.what());
    return 1;
}
