// SPDX-License-Identifier: GPL-2.0-only
// The files of user_events: their modes, the operations that fail, and the limit of events.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "ioctl_numbers.hpp"
#include "mapping.hpp"
#include "setting.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <filesystem>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace {

const std::string limit_file = "/proc/sys/kernel/user_events_max";
const std::string user_limit_file = "/proc/sys/kernel/user_events_max_per_user";
const std::string registrations_limit_file =
    "/proc/sys/kernel/user_events_registrations_max_per_user";

struct stat status_of(const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0)
        throw_errno("stat " + path);
    return status;
}

mode_t mode_of(const std::string& path) {
    return status_of(path).st_mode & (S_IFMT | 07777);
}

/// The errno of opening a file as a user without other groups than one with the user's number, or
/// 0.
int error_of_open(uid_t user, const std::string& path, int flags) {
    return in_child([&] {
        become_user(user);
        return ::open(path.c_str(), flags) < 0 ? errno : 0;
    });
}

/// Changes the group of users and the mode of a file. The destructor changes it back.
class Access {
public:
    Access(std::string path, gid_t group, mode_t mode)
        : path_(std::move(path)), before_(status_of(path_)) {
        set(group, mode);
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    ~Access() { set(before_.st_gid, before_.st_mode & 07777); }

private:
    void set(gid_t group, mode_t mode) const {
        // chown() clears bits of the mode.
        if (chown(path_.c_str(), 0, group) == 0 && chmod(path_.c_str(), mode) == 0)
            return;
        WARN(path_ << " keeps its group and mode");
    }

    const std::string path_;
    const struct stat before_;
};

/// Mounts tracefs again. Throws std::system_error.
void remount(const std::string& options) {
    if (mount(nullptr, tracing_file("").c_str(), nullptr, MS_REMOUNT, options.c_str()) != 0)
        throw_errno("remount with " + options);
}

} // namespace

TEST_CASE("user_events_data and _groups have mode 0640, user_events_status 0440, the limits 0644") {
    CHECK(mode_of(tracing_file("user_events_groups")) == (S_IFREG | 0640));
    CHECK(mode_of(tracing_file("user_events_data")) == (S_IFREG | 0640));
    CHECK(mode_of(tracing_file("user_events_status")) == (S_IFREG | 0440));
    CHECK(mode_of(limit_file) == (S_IFREG | 0644));
    CHECK(mode_of(user_limit_file) == (S_IFREG | 0644));
    CHECK(mode_of(registrations_limit_file) == (S_IFREG | 0644));
}

// As the administrator guide has it in modprobe.d.
TEST_CASE(
    "Members of the file's group register, if they may search the directory, and nobody else") {
    const std::string path = tracing_file("user_events_data");
    const Access file(path, unprivileged_uid, 0660);
    CHECK(error_of_open(unprivileged_uid, path, O_RDWR) == EACCES);
    const Access directory(tracing_file(""), 0, 0711);
    CHECK(error_of_open(unprivileged_uid, path, O_RDWR) == 0);
    CHECK(error_of_open(unprivileged_uid - 1, path, O_RDONLY) == EACCES);
    CHECK(error_of_open(unprivileged_uid, tracing_file("trace"), O_RDONLY) == EACCES);
    CHECK(error_of_open(unprivileged_uid, tracing_file(""), O_RDONLY | O_DIRECTORY) == EACCES);
}

TEST_CASE("No file of tracefs is open to users who may search its directories") {
    std::vector<std::string> open_to_others;
    std::size_t seen = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(tracing_file(""))) {
        const auto status = file.symlink_status();
        seen++;
        if (!std::filesystem::is_directory(status) &&
            (status.permissions() & std::filesystem::perms::others_all) !=
                std::filesystem::perms::none)
            open_to_others.push_back(file.path());
    }
    CHECK(seen > 1000);
    CHECK(open_to_others.empty());
}

TEST_CASE("With the mount options gid= and mode=750, a group reads all files, but does not write") {
    const std::string path = tracing_file("user_events_data");
    REQUIRE(mode_of(tracing_file("")) == (S_IFDIR | 0700));
    {
        const Access file(path, unprivileged_uid - 1, 0640);
        remount("gid=" + std::to_string(unprivileged_uid) + ",mode=750");
        CHECK(status_of(path).st_gid == unprivileged_uid);
        CHECK(error_of_open(unprivileged_uid, tracing_file(""), O_RDONLY | O_DIRECTORY) == 0);
        for (const char* name : {"trace", "user_events_status", "user_events_data"})
            CHECK(error_of_open(unprivileged_uid, tracing_file(name), O_RDONLY) == 0);
        CHECK(error_of_open(unprivileged_uid, path, O_RDWR) == EACCES);
        CHECK(error_of_open(unprivileged_uid - 1, path, O_RDONLY) == EACCES);
    }
    remount("gid=0,mode=700");
    CHECK(mode_of(tracing_file("")) == (S_IFDIR | 0700));
    CHECK(status_of(path).st_gid == 0);
}

