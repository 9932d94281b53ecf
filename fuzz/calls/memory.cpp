// SPDX-License-Identifier: GPL-2.0-only
#include "memory.hpp"

#include <cstring>
#include <sstream>
#include <sys/mman.h>
#include <sys/uio.h>

using namespace selftest;

namespace calls {

namespace {

constexpr std::uint64_t start = 0x10000000;
constexpr int readable = PROT_READ, writable = PROT_READ | PROT_WRITE;
/// The initial value of each byte: some bits next to a registered one are set.
constexpr int pattern = 0x50;

Descriptor memory_file(std::size_t size) {
    Descriptor file(memfd_create("words", MFD_CLOEXEC));
    if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(size)) != 0)
        throw_errno("memfd");
    return file;
}

} // namespace

Memory::Memory() : file_(memory_file(pages * page_size)) {}

std::uint8_t* Memory::page(unsigned number) const {
    return reinterpret_cast<std::uint8_t*>(start + number * page_size);
}

int Memory::map_page(unsigned number, bool of_file) {
    const int flags = MAP_FIXED | (of_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
    const void* mapped =
        mmap(page(number), page_size, writable, flags, of_file ? file_.number() : -1,
             of_file ? static_cast<off_t>(number * page_size) : 0);
    of_file_.at(number) = of_file;
    return mapped == MAP_FAILED ? -1 : 0;
}

void Memory::reset() {
    bits_.clear();
    for (unsigned number = 0; number < pages; number++) {
        if (map_page(number, number == pages - 1) != 0)
            throw_errno("map the words");
        std::memset(page(number), pattern, 64);
    }
    mprotect(page(4), page_size, readable);
}

std::uint64_t Memory::address(unsigned code) const {
    const std::uint64_t in_page = code % 16 * std::uint64_t{4};
    switch (const unsigned where = code / 16; where) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        return start + where * page_size + in_page;
    case 6: // the end of a page
        return start + page_size - 64 + in_page;
    case 7: // not mapped
        return start + pages * page_size + in_page;
    case 8: // not a multiple of 4
        return start + code % 16;
    default: {
        static constexpr std::uint64_t special[] = {
            0,           4,         (1ULL << 47U) - 4096 - 8, (1ULL << 47U) - 4096, 1ULL << 47U,
            1ULL << 63U, ~0ULL - 7, 0xffffffff81000000,       0x100000000 + start};
        return special[code % std::size(special)];
    }
    }
}

int Memory::change(unsigned number, unsigned how, unsigned other) {
    number %= pages;
    other %= pages;
    void* const at = page(number);
    switch (how % 12) {
    case 0:
        return munmap(at, page_size);
    case 1:
        return map_page(number, false);
    case 2:
        return map_page(number, true);
    case 3:
        return mprotect(at, page_size, PROT_NONE);
    case 4:
        return mprotect(at, page_size, readable);
    case 5:
        return mprotect(at, page_size, writable);
    case 6:
    case 7:
        if (mremap(at, page_size, page_size, MREMAP_MAYMOVE | MREMAP_FIXED, page(other)) ==
            MAP_FAILED)
            return -1;
        of_file_.at(other) = of_file_.at(number);
        return 0;
    case 8:
        return madvise(at, page_size, MADV_DONTNEED);
    case 9:
        return madvise(at, page_size, MADV_DONTFORK);
    case 10:
        return madvise(at, page_size, MADV_WIPEONFORK);
    default:
        return madvise(at, page_size, MADV_PAGEOUT);
    }
}

Memory::Bit Memory::nth_bit(unsigned n) const {
    auto bit = bits_.begin();
    std::advance(bit, n % bits_.size());
    return bit->first;
}

bool Memory::is_of_file(const Bit& bit) const {
    const std::uint64_t number = (bit.first - start) / page_size;
    return number < pages && of_file_.at(number);
}

std::optional<bool> Memory::value(const Bit& bit) {
    std::uint8_t byte = 0;
    iovec to{&byte, 1};
    iovec from{reinterpret_cast<void*>(bit.first + bit.second / 8), 1};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
        return std::nullopt;
    return byte >> (bit.second % 8) & 1;
}

void Memory::make_writable() {
    for (unsigned number = 0; number < pages; number++)
        if (mprotect(page(number), page_size, writable) != 0)
            map_page(number, false);
}

Memory::Contents Memory::contents() const {
    return {page(0), page(pages)};
}

std::string Memory::wrong(const Contents& before, bool state) const {
    const Contents now = contents();
    Contents may_change(now.size());
    std::ostringstream what;
    for (const auto& [bit, size] : bits_) {
        const std::size_t at = bit.first - start + bit.second / 8;
        const auto mask = static_cast<std::uint8_t>(1U << bit.second % 8);
        if (((now[at] & mask) != 0) != state)
            what << " bit +" << std::hex << bit.first - start << std::dec << "." << bit.second
                 << " is not " << state << ";";
        if (!of_file_.at(at / page_size))
            may_change[at] |= mask;
        for (unsigned other = 0; other < pages; other++)
            if (of_file_.at(at / page_size) && of_file_.at(other))
                may_change[other * page_size + at % page_size] |= mask;
    }
    for (std::size_t at = 0; at < now.size(); at++)
        if ((now[at] ^ before[at]) & ~may_change[at] && !(is_child_ && of_file_.at(at / page_size)))
            what << " the byte at +" << std::hex << at << " was " << int{before[at]} << " and is "
                 << int{now[at]} << std::dec << ";";
    return what.str();
}

Guarded::Guarded(std::size_t pages)
    : size_(pages * page_size),
      memory_(pages + 1, writable, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT) {
    memory_.protect(PROT_NONE, pages);
}

std::uint64_t Guarded::put(const void* bytes, std::size_t size, std::size_t zeros) {
    std::byte* const at = memory_.at(size_ - size - zeros);
    std::memcpy(at, bytes, size);
    std::memset(at + size, 0, zeros);
    return reinterpret_cast<std::uint64_t>(at);
}

void Guarded::protect(int protection) {
    mprotect(memory_.at(), size_, protection);
}

} // namespace calls
