// SPDX-License-Identifier: GPL-2.0-only
#include "swap.hpp"

#include "kernel_module.hpp"
#include "mapping.hpp"

#include <cstdint>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/swap.h>

namespace selftest {

namespace {

/// Makes a file a swap area: its first page is a header (include/linux/swap.h of the kernel).
void make_swap_area(const Descriptor& file, std::size_t pages) {
    static constexpr char magic[] = "SWAPSPACE2";
    constexpr std::size_t length = sizeof(magic) - 1;
    // Behind room for a boot sector: the version, and the number of the last page.
    const std::uint32_t info[] = {1, static_cast<std::uint32_t>(pages - 1)};
    if (ftruncate(file.number(), static_cast<off_t>(pages * page_size)) != 0 ||
        pwrite(file.number(), info, sizeof(info), 1024) != sizeof(info) ||
        pwrite(file.number(), magic, length, static_cast<off_t>(page_size - length)) != length)
        throw_errno("a swap area");
}

std::string free_loop_device() {
    need_kernel_module("/dev/loop-control", "loop");
    const int number =
        ioctl(Descriptor::open("/dev/loop-control", O_RDWR).number(), LOOP_CTL_GET_FREE);
    if (number < 0)
        throw_errno("LOOP_CTL_GET_FREE");
    return "/dev/loop" + std::to_string(number);
}

} // namespace

SwapSpace::SwapSpace(std::size_t pages)
    : file_(memfd_create("swap", MFD_CLOEXEC)), path_(free_loop_device()),
      device_(Descriptor::open(path_, O_RDWR)) {
    make_swap_area(file_, pages);
    if (ioctl(device_.number(), LOOP_SET_FD, file_.number()) != 0)
        throw_errno("LOOP_SET_FD");
    if (swapon(path_.c_str(), 0) != 0) {
        ioctl(device_.number(), LOOP_CLR_FD, 0);
        throw_errno("swapon " + path_);
    }
}

SwapSpace::~SwapSpace() {
    swapoff(path_.c_str());
    ioctl(device_.number(), LOOP_CLR_FD, 0);
}

} // namespace selftest
