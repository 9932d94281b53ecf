// SPDX-License-Identifier: GPL-2.0-only
#include "user_events.hpp"

#include "text_file.hpp"

#include <chrono>
#include <stdexcept>
#include <sys/ioctl.h>
#include <thread>

namespace selftest {

std::string unique_name(std::string_view topic) {
    static std::atomic<unsigned> count;
    return std::string(topic) + "_" + std::to_string(getpid()) + "_" + std::to_string(count++);
}

std::uint64_t address_of(const volatile void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

user_reg registration(const volatile void* word, unsigned bit, const char* command,
                      unsigned enable_size, unsigned flags) {
    user_reg reg{};
    reg.size = sizeof(reg);
    reg.enable_bit = static_cast<std::uint8_t>(bit);
    reg.enable_size = static_cast<std::uint8_t>(enable_size);
    reg.flags = static_cast<std::uint16_t>(flags);
    reg.enable_addr = address_of(word);
    reg.name_args = address_of(command);
    return reg;
}

user_unreg unregistration(const volatile void* word, unsigned bit) {
    user_unreg unreg{};
    unreg.size = sizeof(unreg);
    unreg.disable_bit = static_cast<std::uint8_t>(bit);
    unreg.disable_addr = address_of(word);
    return unreg;
}

DataFile::DataFile(int flags) : file_(Descriptor::open(tracing_file("user_events_data"), flags)) {}

DataFile::~DataFile() {
    if (registered_.empty())
        return;
    if (file_.number() < 0)
        file_ = Descriptor(::open(tracing_file("user_events_data").c_str(), O_RDWR | O_CLOEXEC));
    for (user_unreg& unreg : registered_)
        ioctl(file_.number(), DIAG_IOCSUNREG, &unreg);
}

Outcome DataFile::register_event(user_reg& reg) {
    Outcome outcome = control(DIAG_IOCSREG, &reg);
    if (outcome.ok()) {
        user_unreg unreg = unregistration(nullptr, reg.enable_bit);
        unreg.disable_addr = reg.enable_addr;
        registered_.push_back(unreg);
    }
    return outcome;
}

Outcome DataFile::register_event(const volatile void* word, unsigned bit,
                                 const std::string& command, unsigned enable_size, unsigned flags) {
    user_reg reg = registration(word, bit, command.c_str(), enable_size, flags);
    return register_event(reg);
}

Outcome DataFile::unregister(const volatile void* word, unsigned bit) {
    user_unreg unreg = unregistration(word, bit);
    Outcome outcome = control(DIAG_IOCSUNREG, &unreg);
    // UNREG ends the registration even if it cannot clear the bit.
    std::erase_if(registered_, [&](const user_unreg& other) {
        return other.disable_addr == unreg.disable_addr && other.disable_bit == unreg.disable_bit;
    });
    return outcome;
}

Outcome DataFile::control(unsigned long request, const void* argument) {
    return Outcome::of(ioctl(file_.number(), request, argument));
}

Outcome DataFile::share_indexes(int from) {
    return Outcome::of(ioctl(file_.number(), USER_EVENTS_SHARE_INDEXES, from));
}

std::uint32_t DataFile::must_register(const volatile void* word, unsigned bit,
                                      const std::string& command, unsigned enable_size,
                                      unsigned flags) {
    user_reg reg = registration(word, bit, command.c_str(), enable_size, flags);
    expect(register_event(reg), "register " + command);
    return reg.write_index;
}

Outcome DataFile::record(std::uint32_t index, const Payload& payload) {
    return write(Payload().add(index).add_bytes(payload.bytes()).bytes());
}

Outcome DataFile::write(const Bytes& bytes) {
    return write(bytes.data(), bytes.size());
}

Outcome DataFile::write(const void* data, std::size_t size) {
    return Outcome::of(::write(file_.number(), data, size));
}

std::string status() {
    return read_text(tracing_file("user_events_status"));
}

std::string status_line(const std::string& event) {
    for (const std::string& line : lines_of(status()))
        if (line == event || line.starts_with(event + " "))
            return line;
    return {};
}

unsigned long status_count(const std::string& label) {
    for (const std::string& line : lines_of(status()))
        if (line.starts_with(label))
            return std::stoul(line.substr(label.size()));
    throw std::runtime_error("user_events_status has no line \"" + label + "\"");
}

unsigned long stable_status_count(const std::string& label) {
    unsigned long count = status_count(label);
    for (unsigned same = 0; same < 20; same++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (const unsigned long now = status_count(label); now != count) {
            count = now;
            same = 0;
        }
    }
    return count;
}

} // namespace selftest
