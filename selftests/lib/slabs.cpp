// SPDX-License-Identifier: GPL-2.0-only
#include "slabs.hpp"

#include "text_file.hpp"

#include <filesystem>

namespace selftest {

void flush_slabs() {
    for (const auto& cache : std::filesystem::directory_iterator("/sys/kernel/slab")) {
        const Outcome shrunk = write_text(cache.path().string() + "/shrink", "1");
        // The cache may have been removed since the directory was read.
        if (shrunk != fails(ENOENT) && shrunk != fails(ENODEV))
            expect(shrunk, "shrink a slab cache");
    }
}

} // namespace selftest
