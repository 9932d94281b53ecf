// SPDX-License-Identifier: GPL-2.0-only
// /dev/user_events/default: does what user_events_data does, for programs that cannot enter
// tracefs, and read() gives the text of user_events_status. The two files have the same functions
// for all but open() and read(); `make kselftest` runs the kernel's selftests with both, which
// register, enable, write, unregister and delete.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "descriptor.hpp"
#include "device.hpp"
#include "ioctl_numbers.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "namespaces.hpp"
#include "registered.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <atomic>
#include <sys/stat.h>
#include <sys/uio.h>
#include <thread>

using namespace selftest;

namespace {

/// The errno of opening a file, or 0.
int error_of_open(const std::string& path, int flags = O_RDWR) {
    const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
    return file.number() < 0 ? errno : 0;
}

/// Reads up to the end, in pieces of at most `size` bytes. Throws std::system_error.
std::string read_in_pieces(const DataFile& file, std::size_t size) {
    std::string text, piece(size, '\0');
    while (const long length = expect(
               Outcome::of(read(file.descriptor(), piece.data(), piece.size())), "read " + device))
        text += piece.substr(0, static_cast<std::size_t>(length));
    return text;
}

} // namespace

TEST_CASE("The device is a character device that only root may open") {
    struct stat status;
    REQUIRE(stat(device.c_str(), &status) == 0);
    CHECK(status.st_mode == (S_IFCHR | 0600));
    CHECK(status.st_uid == 0);
    CHECK(status.st_gid == 0);
    CHECK(in_child([] {
              become_user(unprivileged_uid);
              return error_of_open(device);
          }) == EACCES);
}

TEST_CASE("The device and user_events_data have the same events, and indexes of their own") {
    Word word{0};
    DataFile file = open_device(), other;
    const Event event(unique_name("same")), more(unique_name("same"));
    CHECK(file.must_register(&word, 0, event.name()) == 0);
    CHECK(other.must_register(&word, 1, more.name()) == 0);
    CHECK(other.must_register(&word, 2, event.name()) == 1);
    const Enabled enabled{event};
    CHECK(word == 0b101);
    CHECK(file.record(0) == succeeds(4));
    CHECK(file.record(1) == fails(ENOENT));
    CHECK(other.record(0) == fails(EBADF));
    CHECK(other.record(1) == succeeds(4));
    std::uint32_t index = 0;
    const iovec part = {&index, sizeof(index)};
    CHECK(Outcome::of(writev(file.descriptor(), &part, 1)) == succeeds(4));
    CHECK(Outcome::of(pwrite(file.descriptor(), &index, sizeof(index), 77)) == succeeds(4));
    CHECK(file.delete_event(more.name()) == fails(EBUSY));
    CHECK(other.unregister(&word, 0) == succeeds());
    CHECK(file.unregister(&word, 1) == succeeds());
}

TEST_CASE("read() of the device gives the text of user_events_status, in pieces of any size") {
    Registered first(" u32 a"), second(""), third("");
    const Enabled enabled{second.event};
    stable_status_count("Active: ");
    const std::string expected = status();
    CHECK(has_line(expected, second.event.name() + " # Used by ftrace"));
    const int mode = GENERATE(O_RDONLY, O_RDWR);
    const std::size_t size = GENERATE(1, 7, 64, 65536);
    CAPTURE(mode, size);
    const DataFile file = open_device(mode), other = open_device(mode);
    CHECK(read_in_pieces(file, size) == expected);
    // After its end, the text begins anew.
    CHECK(read_in_pieces(file, size) == expected);
    CHECK(read_in_pieces(other, size) == expected);
}

TEST_CASE("A read() after the end of the text begins a new text") {
    const DataFile file = open_device();
    const std::string before = read_in_pieces(file, 4096);
    Registered event("");
    CHECK_FALSE(has_line(before, event.event.name()));
    CHECK(has_line(read_in_pieces(file, 4096), event.event.name()));
}

TEST_CASE("Reading nothing does not change where the text continues") {
    const DataFile file = open_device();
    Registered event("");
    stable_status_count("Active: ");
    const std::string expected = status();
    char start[4];
    REQUIRE(read(file.descriptor(), start, 4) == 4);
    char byte;
    CHECK(read(file.descriptor(), &byte, 0) == 0);
    CHECK(std::string(start, 4) + read_in_pieces(file, 100) == expected);
}

TEST_CASE("Threads that write to the device do not change where its text continues") {
    Word word{0};
    DataFile file = open_device();
    const Event event(unique_name("parallel"));
    const std::uint32_t index = file.must_register(&word, 0, event.name());
    const Enabled enabled{event};
    stable_status_count("Active: ");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> written{0};
    std::jthread writer([&] {
        while (!stop)
            written += file.record(index).ok();
    });
    const std::string expected = status();
    std::size_t wrong = 0;
    for (unsigned round = 0; round < 20 || written < 100; round++)
        wrong += read_in_pieces(file, 5) != expected;
    stop = true;
    CHECK(wrong == 0);
}

