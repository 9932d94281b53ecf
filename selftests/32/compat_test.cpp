// SPDX-License-Identifier: GPL-2.0-only
// A program of 32 bits on a kernel of 64: its ioctls have numbers of their own, and do the same.
#include "child.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

using namespace selftest;

static_assert(sizeof(void*) == 4, "this has to be built with -m32");
static_assert(_IOC_SIZE(DIAG_IOCSREG) == 4 && _IOC_SIZE(DIAG_IOCSDEL) == 4 &&
              _IOC_SIZE(DIAG_IOCSUNREG) == 4);

namespace {

/// The number that a program of 64 bits issues for the same.
constexpr unsigned long long_number(unsigned long number) {
    return _IOC(_IOC_DIR(number), _IOC_TYPE(number), _IOC_NR(number), 8);
}

/// A tracing instance that has an event enabled.
class Recording {
public:
    explicit Recording(const std::string& event)
        : directory_(tracing_file("instances/" + unique_name("compat"))) {
        if (mkdir(directory_.c_str(), 0750) != 0)
            throw_errno("mkdir " + directory_);
        enable_ = directory_ + "/events/user_events/" + event + "/enable";
        expect(write_text(enable_, "1"), "enable " + event);
    }
    ~Recording() {
        stop();
        rmdir(directory_.c_str());
    }

    void stop() { write_text(enable_, "0"); }

    /// What `trace` shows of the records, from the event's name on.
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

TEST_CASE("The kernel is one of 64 bits") {
    utsname kernel{};
    REQUIRE(uname(&kernel) == 0);
    CHECK(std::string(kernel.machine) == "x86_64");
}

TEST_CASE("A program of 32 bits registers, follows the state, records and unregisters") {
    Word word{0x80000000};
    DataFile file;
    const std::string event = unique_name("narrow");
    const std::uint32_t index =
        file.index_of(&word, 3, event + " u32 number; __rel_loc char[] text");
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

TEST_CASE("A program of 32 bits follows with words of 64") {
    alignas(8) LongWord word{0};
    DataFile file;
    const std::string event = unique_name("wide");
    REQUIRE(file.register_event(&word, 40, event, 8) == succeeds());
    Recording recording(event);
    CHECK(word == std::uint64_t{1} << 40);
    recording.stop();
    CHECK(word == 0);
}

TEST_CASE("A program of 32 bits deletes") {
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

TEST_CASE("A program of 32 bits is told what it did wrong") {
    Word word{0};
    DataFile file;
    const std::string event = unique_name("wrong");
    user_reg reg = registration(&word, 0, event.c_str());
    CHECK(file.control(long_number(DIAG_IOCSREG), &reg) == fails(ENOTTY));
    CHECK(file.control(long_number(DIAG_IOCSDEL), event.c_str()) == fails(ENOTTY));
    user_unreg unreg = unregistration(&word, 0);
    CHECK(file.control(long_number(DIAG_IOCSUNREG), &unreg) == fails(ENOTTY));
    CHECK(file.control(_IO(DIAG_IOC_MAGIC, 0), &reg) == fails(ENOTTY));
    CHECK(file.control(_IOW(DIAG_IOC_MAGIC, 3, void*), &reg) == fails(ENOTTY));
    CHECK(file.control(DIAG_IOCSREG, nullptr) == fails(EFAULT));
    CHECK(file.control(DIAG_IOCSDEL, nullptr) == fails(EFAULT));
    CHECK(file.control(DIAG_IOCSUNREG, nullptr) == fails(EFAULT));

    // Addresses are 64 bits wide, and none of them is cut off.
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

TEST_CASE("A child of a program of 32 bits has its registrations") {
    Word word{0};
    DataFile file;
    const std::string event = unique_name("child");
    REQUIRE(file.register_event(&word, 0, event) == succeeds());
    Child child([&](Channel& channel) {
        own_page(word);
        channel.send('r');
        channel.receive<char>();
        channel.send(word.load());
        channel.send(file.unregister(&word, 0).error());
        channel.send(word.load());
        return 0;
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    own_page(word);
    Recording recording(event);
    child.channel().send('?');
    CHECK(child.channel().receive<std::uint32_t>() == 1);
    CHECK(child.channel().receive<int>() == 0);
    CHECK(child.channel().receive<std::uint32_t>() == 0);
    CHECK(child.wait() == 0);
    CHECK(word == 1);
}

TEST_CASE("The topmost page that a program of 32 bits has can hold its word") {
    // The stack lies at the top, above what fits into a signed number.
    Word word{0};
    REQUIRE(reinterpret_cast<std::uintptr_t>(&word) > 0x80000000U);
    DataFile file;
    const std::string event = unique_name("high");
    REQUIRE(file.register_event(&word, 31, event) == succeeds());
    Recording recording(event);
    CHECK(word == 0x80000000);
}
