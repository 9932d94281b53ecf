// SPDX-License-Identifier: GPL-2.0-only
// USER_EVENTS_SHARE_INDEXES: an open file takes over the write indexes of another one.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "descriptor.hpp"
#include "device.hpp"
#include "registered.hpp"
#include "setting.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace {

/// Another mount of tracefs, which the destructor removes.
class Mounted {
public:
    Mounted() {
        std::filesystem::create_directories(path_);
        if (mount("tracefs", path_.c_str(), "tracefs", 0, nullptr) != 0)
            throw_errno("mount " + path_);
    }
    Mounted(const Mounted&) = delete;
    Mounted& operator=(const Mounted&) = delete;
    ~Mounted() { umount2(path_.c_str(), MNT_DETACH); }

    DataFile open() const {
        return DataFile(Descriptor::open(path_ + "/user_events_data", O_RDWR));
    }
    /// Fails with EBUSY if a file is open there.
    Outcome unmount() const { return Outcome::of(umount2(path_.c_str(), 0)); }

private:
    const std::string path_ = "/tmp/" + unique_name("tracefs");
};

} // namespace

TEST_CASE("A file with the indexes of another one records its events") {
    Word word{0};
    DataFile first, second, third = open_device(), fourth;
    const Event event(unique_name("shared"));
    const std::uint32_t index = first.must_register(&word, 0, event.name() + " u32 a");
    Instance instance;
    REQUIRE(instance.enable(event).ok());
    CHECK(second.record(index, Payload().add(1)) == fails(ENOENT));
    REQUIRE(second.share_indexes(first) == succeeds());
    REQUIRE(third.share_indexes(first) == succeeds());
    REQUIRE(fourth.share_indexes(third) == succeeds());
    CHECK(second.record(index, Payload().add(2)).ok());
    CHECK(third.record(index, Payload().add(3)).ok());
    CHECK(fourth.record(index, Payload().add(4)).ok());
    CHECK(second.record(index + 1, Payload().add(5)) == fails(ENOENT));
    std::vector<long long> numbers;
    for (const Record& record : instance.records())
        numbers.push_back(record.number("a"));
    CHECK(numbers == std::vector<long long>{2, 3, 4});
    instance.disable(event);
}

TEST_CASE("An event that is registered later through any of the files has its index in all") {
    constexpr unsigned events = 70;
    const std::string name = unique_name("later");
    std::array<LongWord, 2> words{};
    std::array<DataFile, 3> files;
    REQUIRE(files[1].share_indexes(files[0]) == succeeds());
    REQUIRE(files[2].share_indexes(files[1]) == succeeds());
    for (unsigned i = 0; i < events; i++) {
        CAPTURE(i);
        CHECK(files[i % 3].must_register(&words[i / 64], i % 64, name + std::to_string(i), 8) == i);
        // Not ENOENT.
        for (DataFile& file : files)
            CHECK(file.record(i) == fails(EBADF));
        CHECK(files[(i + 1) % 3].record(i + 1) == fails(ENOENT));
    }
    const Enabled enabled(Event(name + std::to_string(events / 2)));
    for (DataFile& file : files)
        CHECK(file.record(events / 2).ok());
    CHECK(files[2].unregister(&words[0], 0).ok());
}

TEST_CASE("The indexes stay valid until the last file that has them is closed") {
    Word word{0};
    const Event event(unique_name("shared"));
    auto first = std::make_unique<DataFile>();
    DataFile second, third;
    const std::uint32_t index = first->must_register(&word, 0, event.name());
    REQUIRE(second.share_indexes(*first) == succeeds());
    REQUIRE(third.share_indexes(second) == succeeds());
    CHECK(first->unregister(&word, 0).ok());
    first.reset();
    second.close();
    Instance instance;
    REQUIRE(instance.enable(event).ok());
    CHECK(third.record(index).ok());
    instance.disable(event);
    CHECK(event.exists());
    third.close();
    CHECK(event.wait_removed());
}

TEST_CASE("A file that has indexes, or is shared, does not take over those of another") {
    Word word{0};
    DataFile owner, empty, other, sharer;
    const std::uint32_t index = owner.must_register(&word, 0, unique_name("owned"));
    CHECK(owner.share_indexes(empty) == fails(EBUSY));
    REQUIRE(sharer.share_indexes(empty) == succeeds());
    CHECK(sharer.share_indexes(owner) == fails(EBUSY));
    CHECK(empty.share_indexes(owner) == fails(EBUSY));
    // Neither in a circle, nor twice.
    CHECK(empty.share_indexes(sharer) == fails(EBUSY));
    CHECK(sharer.share_indexes(empty) == fails(EBUSY));
    CHECK(other.share_indexes(sharer) == succeeds());
    // The failures have changed nothing.
    CHECK(empty.record(index) == fails(ENOENT));
    CHECK(sharer.record(index) == fails(ENOENT));
    // No file has those of the empty one any more.
    sharer.close();
    CHECK(empty.share_indexes(owner) == fails(EBUSY));
    other.close();
    CHECK(empty.share_indexes(owner) == succeeds());
    CHECK(empty.record(index) == fails(EBADF));
}

