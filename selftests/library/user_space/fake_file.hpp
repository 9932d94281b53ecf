// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "payload.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace selftest {

/// Replaces user_events_data for this process: a FIFO that the library opens, with the ioctls that
/// fake_file.cpp defines. It checks what the kernel would check of a registration. The object
/// removes the registrations at the end of its lifetime, so events are created after it.
class FakeFile {
public:
    /// Creates the FIFO and sets USER_EVENTS_FILE.
    FakeFile();
    FakeFile(const FakeFile&) = delete;
    FakeFile& operator=(const FakeFile&) = delete;
    ~FakeFile();

    const std::string& path() const { return path_; }

    /// Sets or clears the enable bits of all registrations of an event, now and later.
    void enable(const std::string& command);
    void disable(const std::string& command);

    /// Takes what has been written since the last call.
    Bytes take();

    /// Lets the next registrations fail with an errno; 0 for none.
    void fail_with(int error);

    /// Lets registrations not be ended, with an errno; 0 for none.
    void keep_registrations(int error);

    /// Lets write() fail with EBADF on a descriptor of the library, which is open, as the kernel
    /// does while it disables an event, before it clears the bit.
    void refuse_records(int descriptor) const;

    /// Closes the descriptors of the next ioctls before these, as another thread's closefrom() may.
    void close_before_ioctl(int count);

private:
    std::string path_;
    int reader_;
};

/// The number of registrations in this process, and that of a command; and all commands in order.
std::size_t registrations();
std::size_t registrations(const std::string& command);
std::vector<std::string> commands();
/// The descriptor of the last ioctl.
int last_descriptor();

} // namespace selftest
