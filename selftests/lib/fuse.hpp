// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"

#include <atomic>
#include <string>
#include <thread>

namespace selftest {

/// A mounted file system of one file, `file`, a page long, whose server is a thread of the test's.
/// It answers everything but reads, which wait until its end(). Declare it before whoever
/// may wait for it, as nothing else ends their waiting.
class SilentFile {
public:
    SilentFile();
    SilentFile(const SilentFile&) = delete;
    SilentFile& operator=(const SilentFile&) = delete;
    ~SilentFile();

    std::string path() const { return directory_ + "/file"; }
    /// Whether somebody waits for a read.
    bool is_waited_for() const { return reads_ > 0; }
    /// Ends the connection: whoever waits gets an error.
    void end();

private:
    void serve();

    std::string directory_;
    Descriptor device_;
    std::atomic<unsigned> reads_{0};
    std::jthread server_;
};

} // namespace selftest
