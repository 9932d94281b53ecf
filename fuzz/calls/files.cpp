// SPDX-License-Identifier: GPL-2.0-only
// Operations on user_events_data, user_events_status and the devices.
#include "program.hpp"

#include "call_32.hpp"
#include "descriptor.hpp"
#include "dictionary.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <climits>
#include <cstring>
#include <fcntl.h>
#include <linux/user_events_ext.h>
#include <linux/user_mark.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

using namespace selftest;

namespace calls {

namespace {

/// Returns the number of an ioctl in a 32-bit program. That of a mark has no size.
std::uint32_t number_32(unsigned long request) {
    if (_IOC_SIZE(request) == 0)
        return static_cast<std::uint32_t>(request);
    return static_cast<std::uint32_t>(
        _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), sizeof(std::uint32_t)));
}

/// A value of an argument's `size` member, and the number of bytes after the structure.
struct Size {
    unsigned value;
    unsigned tail;
    bool zeros = true;
};

template <unsigned size>
const Size& one_of_sizes(unsigned which) {
    static constexpr Size sizes[] = {
        {size, 0}, {size, 0},     {size + 4, 4},       {size + 4, 4, false}, {size - 1, 0},
        {0, 0},    {size + 4, 0}, {4096, 4096 - size}, {4097, 4097 - size},  {UINT_MAX, 0},
    };
    return sizes[which % std::size(sizes)];
}

template <typename Structure>
std::string argument_of(const Structure& structure, const Size& size) {
    std::string bytes(reinterpret_cast<const char*>(&structure), sizeof(structure));
    bytes.append(size.tail, '\0');
    if (!size.zeros)
        bytes.back() = 1;
    return bytes;
}

} // namespace

void Program::close_slot(Slot& slot) {
    if (slot.descriptor >= 0)
        ::close(slot.descriptor);
    slot = {};
}

Program::Result Program::open_file(const Operation& operation) {
    static constexpr int modes[] = {O_RDWR, O_RDWR, O_RDONLY, O_WRONLY};
    const auto& arguments = operation.arguments;
    Slot& slot = slots_.at(arguments[0] % slots_.size());
    const bool data = arguments[2] % 4 != 3;
    close_slot(slot);
    const std::string path = arguments[2] % 8 == 5 ? "/dev/user_events/default"
                             : data                ? root_ + "user_events_data"
                                                   : root_ + "user_events_status";
    const int mode = data ? modes[arguments[1] % std::size(modes)] : O_RDONLY;
    const int descriptor = ::open(path.c_str(), mode | O_CLOEXEC);
    const Outcome outcome = Outcome::of(descriptor);
    if (outcome.ok())
        slot = {descriptor, std::make_shared<File>(File{data})};
    return outcome;
}

Program::Result Program::close_file(const Operation& operation) {
    Slot& slot = slots_.at(operation.arguments[0] % slots_.size());
    if (slot.descriptor < 0)
        return std::nullopt;
    const Outcome outcome = Outcome::of(::close(slot.descriptor));
    slot = {};
    return outcome;
}

Program::Result Program::duplicate(const Operation& operation) {
    const Slot from = slots_.at(operation.arguments[0] % slots_.size());
    Slot& to = slots_.at(operation.arguments[1] % slots_.size());
    if (from.descriptor < 0 || from.descriptor == to.descriptor)
        return std::nullopt;
    close_slot(to);
    to = {fcntl(from.descriptor, F_DUPFD_CLOEXEC, 3), from.file};
    return Outcome::of(to.descriptor);
}

/// Issues an ioctl. Stores what the kernel has written back in `argument`.
Outcome Program::pass(int descriptor, unsigned long request, std::string& argument,
                      const Passing& passing) {
    std::uint64_t address = arguments_.put(argument.data(), argument.size());
    switch (passing.pointer) {
    case 1: // inaccessible
        address = arguments_.end();
        break;
    case 2: // the second half is inaccessible
        address += argument.size() / 2;
        break;
    case 3:
        arguments_.protect(PROT_READ);
        break;
    default:
        break;
    }
    const Outcome outcome = passing.as_32
                                ? call_32(Call32::ioctl, static_cast<std::uint32_t>(descriptor),
                                          number_32(request), static_cast<std::uint32_t>(address))
                                : Outcome::of(ioctl(descriptor, request, address));
    if (passing.pointer == 3)
        arguments_.protect(PROT_READ | PROT_WRITE);
    if (passing.pointer == 0)
        std::memcpy(argument.data(), reinterpret_cast<const void*>(address), argument.size());
    return outcome;
}

