// SPDX-License-Identifier: GPL-2.0-only
#include "io_uring.hpp"

#include <atomic>
#include <sys/syscall.h>

namespace selftest {

namespace {

/// Returns a counter that is shared with the kernel.
std::atomic_ref<unsigned> counter(const Mapping& ring, unsigned offset) {
    return std::atomic_ref(*ring.at<unsigned>(offset));
}

/// Maps one of the three areas of the ring.
void map(std::optional<Mapping>& part, const Descriptor& ring, off_t offset, std::size_t size) {
    part.emplace((size + page_size - 1) / page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                 ring.number(), offset);
}

} // namespace

IoUring::IoUring()
    : ring_(static_cast<int>(
          expect(Outcome::of(syscall(SYS_io_uring_setup, 1, &parameters_)), "io_uring_setup"))) {
    map(submissions_, ring_, IORING_OFF_SQ_RING, parameters_.sq_off.array + sizeof(unsigned));
    map(completions_, ring_, IORING_OFF_CQ_RING,
        parameters_.cq_off.cqes + parameters_.cq_entries * sizeof(io_uring_cqe));
    map(entries_, ring_, IORING_OFF_SQES, sizeof(io_uring_sqe));
}

void IoUring::register_memory(const Mapping& memory) {
    const iovec whole{memory.at(), memory.size()};
    expect(Outcome::of(
               syscall(SYS_io_uring_register, ring_.number(), IORING_REGISTER_BUFFERS, &whole, 1)),
           "IORING_REGISTER_BUFFERS");
}

Outcome IoUring::run(unsigned char operation, int file, const void* data, std::size_t size) {
    io_uring_sqe& entry = *entries_->at<io_uring_sqe>();
    entry = {};
    entry.opcode = operation;
    entry.fd = file;
    entry.off = static_cast<__u64>(-1);
    entry.addr = reinterpret_cast<__u64>(data);
    entry.len = static_cast<__u32>(size);
    *submissions_->at<unsigned>(parameters_.sq_off.array) = 0;
    counter(*submissions_, parameters_.sq_off.tail)++;
    expect(Outcome::of(syscall(SYS_io_uring_enter, ring_.number(), 1, 1, IORING_ENTER_GETEVENTS,
                               nullptr, 0)),
           "io_uring_enter");

    const unsigned head = counter(*completions_, parameters_.cq_off.head)++;
    const unsigned mask = *completions_->at<unsigned>(parameters_.cq_off.ring_mask);
    const int result = completions_->at<io_uring_cqe>(parameters_.cq_off.cqes)[head & mask].res;
    return result < 0 ? fails(-result) : succeeds(result);
}

Outcome IoUring::write(int file, const void* data, std::size_t size) {
    return run(IORING_OP_WRITE, file, data, size);
}

Outcome IoUring::writev(int file, const iovec* parts, unsigned count) {
    return run(IORING_OP_WRITEV, file, parts, count);
}

Outcome IoUring::write_fixed(int file, const void* data, std::size_t size) {
    return run(IORING_OP_WRITE_FIXED, file, data, size);
}

} // namespace selftest