TEST_CASE("Invalid reads and writes, lseek and mmap of the device fail as documented") {
    char byte;
    CHECK(Outcome::of(read(open_device(O_WRONLY).descriptor(), &byte, 1)) == fails(EBADF));
    DataFile file = open_device();
    Mapping memory(1, PROT_NONE);
    CHECK(Outcome::of(read(file.descriptor(), memory.at(), 1)) == fails(EFAULT));
    CHECK(Outcome::of(pread(file.descriptor(), &byte, 1, 0)) == fails(ESPIPE));
    CHECK(Outcome::of(lseek(file.descriptor(), 0, SEEK_SET)) == fails(ESPIPE));
    void* start = mmap(nullptr, page_size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    CHECK(Outcome::of(start == MAP_FAILED ? -1 : 0) == fails(ENODEV));
    CHECK(has_line(read_in_pieces(file, 4096), "Busy: 0"));
    Word word{0};
    CHECK(answered_ioctl_numbers(file) == ioctl_numbers);
    DataFile reader = open_device(O_RDONLY);
    CHECK(reader.record(reader.must_register(&word, 0, unique_name("read"))) == fails(EBADF));
}

TEST_CASE("The owner of the device uses events without tracefs, also from a user namespace") {
    const bool in_namespace = GENERATE(false, true);
    CAPTURE(in_namespace);
    const GivenTo given(unprivileged_uid);
    struct stat directory;
    REQUIRE(stat(tracing_file("").c_str(), &directory) == 0);
    REQUIRE((directory.st_mode & 0777) == 0700);
    const std::string name = unique_name("given");
    Instance instance;
    Child child([&](Channel& channel) {
        become_user(unprivileged_uid);
        if (in_namespace) {
            enter(CLONE_NEWUSER | CLONE_NEWNS);
            map_to_root(unprivileged_uid);
        }
        if (error_of_open("/sys/kernel/tracing/user_events_data") != EACCES)
            return 1;
        Word word{0};
        DataFile file = open_device();
        user_reg reg = registration(&word, 0, name.c_str());
        if (!file.register_event(reg).ok() || !has_line(read_in_pieces(file, 4096), name))
            return 2;
        channel.send('r');
        channel.receive<char>();
        if (word != 1 || !file.record(reg.write_index).ok())
            return 3;
        // Only the owner of an event, or a privileged process, deletes it.
        const Outcome persists =
            file.register_event(&word, 1, name + "_persists", 4, USER_EVENT_REG_PERSIST);
        return persists == fails(EPERM) ? 0 : 4;
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    REQUIRE(instance.enable(Event(name)) == succeeds());
    child.channel().send('w');
    CHECK(child.wait() == 0);
    CHECK(instance.records().size() == 1);
    REQUIRE(instance.disable(Event(name)) == succeeds());
}

TEST_CASE("A device that was kept while the module was unloaded cannot be opened then") {
    const module::Loaded loaded;
    const Descriptor kept(::open(device.c_str(), O_PATH | O_CLOEXEC));
    const std::string handle = "/proc/self/fd/" + std::to_string(kept.number());
    REQUIRE(error_of_open(handle) == 0);
    REQUIRE(eventually([] { return module::unload().ok(); }));
    CHECK_FALSE(exists("/dev/user_events"));
    CHECK(error_of_open(handle) == ENXIO);
    REQUIRE(module::load() == succeeds());
    CHECK(error_of_open(device) == 0);
}

TEST_CASE("The module can be unloaded and loaded while threads open the device", "[race]") {
    const module::Loaded loaded;
    std::atomic<bool> stop{false};
    std::atomic<unsigned> opened{0}, missed{0}, wrong{0};
    std::vector<std::jthread> threads(2);
    for (std::jthread& each : threads)
        each = std::jthread([&] {
            char text[64];
            // The pause lets the module be unloaded.
            for (; !stop; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
                const Descriptor file(::open(device.c_str(), O_RDWR | O_CLOEXEC));
                if (file.number() < 0)
                    (errno == ENOENT || errno == ENODEV || errno == ENXIO ? missed : wrong)++;
                else
                    (read(file.number(), text, sizeof(text)) > 0 ? opened : wrong)++;
            }
        });
    for (unsigned round = 0; round < 3; round++) {
        const unsigned before = opened;
        REQUIRE(eventually([&] { return opened > before; }));
        REQUIRE(eventually([] { return module::unload().ok(); }));
        const unsigned missed_before = missed;
        REQUIRE(eventually([&] { return missed > missed_before; }));
        REQUIRE(module::load() == succeeds());
    }
    stop = true;
    threads.clear();
    CHECK(wrong == 0);
}