Program::Result Program::reg(const Operation& operation) {
    static constexpr std::uint8_t words[] = {4, 4, 8, 8, 4, 0, 2, 5, 16};
    static constexpr std::uint16_t flags[] = {
        0, 0, USER_EVENT_REG_MULTI_FORMAT, USER_EVENT_REG_PERSIST, 3, 4, 0x8000};
    const auto& arguments = operation.arguments;
    const Slot& slot = slots_.at(arguments[0] % slots_.size());
    if (slot.descriptor < 0)
        return std::nullopt;

    const Size& size = one_of_sizes<sizeof(user_reg)>(arguments[3] / 16);
    std::string command = names[arguments[5] % std::size(names)] + operation.text;
    const unsigned variant = arguments[5] / 64;
    if (variant == 1)
        command.resize(511 + arguments[5] % 2, ' ');
    user_reg reg{};
    reg.size = size.value;
    reg.enable_bit = arguments[2];
    reg.enable_size = words[arguments[3] % 16 % std::size(words)];
    reg.flags = flags[arguments[4] % 16 % std::size(flags)];
    reg.enable_addr = memory_.address(arguments[1]);
    // Variant 2 omits the NUL.
    reg.name_args = commands_.put(command.c_str(), command.size() + (variant != 2));
    std::string argument = argument_of(reg, size);
    const Passing passing(operation);
    const Outcome outcome = pass(slot.descriptor, DIAG_IOCSREG, argument, passing);
    if (!outcome.ok())
        return outcome;

    const Memory::Bit bit{memory_.address(arguments[1]), reg.enable_bit};
    if (memory_.registered(bit))
        throw Violation("REG accepts a registered bit again: " + print(operation));
    memory_.add(bit, reg.enable_size);
    std::memcpy(&reg, argument.data(), sizeof(reg));
    Table& table = *slot.file->table;
    if (!table.shared && reg.write_index > table.indexes)
        throw Violation("REG skips a write index: " + print(operation));
    table.indexes = std::max(table.indexes, reg.write_index + 1);
    return succeeds(reg.write_index);
}

Program::Result Program::unreg(const Operation& operation) {
    const auto& arguments = operation.arguments;
    const Slot& slot = slots_.at(arguments[0] % slots_.size());
    if (slot.descriptor < 0)
        return std::nullopt;
    Memory::Bit bit{memory_.address(arguments[1]), arguments[2]};
    // Mostly a registered bit.
    if (arguments[3] % 4 != 3 && !memory_.bits().empty())
        bit = memory_.nth_bit(arguments[1]);

    const Size& size = one_of_sizes<sizeof(user_unreg)>(arguments[3] / 16);
    user_unreg unreg{};
    unreg.size = size.value;
    unreg.disable_bit = static_cast<std::uint8_t>(bit.second);
    unreg.disable_addr = bit.first;
    unreg.__reserved = arguments[5] == 255;
    unreg.__reserved2 = arguments[5] == 254;
    std::string argument = argument_of(unreg, size);
    const Passing passing(operation);
    const Outcome outcome = pass(slot.descriptor, DIAG_IOCSUNREG, argument, passing);

    const bool registered = memory_.registered(bit);
    if (outcome.ok() && !registered)
        throw Violation("UNREG accepts a bit that is not registered: " + print(operation));
    // The kernel may set the bit again for another process that has registered it in the same page.
    const bool alone = !memory_.is_of_file(bit) || (depth_ == 0 && children_.empty());
    if (outcome.ok() && alone && Memory::value(bit) == true)
        throw Violation("UNREG does not clear the bit: " + print(operation));
    if (outcome == fails(ENOENT) && registered)
        throw Violation("UNREG does not find a registered bit: " + print(operation));
    // UNREG ends the registration even if it cannot clear the bit.
    const bool read = passing.pointer % 3 == 0 && size.value >= sizeof(unreg) &&
                      size.value <= 4096 && size.tail == size.value - sizeof(unreg);
    if (outcome.ok() || (outcome == fails(EFAULT) && read))
        memory_.remove(bit);
    return outcome;
}

Program::Result Program::del(const Operation& operation) {
    const auto& arguments = operation.arguments;
    const Slot& slot = slots_.at(arguments[0] % slots_.size());
    if (slot.descriptor < 0)
        return std::nullopt;
    std::string name = names[arguments[1] % std::size(names)] + operation.text;
    name += '\0';
    return pass(slot.descriptor, DIAG_IOCSDEL, name, Passing(operation));
}

