// SPDX-License-Identifier: GPL-2.0-or-later
// Gives back the memory of a file's pages that were read.
#pragma once

#include <cstddef>
#include <map>

namespace tool::recording {

/// libtracecmd maps the records of each CPU as a whole, so that by and by the whole file would be
/// in the program's memory.
class mapped_pages {
public:
    /// Opens what read() needs, in the process that will read: later, that may be refused. Without
    /// this, read() gives nothing back.
    static void prepare();

    /// Tells where the records of a CPU are being read. Now and then gives back the pages before.
    void read(int cpu, const std::byte* at) {
        // A prime number, so that no regular order of the CPUs hides one of them.
        if (++reads_ % 251 == 0)
            release(cpu, at);
    }

private:
    void release(int cpu, const std::byte* at);

    unsigned reads_ = 0;
    std::map<int, const std::byte*> released_; // up to here, by CPU
};

} // namespace tool::recording
