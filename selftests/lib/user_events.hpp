// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "payload.hpp"

#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <linux/user_events.h>
#include <string>
#include <string_view>
#include <vector>

namespace selftest {

/// Words whose bits the kernel keeps at the state of an event. Atomic, as the kernel writes to them
/// at any time.
using Word = std::atomic<std::uint32_t>;
using LongWord = std::atomic<std::uint64_t>;

/// Has a word in a page of the process's own, after a fork: the kernel would copy the page when the
/// event changes, for which it does not let anybody wait long.
template <typename T>
void own_page(std::atomic<T>& word) {
    word.fetch_or(0);
}

/// A name no other test, run or process uses: the topic, the process and a count.
std::string unique_name(std::string_view topic);

/// An address as the ABI's structures hold it.
std::uint64_t address_of(const volatile void* pointer);

/// What DIAG_IOCSREG takes. The command must outlive it.
user_reg registration(const volatile void* word, unsigned bit, const char* command,
                      unsigned enable_size = 4, unsigned flags = 0);

/// What DIAG_IOCSUNREG takes.
user_unreg unregistration(const volatile void* word, unsigned bit);

/// An open user_events_data. With the object go the registrations made through it, so that no test
/// leaves some behind: declare it after the words that it registers.
class DataFile {
public:
    /// Opens it, or throws std::system_error.
    explicit DataFile(int flags = O_RDWR);
    explicit DataFile(Descriptor file) : file_(std::move(file)) {}
    DataFile(DataFile&&) = default;
    ~DataFile();

    /// The ioctls. `reg` gets its write_index.
    Outcome register_event(user_reg& reg);
    Outcome register_event(const volatile void* word, unsigned bit, const std::string& command,
                           unsigned enable_size = 4, unsigned flags = 0);
    Outcome unregister(const volatile void* word, unsigned bit);
    Outcome delete_event(const std::string& name) { return control(DIAG_IOCSDEL, name.c_str()); }
    Outcome control(unsigned long request, const void* argument);

    /// Registers an event that the test needs for something else, and returns its write index.
    /// Throws std::system_error when that fails.
    std::uint32_t index_of(const volatile void* word, unsigned bit, const std::string& command,
                           unsigned enable_size = 4, unsigned flags = 0);

    /// Writes the index and the payload with one write().
    Outcome record(std::uint32_t index, const Payload& payload = {});
    Outcome write(const Bytes& bytes);
    Outcome write(const void* data, std::size_t size);

    int descriptor() const { return file_.number(); }
    /// Closes the file alone: the registrations stay until the object goes.
    void close() { file_.close(); }

private:
    Descriptor file_;
    std::vector<user_unreg> registered_;
};

/// The path of a file in tracefs, which is mounted if need be.
std::string tracing_file(const std::string& name);

/// The text of user_events_status.
std::string status();

/// The line of an event in user_events_status, or nothing when it has none.
std::string status_line(const std::string& event);

/// The number after `label` ("Active: ", "Busy: ") in user_events_status.
unsigned long status_count(const std::string& label);

/// The same once it does not change any more: the events of whoever has ended go a moment later.
unsigned long settled_count(const std::string& label);

} // namespace selftest
