// SPDX-License-Identifier: GPL-2.0-only
// 32-bit programs on a 64-bit kernel: their ioctls have other numbers but do the same.
#include "catch.hpp"
#include "child.hpp"
#include "ioctl_numbers.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <cstdint>
#include <linux/user_mark.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

using namespace selftest;

static_assert(sizeof(void*) == 4, "build this file with -m32");
static_assert(_IOC_SIZE(DIAG_IOCSREG) == 4 && _IOC_SIZE(DIAG_IOCSDEL) == 4 &&
              _IOC_SIZE(DIAG_IOCSUNREG) == 4);

namespace {

/// The number of the same ioctl in a 64-bit program.
constexpr unsigned long number_in_64_bit_programs(unsigned long number) {
    return _IOC(_IOC_DIR(number), _IOC_TYPE(number), _IOC_NR(number), 8);
}

/// A tracing instance that has an event enabled.
class Recording {
public:
    explicit Recording(const std::string& event, const std::string& system = "user_events")
        : directory_(tracing_file("instances/" + unique_name("compat"))) {
        if (mkdir(directory_.c_str(), 0750) != 0)
            throw_errno("mkdir " + directory_);
        enable_ = directory_ + "/events/" + system + "/" + event + "/enable";
        expect(write_text(enable_, "1"), "enable " + event);
    }
    ~Recording() {
        stop();
        rmdir(directory_.c_str());
    }

    void stop() { write_text(enable_, "0"); }

    /// The lines of `trace` that show records, from the event's name on.
    std::vector<std::string> records(const std::string& event) const {
        std::vector<std::string> records;
        for (const std::string& line : lines_of(read_text(directory_ + "/trace")))
            if (const auto at = line.find(event + ":"); !line.starts_with('#') && at != line.npos)
                records.push_back(line.substr(at));
        return records;
    }

private:
    std::string directory_;
    std::string enable_;
};

} // namespace

TEST_CASE("The kernel is a 64-bit kernel") {
    utsname kernel{};
    REQUIRE(uname(&kernel) == 0);
    CHECK(std::string(kernel.machine) == "x86_64");
}

TEST_CASE("A 32-bit program registers, follows the event, writes records and unregisters") {
    Word word{0x80000000};
    DataFile file;
    const std::string event = unique_name("narrow");
    const std::uint32_t index =
        file.must_register(&word, 3, event + " u32 number; __rel_loc char[] text");
    CHECK(word == 0x80000000);
    CHECK(file.register_event(&word, 3, event) == fails(EADDRINUSE));
    {
        Recording recording(event);
        CHECK(word == 0x80000008);
        CHECK(file.record(index, Payload().add(7U).add(DYN_LOC(0, 6)).add_string("seven")).ok());

        struct {
            std::uint32_t index, number, text;
        } head{index, 8, DYN_LOC(0, 6)};
        char text[] = "eight";
        const iovec parts[] = {{&head, sizeof(head)}, {text, sizeof(text)}};
        CHECK(Outcome::of(writev(file.descriptor(), parts, 2)) ==
              succeeds(sizeof(head) + sizeof(text)));
        CHECK(recording.records(event) ==
              std::vector<std::string>{event + ": number=7 text=seven",
                                       event + ": number=8 text=eight"});
        CHECK(file.unregister(&word, 3) == succeeds());
        CHECK(word == 0x80000000);
        CHECK(file.unregister(&word, 3) == fails(ENOENT));
    }
    file.close();
    CHECK(status_line(event).empty());
}

TEST_CASE("A 32-bit program can register a bit in an 8-byte word") {
    alignas(8) LongWord word{0};
    DataFile file;
    const std::string event = unique_name("wide");
    REQUIRE(file.register_event(&word, 40, event, 8) == succeeds());
    Recording recording(event);
    CHECK(word == std::uint64_t{1} << 40);
    recording.stop();
    CHECK(word == 0);
}

