// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/mapped_pages.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

namespace tool::recording {

namespace {

/// How much may be read before the pages are given back.
constexpr std::uintptr_t enough = 1 << 20;

struct closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

/// /proc/self/maps, which has the mappings of the time when it is read.
std::unique_ptr<std::FILE, closer>& maps() {
    static std::unique_ptr<std::FILE, closer> file;
    return file;
}

/// Returns where the mapping of a file begins that has this address and cannot be written to; 0 if
/// it is other memory, as for compressed files.
std::uintptr_t file_mapping(std::uintptr_t at) {
    if (!maps())
        return 0;
    std::rewind(maps().get());
    char line[512];
    while (std::fgets(line, sizeof(line), maps().get())) {
        std::uintptr_t begin = 0, end = 0;
        unsigned long long inode = 0;
        char access[8] = "";
        if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %llu", &begin, &end, access,
                        &inode) == 4 &&
            at >= begin && at < end)
            return inode != 0 && access[1] == '-' ? begin : 0;
    }
    return 0;
}

} // namespace

void mapped_pages::prepare() {
    maps().reset(std::fopen("/proc/self/maps", "re"));
}

void mapped_pages::release(int cpu, const std::byte* at) {
    const auto [last, is_new] = released_.try_emplace(cpu, at);
    const auto here = reinterpret_cast<std::uintptr_t>(at);
    const auto before = reinterpret_cast<std::uintptr_t>(last->second);
    // The next part of the file may be mapped at a lower address.
    if (here >= before && here - before < enough)
        return;
    last->second = at;
    const std::uintptr_t begin = file_mapping(here);
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    if (begin && here - here % page > begin)
        // The pages can be read from the file again.
        madvise(reinterpret_cast<void*>(begin), here - here % page - begin, MADV_DONTNEED);
}

} // namespace tool::recording