/// Issues an ioctl with a number that does not exist, or that the other width uses.
Program::Result Program::control(const Operation& operation) {
    static constexpr unsigned long requests[] = {
        0,
        _IOC(_IOC_READ | _IOC_WRITE, '*', 0, 4),
        _IOC(_IOC_WRITE, '*', 2, 4),
        _IOC(_IOC_WRITE, '*', 0, 8),
        _IOC(_IOC_WRITE, '*', 3, 8),
        _IOC(_IOC_WRITE, '*', 2, 28),
        ~0UL,
    };
    const auto& arguments = operation.arguments;
    const Slot& slot = slots_.at(arguments[0] % slots_.size());
    if (slot.descriptor < 0)
        return std::nullopt;
    const unsigned long request = requests[arguments[1] % std::size(requests)];
    const std::uint64_t address = arguments_.end() - arguments[3];
    const bool as_32 = arguments[2] / 64 == 3;
    // For a 32-bit caller, a 64-bit number.
    constexpr unsigned long other = DIAG_IOCSREG;
    const Outcome outcome =
        as_32 ? call_32(Call32::ioctl, static_cast<std::uint32_t>(slot.descriptor),
                        static_cast<std::uint32_t>(_IOC_SIZE(request) == 4 ? other : request),
                        static_cast<std::uint32_t>(address))
              : Outcome::of(ioctl(slot.descriptor, request, address));
    if (outcome.ok())
        throw Violation("an unknown ioctl succeeds: " + print(operation));
    return outcome;
}

/// Gives a file the write indexes of another one.
Program::Result Program::share(const Operation& operation) {
    const auto& arguments = operation.arguments;
    const Slot& slot = slots_.at(arguments[0] % slots_.size());
    const Slot& from = slots_.at(arguments[1] % slots_.size());
    if (slot.descriptor < 0)
        return std::nullopt;
    const Outcome outcome =
        arguments[2] / 64 == 3
            ? call_32(Call32::ioctl, static_cast<std::uint32_t>(slot.descriptor),
                      USER_EVENTS_SHARE_INDEXES, static_cast<std::uint32_t>(from.descriptor))
            : Outcome::of(ioctl(slot.descriptor, USER_EVENTS_SHARE_INDEXES, from.descriptor));
    if (!outcome.ok())
        return outcome;
    if (from.descriptor < 0 || !from.file->data || !slot.file->data || from.file == slot.file)
        throw Violation("a file shares indexes with what has none: " + print(operation));
    std::shared_ptr<Table>& table = slot.file->table;
    if (!table->shared && table->indexes > 0)
        throw Violation("a file loses its own indexes: " + print(operation));
    // A child that has the file has all of these indexes now.
    from.file->table->shared |= table->shared;
    table = from.file->table;
    return outcome;
}

Outcome Program::write_bytes(int descriptor, const std::string& bytes, std::size_t zeros,
                             const Operation& operation) {
    std::uint64_t address = payloads_.put(bytes.data(), bytes.size(), zeros);
    std::size_t size = bytes.size() + zeros;
    const auto at = [&](std::size_t offset) { return reinterpret_cast<void*>(address + offset); };
    switch (operation.arguments[2] % 10) {
    case 2: // the index in a part of its own, as programs do it
    {
        const iovec parts[] = {{at(0), 4}, {at(4), size - 4}};
        return Outcome::of(writev(descriptor, parts, 2));
    }
    case 3: {
        const std::size_t first = std::min<std::size_t>(operation.arguments[4], size);
        const iovec parts[] = {{at(0), first}, {nullptr, 0}, {at(first), size - first}};
        return Outcome::of(writev(descriptor, parts, 3));
    }
    case 4:
        return Outcome::of(pwrite(descriptor, at(0), size, operation.arguments[4]));
    case 5: {
        const std::size_t middle = 4 + (size - 4) / 2;
        const iovec parts[] = {{at(0), 4}, {at(4), middle - 4}, {at(middle), size - middle}};
        return Outcome::of(writev(descriptor, parts, 3));
    }
    case 6: // too short for an index
        return Outcome::of(::write(descriptor, at(0), operation.arguments[4] % 4));
    case 7: // the end is inaccessible
        address += size - std::min<std::size_t>(operation.arguments[4], size);
        return Outcome::of(::write(descriptor, at(0), size));
    case 8:
        return call_32(Call32::write, static_cast<std::uint32_t>(descriptor),
                       static_cast<std::uint32_t>(address), static_cast<std::uint32_t>(size));
    case 9: {
        const std::uint32_t parts[] = {static_cast<std::uint32_t>(address), 4,
                                       static_cast<std::uint32_t>(address + 4),
                                       static_cast<std::uint32_t>(size - 4)};
        return call_32(Call32::writev, static_cast<std::uint32_t>(descriptor),
                       static_cast<std::uint32_t>(arguments_.put(parts, sizeof(parts))), 2);
    }
    default:
        return Outcome::of(::write(descriptor, at(0), size));
    }
}