TEST_CASE("A 32-bit program can delete an event") {
    Word word{0};
    DataFile file;
    const std::string event = unique_name("deleted");
    REQUIRE(file.register_event(&word, 0, event, 4, USER_EVENT_REG_PERSIST) == succeeds());
    CHECK(file.delete_event(event) == fails(EBUSY));
    REQUIRE(file.unregister(&word, 0) == succeeds());
    file.close();
    CHECK(status_line(event) == event);
    CHECK(DataFile().delete_event(event) == succeeds());
    CHECK(status_line(event).empty());
    CHECK(DataFile().delete_event(event) == fails(ENOENT));
}

TEST_CASE("A 32-bit program has all ioctls, and each has one number") {
    DataFile file, device(Descriptor::open("/dev/user_events/default", O_RDWR));
    CHECK(answered_ioctl_numbers(file) == ioctl_numbers);
    CHECK(answered_ioctl_numbers(device) == ioctl_numbers);
}

TEST_CASE("Invalid ioctl numbers and arguments fail in a 32-bit program") {
    Word word{0};
    DataFile file;
    const std::string event = unique_name("wrong");
    user_reg reg = registration(&word, 0, event.c_str());
    CHECK(file.control(number_in_64_bit_programs(DIAG_IOCSREG), &reg) == fails(ENOTTY));
    CHECK(file.control(number_in_64_bit_programs(DIAG_IOCSDEL), event.c_str()) == fails(ENOTTY));
    user_unreg unreg = unregistration(&word, 0);
    CHECK(file.control(number_in_64_bit_programs(DIAG_IOCSUNREG), &unreg) == fails(ENOTTY));
    CHECK(file.control(_IO(DIAG_IOC_MAGIC, 0), &reg) == fails(ENOTTY));
    CHECK(file.control(_IOW(DIAG_IOC_MAGIC, 3, void*), &reg) == fails(ENOTTY));
    CHECK(file.control(DIAG_IOCSREG, nullptr) == fails(EFAULT));
    CHECK(file.control(DIAG_IOCSDEL, nullptr) == fails(EFAULT));
    CHECK(file.control(DIAG_IOCSUNREG, nullptr) == fails(EFAULT));

    // The kernel does not truncate the 64-bit addresses in the structures.
    reg = registration(&word, 0, event.c_str());
    reg.enable_addr |= std::uint64_t{1} << 32;
    CHECK(file.control(DIAG_IOCSREG, &reg) == fails(EFAULT));
    reg = registration(&word, 0, event.c_str());
    reg.name_args |= std::uint64_t{1} << 32;
    CHECK(file.control(DIAG_IOCSREG, &reg) == fails(EFAULT));
    reg = registration(&word, 0, event.c_str());
    reg.size = sizeof(reg) - 1;
    CHECK(file.control(DIAG_IOCSREG, &reg) == fails(EINVAL));
    unreg = unregistration(&word, 0);
    unreg.disable_addr |= std::uint64_t{1} << 32;
    CHECK(file.control(DIAG_IOCSUNREG, &unreg) == fails(ENOENT));
    CHECK(status_line(event).empty());
}

