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

/// A mounted FUSE file system with one file, a page of zeros. A thread of the test serves it. The
/// server leaves either reads or writes unanswered until respond() or end(). A task that waits for
/// an answer cannot be killed: declare this object before any child or thread that may wait.
class UnresponsiveFile {
public:
    enum class Kind { reads, writes };

    /// Mounts the file system. Throws std::system_error.
    explicit UnresponsiveFile(Kind unanswered = Kind::reads);
    UnresponsiveFile(const UnresponsiveFile&) = delete;
    UnresponsiveFile& operator=(const UnresponsiveFile&) = delete;
    ~UnresponsiveFile();

    /// Returns the file's path.
    std::string path() const { return directory_ + "/file"; }
    /// Returns whether a read or write waits for its answer.
    bool has_waiter() const { return waits_; }
    /// Returns for which user the last such read or write is, as the server sees it.
    std::uint32_t user_of_waiter() const { return user_; }
    /// Answers all waiting requests, and later ones at once.
    void respond();
    /// Aborts the connection: waiting requests fail with an error.
    void end();

private:
    /// A read or write that the server has received.
    struct Transfer {
        Kind kind;
        std::uint64_t unique;
        std::uint32_t size;
        std::uint32_t user;
    };

    void serve();
    void receive(const Transfer& transfer);
    void complete(const Transfer& transfer);

    const Kind unanswered_;
    std::string directory_;
    Descriptor device_;
    std::atomic<bool> waits_{false};
    std::atomic<std::uint32_t> user_{0};
    std::mutex mutex_;
    bool responds_ = false;         // protected by mutex_
    std::vector<Transfer> waiting_; // protected by mutex_
    std::jthread server_;
};

} // namespace selftest
