// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace selftest {

/// A mounted FUSE file system with one file, a page of zeros.
class FuseFile {
public:
    /// A read or write that the server has received.
    struct Transfer {
        enum class Kind { reads, writes };
        Kind kind;
        std::uint64_t unique;
        std::uint32_t size;
        std::uint32_t user;
        /// What is written; valid until the receiver returns.
        std::string_view text;
    };

    /// Mounts the file system on a directory that does not exist yet. Throws std::system_error.
    explicit FuseFile(std::string directory);
    FuseFile(const FuseFile&) = delete;
    FuseFile& operator=(const FuseFile&) = delete;
    /// Unmounts it.
    ~FuseFile();

    /// Returns the file's path.
    std::string path() const { return directory_ + "/file"; }
    /// Hands all reads and writes to a function, until end().
    void serve(const std::function<void(const Transfer&)>& receive);
    /// Answers a read or write: it succeeds, or fails with an errno.
    void complete(const Transfer& transfer, int error = 0) const;
    /// Aborts the connection: waiting requests fail with an error.
    void end() const;

private:
    std::string directory_;
    Descriptor device_;
};

/// A file that a thread of the test serves. The server leaves either reads or writes unanswered
/// until respond() or end(). A task that waits for an answer cannot be killed: declare this object
/// before any child or thread that may wait.
class UnresponsiveFile {
public:
    using Kind = FuseFile::Transfer::Kind;

    /// Mounts the file system. Throws std::system_error.
    explicit UnresponsiveFile(Kind unanswered = Kind::reads);
    UnresponsiveFile(const UnresponsiveFile&) = delete;
    UnresponsiveFile& operator=(const UnresponsiveFile&) = delete;
    ~UnresponsiveFile();

    /// Returns the file's path.
    std::string path() const { return file_.path(); }
    /// Returns whether a read or write waits for its answer.
    bool has_waiter() const { return waits_; }
    /// Returns for which user the last such read or write is, as the server sees it.
    std::uint32_t user_of_waiter() const { return user_; }
    /// Answers all waiting requests, and later ones at once.
    void respond();
    /// Aborts the connection: waiting requests fail with an error.
    void end() { file_.end(); }

private:
    void receive(const FuseFile::Transfer& transfer);

    const Kind unanswered_;
    FuseFile file_;
    std::atomic<bool> waits_{false};
    std::atomic<std::uint32_t> user_{0};
    std::mutex mutex_;
    bool responds_ = false;                   // protected by mutex_
    std::vector<FuseFile::Transfer> waiting_; // protected by mutex_
    std::jthread server_;
};

} // namespace selftest
