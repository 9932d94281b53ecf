// SPDX-License-Identifier: GPL-2.0-only
// Where the library looks for user_events_data, in a mount namespace with other files.
#include "catch.hpp"

#include <user_events/file.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace {

void require(bool is_done, const char* what) {
    if (!is_done)
        throw std::system_error(errno, std::generic_category(), what);
}

/// Returns what a function does in a child process.
std::string in_child(const std::function<std::string()>& function) {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    if (child == 0) {
        std::string result;
        try {
            result = function();
        } catch (const std::exception& error) {
            result = error.what();
        }
        const bool is_written =
            write(ends[1], result.data(), result.size()) == static_cast<ssize_t>(result.size());
        _exit(is_written ? 0 : 1);
    }
    close(ends[1]);
    std::string result(4096, '\0');
    const ssize_t size = read(ends[0], result.data(), result.size());
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    result.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return status == 0 ? result : "the child failed";
}

/// Gives the calling process a view of the file system in which it can mount.
void unshare_mounts() {
    const uid_t user = getuid();
    const gid_t group = getgid();
    require(unshare(CLONE_NEWNS | (user == 0 ? 0 : CLONE_NEWUSER)) == 0, "unshare");
    if (user != 0) {
        std::ofstream("/proc/self/setgroups") << "deny";
        std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
        std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
    }
    require(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "mount /");
}

/// The files that the library may find.
struct Places {
    /// Below /dev, /sys or /mnt, which are otherwise empty.
    std::vector<std::string> files;
    /// They exist too, but cannot be opened for writing.
    std::vector<std::string> directories;
    /// USER_EVENTS_FILE
    std::string variable;
};

/// Returns which file the library opens, or why it opens none.
std::string found(const Places& places) {
    return in_child([&] {
        unshare_mounts();
        for (const char* path : {"/dev", "/sys", "/mnt"})
            require(mount("tmpfs", path, "tmpfs", 0, nullptr) == 0, path);
        for (const std::string& file : places.files) {
            std::filesystem::create_directories(std::filesystem::path(file).parent_path());
            std::ofstream(file) << "";
        }
        for (const std::string& directory : places.directories)
            std::filesystem::create_directories(directory);
        unsetenv("USER_EVENTS");
        setenv("USER_EVENTS_FILE", places.variable.c_str(), 1);
        // Paths without a slash at the beginning must not be opened.
        std::filesystem::current_path("/");
        const int descriptor = user_events_find_and_open();
        return descriptor < 0
                   ? std::string(strerrorname_np(-descriptor))
                   : std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor))
                         .string();
    });
}

constexpr user_events_file closed{-1, 0, 0, 0, 0, -1};

void set_limit(rlim_t files) {
    rlimit limit;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = files;
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

/// All files of these tests are the same device.
bool open_file(user_events_file& file) {
    return user_events_file_use(&file, user_events_open_path("/dev/null")) == 0;
}

/// Returns which number the library takes if a program has few files and this limit.
int number_with_limit(rlim_t files) {
    return std::stoi(in_child([&] {
        close(STDIN_FILENO);
        set_limit(files);
        user_events_file file = closed;
        require(open_file(file), "open");
        return std::to_string(file.descriptor);
    }));
}

constexpr const char* device = "/dev/user_events/default";
constexpr const char* tracefs = "/sys/kernel/tracing/user_events_data";
constexpr const char* debugfs = "/sys/kernel/debug/tracing/user_events_data";

} // namespace

TEST_CASE("The file in the environment is opened, and no other one") {
    const std::string file = "/mnt/a b/file";
    CHECK(found({{file, device, tracefs}, {}, file}) == file);
    CHECK(found({{device, tracefs}, {}, file}) == "ENOENT");
}

TEST_CASE("An empty variable in the environment is none") {
    CHECK(found({{tracefs}, {}, ""}) == tracefs);
}

TEST_CASE("The device comes before tracefs") {
    CHECK(found({{device, tracefs, debugfs}, {}, ""}) == device);
    CHECK(found({{tracefs, debugfs}, {}, ""}) == tracefs);
    CHECK(found({{debugfs}, {}, ""}) == debugfs);
    CHECK(found({{}, {}, ""}) == "ENOENT");
}

TEST_CASE("A file that cannot be opened is passed over, and reported if there is no other") {
    CHECK(found({{tracefs}, {device}, ""}) == tracefs);
    CHECK(found({{}, {device}, ""}) == "EISDIR");
}

TEST_CASE("The descriptor has a number in the last quarter below 256, or below a lower limit") {
    const auto is_in = [](int number, int first, int last) {
        CAPTURE(number);
        CHECK(number >= first);
        CHECK(number <= last);
    };
    is_in(number_with_limit(8192), 192, 223);
    is_in(number_with_limit(256), 192, 223);
    is_in(number_with_limit(64), 48, 55);
    is_in(number_with_limit(20), 16, 17);
}

TEST_CASE("A file that is opened again takes its places in the two halves in turn") {
    CHECK(in_child([] {
              closefrom(100);
              user_events_file file = closed;
              std::vector<int> numbers;
              for (int i = 0; i < 4; i++) {
                  require(open_file(file), "open");
                  numbers.push_back(file.descriptor);
                  close(file.descriptor);
              }
              return std::to_string(numbers[1] - numbers[0]) + " " +
                     std::to_string(numbers[2] - numbers[0]) + " " +
                     std::to_string(numbers[3] - numbers[1]);
          }) == "32 0 0");
}

// By chance, two of many files may have the same place.
TEST_CASE("A file that is opened after closefrom() is mostly not taken for another one") {
    const std::string taken = in_child([] {
        set_limit(8000);
        static std::vector<user_events_file> files(200, closed);
        int wrong = 0;
        user_events_file lost = closed;
        require(open_file(lost), "open");
        for (user_events_file& file : files) {
            closefrom(100);
            require(open_file(file), "open");
            wrong += user_events_file_is_open(&lost);
        }
        return std::to_string(wrong);
    });
    CHECK(std::stoi(taken) <= 10);
}

TEST_CASE("After closefrom(), a file that is opened again takes no number of one that is not yet") {
    const std::string taken = in_child([] {
        set_limit(8000);
        static std::vector<user_events_file> files(8, closed);
        for (user_events_file& file : files)
            require(open_file(file), "open");
        closefrom(100);
        int wrong = 0;
        for (std::size_t i = 0; i < files.size(); i++) {
            require(open_file(files[i]), "open");
            for (std::size_t later = i + 1; later < files.size(); later++)
                wrong += files[i].descriptor == files[later].descriptor;
        }
        return std::to_string(wrong);
    });
    CHECK(std::stoi(taken) <= 1);
}
