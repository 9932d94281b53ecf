// SPDX-License-Identifier: GPL-2.0-only
#include "loop_device.hpp"

#include "kernel_module.hpp"
#include "outcome.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

namespace selftest {

namespace {

std::string free_loop_device() {
    ensure_kernel_module("/dev/loop-control", "loop");
    const int number =
        ioctl(Descriptor::open("/dev/loop-control", O_RDWR).number(), LOOP_CTL_GET_FREE);
    if (number < 0)
        throw_errno("LOOP_CTL_GET_FREE");
    return "/dev/loop" + std::to_string(number);
}

} // namespace

LoopDevice::LoopDevice(const Descriptor& file)
    : path_(free_loop_device()), device_(Descriptor::open(path_, O_RDWR)) {
    if (ioctl(device_.number(), LOOP_SET_FD, file.number()) != 0)
        throw_errno("LOOP_SET_FD");
}

LoopDevice::~LoopDevice() {
    ioctl(device_.number(), LOOP_CLR_FD, 0);
}

} // namespace selftest
