// SPDX-License-Identifier: GPL-2.0-only
#include "userfault.hpp"

#include <cstdint>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

namespace selftest {

namespace {

uffdio_range range_of(const Mapping& memory) {
    return {reinterpret_cast<std::uintptr_t>(memory.at()), memory.size()};
}

template <typename Argument>
void control(const Descriptor& file, unsigned long request, Argument argument, const char* what) {
    if (ioctl(file.number(), request, &argument) != 0)
        throw_errno(what);
}

Descriptor open_userfault(std::uint64_t features) {
    Descriptor file(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
    if (file.number() < 0)
        throw_errno("userfaultfd");
    control(file, UFFDIO_API, uffdio_api{UFFD_API, features, 0}, "UFFDIO_API");
    return file;
}

void protect(const Descriptor& file, const Mapping& memory, std::uint64_t mode) {
    control(file, UFFDIO_WRITEPROTECT, uffdio_writeprotect{range_of(memory), mode},
            "UFFDIO_WRITEPROTECT");
}

} // namespace

Userfault::Userfault(const Mapping& memory, Kind kind)
    : memory_(memory), kind_(kind),
      file_(open_userfault(kind == Kind::missing ? 0 : UFFD_FEATURE_PAGEFAULT_FLAG_WP)) {
    const bool missing = kind == Kind::missing;
    const std::uint64_t mode = missing ? UFFDIO_REGISTER_MODE_MISSING : UFFDIO_REGISTER_MODE_WP;
    control(file_, UFFDIO_REGISTER, uffdio_register{range_of(memory), mode, 0}, "UFFDIO_REGISTER");
    // Not before the registration: the kernel could then write to the page and make it present.
    if (!missing)
        protect(file_, memory, UFFDIO_WRITEPROTECT_MODE_WP);
    else if (madvise(memory.at(), memory.size(), MADV_DONTNEED) != 0)
        throw_errno("MADV_DONTNEED");
}

bool Userfault::has_waiter(const Descriptor& file) {
    pollfd waiting{file.number(), POLLIN, 0};
    return poll(&waiting, 1, 0) == 1 && waiting.revents == POLLIN;
}

void Userfault::wake(const Descriptor& file, const Mapping& memory) {
    control(file, UFFDIO_WAKE, range_of(memory), "UFFDIO_WAKE");
}

void Userfault::answer() {
    if (kind_ == Kind::missing)
        control(file_, UFFDIO_ZEROPAGE, uffdio_zeropage{range_of(memory_), 0, 0},
                "UFFDIO_ZEROPAGE");
    else
        protect(file_, memory_, 0);
}

ForkStop::ForkStop() : file_(open_userfault(UFFD_FEATURE_EVENT_FORK)) {
    control(file_, UFFDIO_REGISTER,
            uffdio_register{range_of(memory_), UFFDIO_REGISTER_MODE_MISSING, 0}, "UFFDIO_REGISTER");
}

void ForkStop::resume() {
    uffd_msg message;
    if (read(file_.number(), &message, sizeof(message)) != sizeof(message) ||
        message.event != UFFD_EVENT_FORK)
        throw_errno("read the event of a fork");
    // The child's userfaultfd. The child does not need it.
    ::close(static_cast<int>(message.arg.fork.ufd));
}

} // namespace selftest