TEST_CASE("read, lseek and mmap of user_events_data fail") {
    DataFile file;
    char byte;
    CHECK(Outcome::of(read(file.descriptor(), &byte, 1)) == fails(EINVAL));
    CHECK(Outcome::of(lseek(file.descriptor(), 0, SEEK_SET)) == fails(ESPIPE));
    CHECK(Outcome::of(lseek(file.descriptor(), 0, SEEK_CUR)) == fails(ESPIPE));
    for (int protection : {PROT_READ, PROT_READ | PROT_WRITE}) {
        void* start = mmap(nullptr, page_size, protection, MAP_SHARED, file.descriptor(), 0);
        CHECK(Outcome::of(start == MAP_FAILED ? -1 : 0) == fails(ENODEV));
    }
}

TEST_CASE("An unknown ioctl of user_events_data fails with ENOTTY") {
    DataFile file;
    user_reg reg{};
    const unsigned long requests[] = {
        0,
        TCGETS,
        _IO(DIAG_IOC_MAGIC, 0),
        _IOWR(DIAG_IOC_MAGIC, 0, user_reg),
        _IOW(DIAG_IOC_MAGIC, 0, user_reg*),
        _IOWR(DIAG_IOC_MAGIC, 1, char*),
        _IOW(DIAG_IOC_MAGIC, 2, user_unreg),
        _IOW(DIAG_IOC_MAGIC, 3, user_unreg*),
        _IOWR('+', 0, user_reg*),
    };
    for (unsigned long request : requests) {
        CAPTURE(request);
        CHECK(file.control(request, &reg) == fails(ENOTTY));
    }
    CHECK(answered_ioctl_numbers(file) == ioctl_numbers);
}

TEST_CASE("REG works in any open mode, writing records only in a writable one") {
    Word word{0};
    const std::string name = unique_name("mode");
    const int mode = GENERATE(O_RDONLY, O_WRONLY, O_RDWR);
    CAPTURE(mode);
    DataFile file(mode);
    const std::uint32_t index = file.must_register(&word, 0, name);
    Enabled enabled{Event(name)};
    CHECK(word == 1);
    CHECK(file.record(index) == (mode == O_RDONLY ? fails(EBADF) : succeeds(4)));
    CHECK(file.unregister(&word, 0) == succeeds());
}

TEST_CASE("The default limit of events is 32768") {
    CHECK(read_text(limit_file) == "32768\n");
}

TEST_CASE("REG of a new event fails with EMFILE when the limit is reached") {
    Word words[64] = {};
    DataFile file, filling;
    const std::string name = unique_name("limit");
    REQUIRE(file.register_event(&words[0], 0, name + " u32 a") == succeeds());

    const unsigned long limit_of_events = stable_status_count("Active: ");
    Setting limit(limit_file);
    limit.set(std::to_string(limit_of_events));
    Outcome outcome = succeeds();
    for (std::size_t i = 1; i < std::size(words) && outcome.ok(); i++)
        outcome = filling.register_event(&words[i], 0, unique_name("limit"));
    REQUIRE(outcome == fails(EMFILE));
    CHECK(status_count("Active: ") == limit_of_events);

    CHECK(file.register_event(&words[0], 1, unique_name("limit"), 4, USER_EVENT_REG_MULTI_FORMAT) ==
          fails(EMFILE));
    SECTION("which is checked after the fields, and before the word is written") {
        Mapping unwritable(1, PROT_READ);
        CHECK(file.register_event(&words[0], 1, unique_name("limit") + " bad a") == fails(EINVAL));
        CHECK(file.register_event(unwritable.at(), 1, unique_name("limit")) == fails(EMFILE));
    }
    SECTION("an existing event can still be registered") {
        CHECK(file.register_event(&words[0], 1, name + " u32 a") == succeeds());
        CHECK(file.register_event(&words[0], 2, name + " u32 b") == fails(EADDRINUSE));
    }
    SECTION("a new event can be registered after another one was removed") {
        CHECK(file.unregister(&words[0], 0) == succeeds());
        file.close();
        CHECK(eventually(
            [&] { return filling.register_event(&words[0], 1, unique_name("limit")).ok(); }));
    }
}
