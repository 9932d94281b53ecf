// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/sandbox.hpp"

#include "text/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <grp.h>
#include <limits>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tool::recording {

namespace {

/// The kernel's overflow user and group, which own nothing.
constexpr unsigned nobody = 65534;

void limit(decltype(RLIMIT_AS) what, std::uint64_t most) {
    rlimit now{};
    if (getrlimit(what, &now) != 0)
        return;
    const auto wanted =
        static_cast<rlim_t>(std::min<std::uint64_t>(most, std::numeric_limits<rlim_t>::max()));
    now.rlim_max = std::min(now.rlim_max, wanted);
    now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
    setrlimit(what, &now);
}

/// Of the bounding set. Needs CAP_SETPCAP.
void drop_bounding_set() {
    for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;)
        capability++;
}

void drop_capabilities() {
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
    syscall(SYS_capset, &header, none);
}

bool is_root() {
    return getuid() == 0 || geteuid() == 0;
}

/// Returns false, with errno, if a container's root may not do this.
bool become_nobody() {
    return setgroups(0, nullptr) == 0 && setresgid(nobody, nobody, nobody) == 0 &&
           setresuid(nobody, nobody, nobody) == 0;
}

} // namespace

void enter_sandbox(const allowances& allowed) {
    // A change of the user clears it.
    int death_signal = 0;
    prctl(PR_GET_PDEATHSIG, &death_signal);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_AS, allowed.memory);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    drop_bounding_set();
    // Root can open the directories of the allowances; the new user may be unable to.
    confine_files(allowed);
    if (is_root() && !become_nobody())
        text::warn(fmt::format("root cannot become another user to read the recording: {}",
                               std::strerror(errno)),
                   "the recording is read as root, without root's capabilities; where possible, "
                   "read recordings of strangers as another user");
    drop_capabilities();
    // Other processes of the user cannot trace this one, and there is no core file.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (death_signal)
        prctl(PR_SET_PDEATHSIG, death_signal);
    // Last, because it refuses what was done above.
    filter_system_calls(allowed);
}

} // namespace tool::recording