TEST_CASE("A child of a 32-bit program inherits its registrations") {
    Word word{0};
    DataFile file;
    const std::string event = unique_name("child");
    REQUIRE(file.register_event(&word, 0, event) == succeeds());
    Child child([&](Channel& channel) {
        unshare_page(word);
        channel.send('r');
        channel.receive<char>();
        channel.send(word.load());
        channel.send(file.unregister(&word, 0).error());
        channel.send(word.load());
        return 0;
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    unshare_page(word);
    Recording recording(event);
    child.channel().send('?');
    CHECK(child.channel().receive<std::uint32_t>() == 1);
    CHECK(child.channel().receive<int>() == 0);
    CHECK(child.channel().receive<std::uint32_t>() == 0);
    CHECK(child.wait() == 0);
    CHECK(word == 1);
}

TEST_CASE("A 32-bit program can register a bit at an address above 0x80000000") {
    // The stack is at the top of the address space.
    Word word{0};
    REQUIRE(reinterpret_cast<std::uintptr_t>(&word) > 0x80000000U);
    DataFile file;
    const std::string event = unique_name("high");
    REQUIRE(file.register_event(&word, 31, event) == succeeds());
    Recording recording(event);
    CHECK(word == 0x80000000);
}

TEST_CASE("A 32-bit program registers and writes through the device, and reads the status") {
    Word word{0};
    DataFile file(Descriptor::open("/dev/user_events/default", O_RDWR));
    const std::string event = unique_name("device");
    const std::uint32_t index = file.must_register(&word, 0, event + " u32 a");
    Recording recording(event);
    CHECK(word == 1);
    CHECK(file.record(index, Payload().add(5U)) == succeeds(8));
    CHECK(recording.records(event) == std::vector<std::string>{event + ": a=5"});
    std::string text(4096, '\0');
    const long size = read(file.descriptor(), text.data(), text.size());
    REQUIRE(size > 0);
    CHECK(has_line(text.substr(0, static_cast<std::size_t>(size)), event + " # Used by ftrace"));
    CHECK(file.unregister(&word, 0) == succeeds());
}

TEST_CASE("A 32-bit program writes through a file that shares the indexes of another one") {
    static_assert(USER_EVENTS_SHARE_INDEXES == 0x2a80);
    Word word{0};
    DataFile file, sharing(Descriptor::open("/dev/user_events/default", O_WRONLY));
    const std::string event = unique_name("shared");
    const std::uint32_t index = file.must_register(&word, 0, event + " u32 a");
    Recording recording(event);
    REQUIRE(sharing.share_indexes(file) == succeeds());
    CHECK(sharing.record(index, Payload().add(6U)) == succeeds(8));
    CHECK(recording.records(event) == std::vector<std::string>{event + ": a=6"});
    CHECK(sharing.share_indexes(file) == fails(EBUSY));
    CHECK(sharing.share_indexes(-1) == fails(EBADF));
    CHECK(sharing.share_indexes(sharing) == fails(EINVAL));
    // There is no such ioctl with an argument that has a size.
    CHECK(sharing.control(_IOW(DIAG_IOC_MAGIC, 0x80, void*), &word) == fails(ENOTTY));
}

TEST_CASE("A 32-bit program makes marks with the same structure and numbers") {
    const Descriptor file = Descriptor::open("/dev/user_mark", O_WRONLY);
    const auto call = [&](unsigned long request, auto argument) {
        return Outcome::of(ioctl(file.number(), request, argument));
    };
    Recording texts("text", USER_MARK_SYSTEM), data("data", USER_MARK_SYSTEM);
    CHECK(Outcome::of(write(file.number(), "by write\n", 9)) == succeeds(9));
    user_mark mark{};
    mark.size = sizeof(mark);
    mark.data = address_of("by ioctl");
    mark.data_size = 8;
    CHECK(call(USER_MARK, &mark) == succeeds());
    mark.type = 0xffffffff;
    CHECK(call(USER_MARK, &mark) == succeeds());
    CHECK(texts.records("text") ==
          std::vector<std::string>{"text: text=by write", "text: text=by ioctl"});
    CHECK(data.records("data") ==
          std::vector<std::string>{"data: type=4294967295 data=627920696f63746c"});
    const std::string id = read_text(tracing_file("events/" USER_MARK_SYSTEM "/data/id"));
    CHECK(call(USER_MARK_ID, 0xffffffffUL) == succeeds(std::stol(id)));

    // The kernel does not truncate the 64-bit address in the structure.
    mark.data |= std::uint64_t{1} << 32;
    CHECK(call(USER_MARK, &mark) == fails(EFAULT));
    CHECK(call(USER_MARK, nullptr) == fails(EFAULT));
    mark.flags = 1;
    CHECK(call(USER_MARK, &mark) == fails(EINVAL));
}
