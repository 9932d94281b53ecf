// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <cstddef>
#include <sys/mman.h>
#include <unistd.h>

namespace selftest {

inline const std::size_t page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

/// Owns a memory mapping. It does not access the pages.
class Mapping {
public:
    /// Maps pages: by default private memory, else `descriptor`'s file. Throws std::system_error.
    explicit Mapping(std::size_t pages, int protection = PROT_READ | PROT_WRITE,
                     int flags = MAP_PRIVATE | MAP_ANONYMOUS, int descriptor = -1, off_t offset = 0)
        : size_(pages * page_size) {
        start_ = mmap(nullptr, size_, protection, flags, descriptor, offset);
        if (start_ == MAP_FAILED)
            throw_errno("mmap");
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { munmap(start_, size_); }

    std::size_t size() const { return size_; }

    /// Returns a pointer to the object `offset` bytes from the start.
    template <typename T = std::byte>
    T* at(std::size_t offset = 0) const {
        return reinterpret_cast<T*>(static_cast<std::byte*>(start_) + offset);
    }

    /// Changes the protection of all pages from number `page` on. Throws std::system_error.
    void protect(int protection, std::size_t page = 0) {
        if (mprotect(at(page * page_size), size_ - page * page_size, protection) != 0)
            throw_errno("mprotect");
    }

    /// Unmaps all pages early. The destructor unmaps the same range again: map nothing there.
    void unmap() { munmap(start_, size_); }

private:
    void* start_;
    std::size_t size_;
};

} // namespace selftest
