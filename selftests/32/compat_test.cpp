// SPDX-License-Identifier: GPL-2.0-only
// 32-bit programs on a 64-bit kernel: their ioctls have other numbers but do the same.
#include "catch.hpp"
#include "ioctl_numbers.hpp"
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

TEST_CASE(
    "A 32-bit program registers, follows the event, writes records, unregisters and deletes") {
    // The stack is at the top of the address space: the address is not taken for a negative number.
    Word word{0x80000000};
    REQUIRE(reinterpret_cast<std::uintptr_t>(&word) > 0x80000000U);
    DataFile file;
    const std::string event = unique_name("narrow");
    const std::uint32_t index = file.must_register(
        &word, 3, event + " u32 number; __rel_loc char[] text", 4, USER_EVENT_REG_PERSIST);
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
        // The descriptor that the ioctl takes is no pointer.
        DataFile sharing(Descriptor::open("/dev/user_events/default", O_RDWR));
        REQUIRE(sharing.share_indexes(file) == succeeds());
        CHECK(sharing.record(index, Payload().add(9U).add(DYN_LOC(0, 5)).add_string("nine")).ok());
        CHECK(sharing.share_indexes(-1) == fails(EBADF));
        CHECK(recording.records(event) == std::vector<std::string>{event + ": number=7 text=seven",
                                                                   event + ": number=8 text=eight",
                                                                   event + ": number=9 text=nine"});
        CHECK(file.delete_event(event) == fails(EBUSY));
        CHECK(file.unregister(&word, 3) == succeeds());
        CHECK(word == 0x80000000);
        CHECK(file.unregister(&word, 3) == fails(ENOENT));
    }
    file.close();
    CHECK(DataFile().delete_event(event) == succeeds());
    CHECK(status_line(event).empty());
}

TEST_CASE("A 32-bit program uses the device of a group") {
    const std::string group = unique_name("narrow"), groups = tracing_file("user_events_groups");
    REQUIRE(write_text(groups, group + "\n", O_APPEND).ok());
    const std::string device = "/dev/user_events/" + group, event = unique_name("narrow");
    {
        DataFile file(Descriptor::open(device, O_RDWR));
        CHECK(answered_ioctl_numbers(file) == ioctl_numbers);
        Word word{0};
        file.must_register(&word, 0, event + " u32 number", 4, USER_EVENT_REG_PERSIST);
        CHECK(read_text(device).starts_with(event + "\n"));
        CHECK(status_line(event).empty());
        Recording recording(event, "user_events_" + group);
        CHECK(word == 1);
        CHECK(file.record(0, Payload().add(7U)).ok());
        DataFile sharing(Descriptor::open(device, O_RDWR)), common;
        REQUIRE(sharing.share_indexes(file) == succeeds());
        CHECK(common.share_indexes(file) == fails(EXDEV));
        CHECK(sharing.record(0, Payload().add(8U)).ok());
        CHECK(recording.records(event) ==
              std::vector<std::string>{event + ": number=7", event + ": number=8"});
        recording.stop();
        CHECK(file.unregister(&word, 0) == succeeds());
        file.close();
        sharing.close();
        CHECK(DataFile(Descriptor::open(device, O_RDWR)).delete_event(event) == succeeds());
    }
    CHECK(write_text(groups, "!" + group + "\n", O_APPEND).ok());
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
    // SHARE_INDEXES has no argument with a size.
    static_assert(USER_EVENTS_SHARE_INDEXES == 0x2a80);
    CHECK(file.control(_IOW(DIAG_IOC_MAGIC, 0x80, void*), &word) == fails(ENOTTY));
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
