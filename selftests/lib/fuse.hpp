// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace selftest {

/// A mounted file system of one file, `file`, a page of zeros, whose server is a thread of the
/// test's. It answers everything but reads, or writes, which wait until it is told to speak(), or
/// until its end(). Declare it before whoever may wait for it, as nothing else ends their waiting.
class SilentFile {
public:
    enum class To { reads, writes };

    explicit SilentFile(To silent_to = To::reads);
    SilentFile(const SilentFile&) = delete;
    SilentFile& operator=(const SilentFile&) = delete;
    ~SilentFile();

    std::string path() const { return directory_ + "/file"; }
    /// Whether somebody waits.
    bool is_waited_for() const { return waits_; }
    /// Has them answered who wait, and who come later.
    void speak();
    /// Ends the connection: whoever waits gets an error.
    void end();

private:
    /// A read or a write that waits to be answered.
    struct Transfer {
        To to;
        std::uint64_t unique;
        std::uint32_t size;
    };

    void serve();
    void take(const Transfer& transfer);
    void carry_out(const Transfer& transfer);

    const To silent_to_;
    std::string directory_;
    Descriptor device_;
    std::atomic<bool> waits_{false};
    std::mutex mutex_;
    /// Protected by mutex_, as is what follows.
    bool speaks_ = false;
    std::vector<Transfer> waiting_;
    std::jthread server_;
};

} // namespace selftest
