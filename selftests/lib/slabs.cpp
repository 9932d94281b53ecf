// SPDX-License-Identifier: GPL-2.0-only
#include "slabs.hpp"

#include "text_file.hpp"

#include <filesystem>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace selftest {

void flush_slabs() {
    for (const auto& cache : std::filesystem::directory_iterator("/sys/kernel/slab")) {
        const Outcome shrunk = write_text(cache.path().string() + "/shrink", "1");
        // The cache may have been removed since the directory was read.
        if (shrunk != fails(ENOENT) && shrunk != fails(ENODEV))
            expect(shrunk, "shrink a slab cache");
    }
}

unsigned long count_slab_objects(const std::string& begin, const std::string& end) {
    std::optional<unsigned long> sum;
    flush_slabs();
    for (const std::string& line : lines_of(read_text("/proc/slabinfo"))) {
        std::istringstream columns(line);
        std::string name;
        unsigned long active = 0;
        if (columns >> name >> active && name.starts_with(begin) && name.ends_with(end))
            sum = sum.value_or(0) + active;
    }
    if (!sum)
        throw std::runtime_error("no " + begin + "..." + end + " in /proc/slabinfo");
    return *sum;
}

} // namespace selftest
