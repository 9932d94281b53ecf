// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "payload.hpp"

#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <linux/user_events.h>
#include <linux/user_events_ext.h>
#include <string>
#include <string_view>
#include <vector>

namespace selftest {

/// A word that holds enable bits. It is atomic because the kernel writes to it at any time.
using Word = std::atomic<std::uint32_t>;
using LongWord = std::atomic<std::uint64_t>;

/// After a fork: makes the kernel copy the word's page now. Otherwise the next update of a bit must
/// copy it, and a change of the event's state waits for that only for a limited time.
template <typename T>
void unshare_page(std::atomic<T>& word) {
    word.fetch_or(0);
}

/// Returns a name that no other process or call uses: TOPIC_PID_COUNT.
std::string unique_name(std::string_view topic);

/// Returns an address in the form that the structures of the ABI use.
std::uint64_t address_of(const volatile void* pointer);

/// Returns the argument of DIAG_IOCSREG. It points to `command`.
user_reg registration(const volatile void* word, unsigned bit, const char* command,
                      unsigned enable_size = 4, unsigned flags = 0);

/// Returns the argument of DIAG_IOCSUNREG.
user_unreg unregistration(const volatile void* word, unsigned bit);

/// An open user_events_data. The destructor ends all registrations made through the object, so
/// declare it after the words that it registers.
class DataFile {
public:
    /// Opens the file. Throws std::system_error.
    explicit DataFile(int flags = O_RDWR);
    explicit DataFile(Descriptor file) : file_(std::move(file)) {}
    DataFile(DataFile&&) = default;
    ~DataFile();

    /// The ioctls. The first one stores the write index in `reg`.
    Outcome register_event(user_reg& reg);
    Outcome register_event(const volatile void* word, unsigned bit, const std::string& command,
                           unsigned enable_size = 4, unsigned flags = 0);
    Outcome unregister(const volatile void* word, unsigned bit);
    Outcome delete_event(const std::string& name) { return control(DIAG_IOCSDEL, name.c_str()); }
    Outcome control(unsigned long request, const void* argument);
    /// USER_EVENTS_SHARE_INDEXES: takes over the write indexes of another open file.
    Outcome share_indexes(int from);
    Outcome share_indexes(const DataFile& from) { return share_indexes(from.descriptor()); }

    /// Registers an event, and returns its write index. Throws std::system_error.
    std::uint32_t must_register(const volatile void* word, unsigned bit, const std::string& command,
                                unsigned enable_size = 4, unsigned flags = 0);

    /// Writes the index and the payload with one write().
    Outcome record(std::uint32_t index, const Payload& payload = {});
    /// Calls write().
    Outcome write(const Bytes& bytes);
    Outcome write(const void* data, std::size_t size);

    int descriptor() const { return file_.number(); }
    /// Closes the file. The registrations stay until the destructor runs.
    void close() { file_.close(); }

private:
    Descriptor file_;
    std::vector<user_unreg> registered_;
};

/// Returns the path of a file in tracefs, which it mounts if necessary. Throws std::runtime_error.
std::string tracing_file(const std::string& name);

/// Reads user_events_status. Throws std::system_error.
std::string status();

/// Returns the line of an event in user_events_status, or an empty string.
std::string status_line(const std::string& event);

/// Returns the number after `label` ("Active: ", "Busy: ") in user_events_status. Throws
/// std::runtime_error if there is none.
unsigned long status_count(const std::string& label);

/// Waits until status_count() is the same for 100 ms, and returns it: the kernel removes the events
/// of an exited process asynchronously.
unsigned long stable_status_count(const std::string& label);

} // namespace selftest