Program::Result Program::write(const Operation& operation) {
    static constexpr std::size_t lengths[] = {
        0,    1,    2,    4,    8,    12,    20,      64,           1023,
        1024, 1025, 2048, 4080, 8180, 65536, 1 << 20, (1 << 20) + 1};
    static constexpr std::int32_t indexes[] = {-1, INT_MIN, INT_MAX, 1000};
    const auto& arguments = operation.arguments;
    const Slot& slot = slots_.at(arguments[0] % slots_.size());
    if (slot.descriptor < 0)
        return std::nullopt;
    const std::int32_t index =
        arguments[1] < 16 ? arguments[1] : indexes[arguments[1] % std::size(indexes)];
    std::string bytes(reinterpret_cast<const char*>(&index), sizeof(index));
    bytes += operation.text;
    // 0 stands for the length of the text.
    const std::size_t length =
        arguments[3] == 0 ? operation.text.size() : lengths[arguments[3] % std::size(lengths)];
    bytes.resize(std::min(bytes.size(), 4 + length));
    const Outcome outcome =
        write_bytes(slot.descriptor, bytes, 4 + length - bytes.size(), operation);

    if (slot.file->data && outcome == fails(ESPIPE))
        throw Violation("user_events_data has a file position: " + print(operation));
    const Table& table = *slot.file->table;
    const bool valid = index >= 0 && static_cast<unsigned>(index) < table.indexes;
    if (outcome.ok() && outcome.value() != static_cast<long>(4 + length) && outcome.value() != 0)
        throw Violation("a write is partial: " + print(operation));
    if (!table.shared && outcome.ok() && outcome.value() != 0 && !valid)
        throw Violation("a write with an unused index succeeds: " + print(operation));
    if (index < 0 && outcome == fails(ENOENT))
        throw Violation("a write with a negative index is ENOENT: " + print(operation));
    if (!table.shared && outcome == fails(ENOENT) && valid)
        throw Violation("a write with a valid index is ENOENT: " + print(operation));
    return outcome;
}

/// Makes a mark, gets the number of its event, or enables or disables both events. Whether marks
/// are recorded or not, they fail only for the reasons that the user guide lists.
Program::Result Program::mark(const Operation& operation) {
    static constexpr std::size_t lengths[] = {0,    1,    2,    4,     64,    1024,
                                              4059, 4060, 8180, 65534, 65535, 1 << 20};
    static constexpr int modes[] = {O_WRONLY, O_RDWR, O_WRONLY, O_RDONLY};
    const auto& arguments = operation.arguments;
    const unsigned what = arguments[0] % 4;
    if (what == 3)
        return write_text(root_ + (arguments[1] % 2 ? "instances/fuzz/" : "") +
                              "events/" USER_MARK_SYSTEM "/enable",
                          arguments[2] % 3 == 2 ? "0" : "1");
    const int mode = modes[arguments[1] % std::size(modes)];
    const Descriptor file(::open("/dev/user_mark", mode | O_CLOEXEC));
    if (file.number() < 0)
        return Outcome::of(-1);
    if (what == 2) {
        const Outcome outcome = Outcome::of(
            ioctl(file.number(), USER_MARK_ID, static_cast<unsigned long>(arguments[2])));
        if (!outcome.ok() || outcome.value() == 0)
            throw Violation("an event of marks has no number: " + print(operation));
        return outcome;
    }
    // 0 stands for the length of the text.
    const std::size_t length =
        arguments[3] == 0 ? operation.text.size() : lengths[arguments[3] % std::size(lengths)];
    const std::string data = operation.text.substr(0, length);
    std::uint64_t address = payloads_.put(data.data(), data.size(), length - data.size());
    if (arguments[5] % 8 == 7) // the last byte is inaccessible
        address++;
    Outcome outcome = succeeds();
    if (what == 0) {
        outcome = Outcome::of(::write(file.number(), reinterpret_cast<void*>(address), length));
        if (outcome.ok() && outcome.value() != static_cast<long>(length))
            throw Violation("a mark is partial: " + print(operation));
    } else {
        const Size& size = one_of_sizes<sizeof(user_mark)>(arguments[2] / 16);
        user_mark mark{};
        mark.size = size.value;
        mark.type = arguments[2] % 16;
        mark.data = address;
        mark.data_size = static_cast<std::uint32_t>(length);
        mark.flags = arguments[5] % 8 == 6;
        std::string argument = argument_of(mark, size);
        outcome = pass(file.number(), USER_MARK, argument, Passing(operation));
        if (outcome.ok() && mark.flags != 0)
            throw Violation("a mark with flags succeeds: " + print(operation));
    }
    if (outcome.ok() && mode == O_RDONLY && (what == 1 || length > 0))
        throw Violation("a mark through a file for reading succeeds: " + print(operation));
    return outcome;
}

} // namespace calls
