// SPDX-License-Identifier: GPL-2.0-only
#include "limited.hpp"

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace selftest {

namespace {

/// The child has the memory of its parent, which is cheap.
bool record_in_process(Registered& registered, const Payload& payload) {
    const pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): see above
    if (pid == 0)
        _exit(!registered.record(payload).ok()); // NOLINT(clang-analyzer-unix.Vfork): see above
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

} // namespace

std::string rule_text(const Event& event, const Instance& instance, const std::string& options,
                      const std::string& rest) {
    return event.name() + " instance=" + instance.name() + (options.empty() ? "" : " ") + options +
           rest;
}

unsigned record_in_processes(Registered& registered, const Payload& payload, unsigned processes) {
    unsigned failed = 0;
    while (processes--)
        failed += !record_in_process(registered, payload);
    return failed;
}

unsigned long suppressed(const std::string& comment) {
    const std::string label = "suppressed ";
    const auto at = comment.find(label);
    return at == std::string::npos ? 0 : std::strtoul(&comment[at + label.size()], nullptr, 10);
}

} // namespace selftest