TEST_CASE("Sharing with what is no other file of user_events fails") {
    DataFile file;
    const Descriptor duplicate(dup(file.descriptor()));
    CHECK(file.share_indexes(file) == fails(EINVAL));
    CHECK(file.share_indexes(duplicate.number()) == fails(EINVAL));
    for (const std::string& path :
         {std::string("/dev/null"), std::string("/dev/user_mark"), tracing_file("trace_marker")}) {
        CAPTURE(path);
        CHECK(file.share_indexes(Descriptor::open(path, O_WRONLY).number()) == fails(EINVAL));
    }
    const Descriptor status = Descriptor::open(tracing_file("user_events_status"), O_RDONLY);
    CHECK(file.share_indexes(status.number()) == fails(EINVAL));
    CHECK(Outcome::of(ioctl(status.number(), USER_EVENTS_SHARE_INDEXES, file.descriptor())) ==
          fails(ENOTTY));
    CHECK(file.share_indexes(-1) == fails(EBADF));
    CHECK(file.share_indexes(1 << 20) == fails(EBADF));
    const Descriptor path = Descriptor::open(tracing_file("user_events_data"), O_PATH);
    CHECK(file.share_indexes(path.number()) == fails(EBADF));
    // A failure changes nothing.
    CHECK(file.share_indexes(DataFile()) == succeeds());
}

TEST_CASE("Files share indexes only if both or neither may be written") {
    Word word{0};
    const Event event(unique_name("shared"));
    DataFile reader(O_RDONLY), writer(O_WRONLY);
    const std::uint32_t index = reader.must_register(&word, 0, event.name());
    const Enabled enabled(event);
    CHECK(DataFile(O_WRONLY).share_indexes(reader) == fails(EBADF));
    CHECK(DataFile(O_RDWR).share_indexes(reader) == fails(EBADF));
    DataFile second_reader(O_RDONLY);
    REQUIRE(second_reader.share_indexes(reader) == succeeds());
    CHECK(second_reader.record(index) == fails(EBADF));
    CHECK(DataFile(O_WRONLY).share_indexes(second_reader) == fails(EBADF));

    CHECK(writer.must_register(&word, 1, event.name()) == 0);
    // What is registered through the reader later could be written through the writer.
    DataFile third_reader(O_RDONLY), second_writer(O_WRONLY);
    CHECK(third_reader.share_indexes(writer) == fails(EBADF));
    REQUIRE(second_writer.share_indexes(writer) == succeeds());
    CHECK(second_writer.record(0).ok());
}

TEST_CASE("A closed file whose indexes another one has does not keep its mount busy") {
    Word word{0};
    DataFile sharing = open_device();
    const Event event(unique_name("mounted"));
    const Mounted mounted;
    std::optional<DataFile> source(mounted.open());
    const std::uint32_t index = source->must_register(&word, 0, event.name());
    REQUIRE(sharing.share_indexes(*source) == succeeds());
    CHECK(mounted.unmount() == fails(EBUSY));
    source->close();
    CHECK(mounted.unmount() == succeeds());
    CHECK(sharing.record(index) == fails(EBADF));
    CHECK(sharing.unregister(&word, 0).ok());
}

TEST_CASE("A program keeps the events of another one that has passed its file, and has exited") {
    const Event event(unique_name("passed"));
    DataFile sharing;
    Child child([&](Channel& channel) {
        Word word{0};
        DataFile file;
        file.must_register(&word, 0, event.name());
        channel.send_descriptor(file.descriptor());
        return channel.receive<int>();
    });
    {
        const DataFile passed(child.channel().receive_descriptor());
        REQUIRE(sharing.share_indexes(passed) == succeeds());
    }
    child.channel().send(0);
    CHECK(child.wait() == 0);
    Word word{0};
    CHECK(sharing.must_register(&word, 0, event.name()) == 0);
    {
        const Enabled enabled(event);
        CHECK(word == 1);
        CHECK(sharing.record(0).ok());
    }
    CHECK(sharing.unregister(&word, 0).ok());
    CHECK(event.exists());
    sharing.close();
    CHECK(event.wait_removed());
}

TEST_CASE("A user who has been passed a file shares its indexes, within the user's own limits") {
    const GivenTo given(unprivileged_uid);
    Setting limit("/proc/sys/kernel/user_events_max_per_user");
    limit.set("1");
    const std::string name = unique_name("of_user");
    const Event event(name);
    Word word{0};
    DataFile file, reader(O_RDONLY);
    file.must_register(&word, 0, name);
    reader.must_register(&word, 1, name);
    const Enabled enabled(event);
    Child child([&](Channel& channel) {
        become_user(unprivileged_uid);
        Word own{0};
        DataFile sharing = open_device();
        const DataFile passed(channel.receive_descriptor());
        const DataFile for_reading(channel.receive_descriptor());
        if (sharing.share_indexes(for_reading) != fails(EBADF) || sharing.record(0).ok())
            return 1;
        if (!sharing.share_indexes(passed).ok() || !sharing.record(0).ok())
            return 2;
        // The first index that root has not assigned.
        if (sharing.must_register(&own, 0, name + "_a") != 1)
            return 3;
        return sharing.register_event(&own, 1, name + "_b") == fails(EMFILE) ? 0 : 4;
    });
    child.channel().send_descriptor(file.descriptor());
    child.channel().send_descriptor(reader.descriptor());
    CHECK(child.wait() == 0);
    // What the user has registered stays in the table, and counts for the user.
    CHECK(file.record(1) == fails(EBADF));
    CHECK(status_line(name + "_a") == name + "_a");
    file.close();
    CHECK(Event(name + "_a").wait_removed());
}
