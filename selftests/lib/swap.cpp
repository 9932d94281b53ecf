// SPDX-License-Identifier: GPL-2.0-only
#include "swap.hpp"

#include "mapping.hpp"

#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/swap.h>

namespace selftest {

namespace {

/// Creates a memory file that is a swap area. Its first page is a header (include/linux/swap.h of
/// the kernel).
Descriptor make_swap_area(std::size_t pages) {
    static constexpr char magic[] = "SWAPSPACE2";
    constexpr std::size_t length = sizeof(magic) - 1;
    Descriptor file(memfd_create("swap", MFD_CLOEXEC));
    // After 1024 bytes for a boot sector: the version, and the number of the last page.
    const std::uint32_t info[] = {1, static_cast<std::uint32_t>(pages - 1)};
    if (ftruncate(file.number(), static_cast<off_t>(pages * page_size)) != 0 ||
        pwrite(file.number(), info, sizeof(info), 1024) != sizeof(info) ||
        pwrite(file.number(), magic, length, static_cast<off_t>(page_size - length)) != length)
        throw_errno("create a swap area");
    return file;
}

} // namespace

SwapSpace::SwapSpace(std::size_t pages) : device_(make_swap_area(pages)) {
    if (swapon(device_.path().c_str(), 0) != 0)
        throw_errno("swapon " + device_.path());
}

SwapSpace::~SwapSpace() {
    swapoff(device_.path().c_str());
}

} // namespace selftest
