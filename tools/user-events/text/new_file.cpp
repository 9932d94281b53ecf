// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/new_file.hpp"

#include "text/errors.hpp"
#include "text/write_all.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tool::text {

namespace {

std::set<std::pair<dev_t, ino_t>>& inputs() {
    static std::set<std::pair<dev_t, ino_t>> result;
    return result;
}

/// What an output can be: a new file, or a device or pipe as it is; or why neither, with an errno.
struct output_kind {
    bool is_as_it_is = false;
    int error = 0;
    std::string message;
    const char* remedy = "";
};

output_kind kind_of(const std::string& path) {
    struct stat link {
    }, found{};
    const bool is_link = lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
    const bool exists = stat(path.c_str(), &found) == 0;
    const auto refused = [&](int error, const char* what, const char* remedy) {
        return output_kind{false, error, fmt::format("{} is {}", path, what), remedy};
    };
    if (exists && inputs().count({found.st_dev, found.st_ino}))
        return refused(EBUSY, "also the file to read", "choose another file with -o");
    if (exists && S_ISDIR(found.st_mode))
        return refused(EISDIR, "a directory", "name a file with -o");
    // A file system may be on it; and a file with its name would replace it.
    if (exists && S_ISBLK(found.st_mode))
        return refused(ENOTSUP, "a block device", "name a file with -o");
    const bool is_as_it_is = exists && !S_ISREG(found.st_mode);
    if (is_link && !(is_as_it_is && path.starts_with("/dev/")))
        return refused(ELOOP, "a symbolic link",
                       "name a file with -o; without -o, export writes to standard output");
    return {is_as_it_is, 0, {}, ""};
}

/// Opens a character device or pipe. After kind_of(), the owner of its directory can have put
/// another file, or a link to one, in its place. So only links in /dev are followed, and what was
/// opened is looked at again before anything is written.
int open_as_it_is(const std::string& path) {
    const int how = path.starts_with("/dev/") ? 0 : O_NOFOLLOW;
    const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | how);
    struct stat found {};
    if (descriptor < 0 ||
        (fstat(descriptor, &found) == 0 && (S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode))))
        return descriptor;
    close(descriptor);
    throw system_failure(EBUSY, fmt::format("{} was replaced while it was opened", path), "");
}

/// Has the name of a file on the disk.
void sync_directory(const std::string& path) {
    const auto slash = path.rfind('/');
    const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
    const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0 || fsync(descriptor) != 0)
        warn(fmt::format("cannot have {} on the disk: {}", path, std::strerror(errno)));
    if (descriptor >= 0)
        close(descriptor);
}

} // namespace

int append_to_file(const std::string& path, std::string_view text, bool exists) {
    const int descriptor =
        open(path.c_str(),
             O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (exists ? O_APPEND : O_CREAT | O_EXCL), 0600);
    const bool is_written = descriptor >= 0 && write_all(descriptor, text);
    const int error = errno;
    // Some file systems report when the file is closed that the disk is full.
    if (descriptor >= 0 && close(descriptor) != 0 && is_written)
        return errno;
    return is_written ? 0 : error;
}

std::string contents_of(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        throw file_failure(errno, "read", path);
    std::string result;
    std::array<char, 1 << 16> part;
    ssize_t size = 0;
    while ((size = read(descriptor, part.data(), part.size())) > 0 || (size < 0 && errno == EINTR))
        result.append(part.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    const int error = errno;
    close(descriptor);
    if (size < 0)
        throw file_failure(error, "read", path);
    return result;
}

void protect_input(int descriptor) {
    struct stat found {};
    if (fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode))
        inputs().emplace(found.st_dev, found.st_ino);
}

bool is_output_as_it_is(const std::string& path) {
    const output_kind found = kind_of(path);
    if (found.error)
        throw usage_error(found.message, found.remedy);
    return found.is_as_it_is;
}

new_file::new_file(std::string path) : path_(std::move(path)), maker_(getpid()) {
    const output_kind kind = kind_of(path_);
    if (kind.error)
        throw system_failure(kind.error, kind.message, kind.remedy);
    if (kind.is_as_it_is) {
        descriptor_ = open_as_it_is(path_);
    } else {
        temporary_ = path_ + ".part-XXXXXX";
        // With O_EXCL, and the mode 0600.
        descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
    }
    if (descriptor_ < 0)
        fail();
}

new_file::~new_file() {
    if (descriptor_ < 0)
        return;
    close(descriptor_);
    if (!temporary_.empty() && getpid() == maker_)
        unlink(temporary_.c_str());
}

void new_file::fail() const {
    throw file_failure(errno ? errno : EIO, "write", path_);
}

void new_file::write(std::string_view text) {
    if (!write_all(descriptor_, text))
        fail();
}

void new_file::keep_old() {
    if (!temporary_.empty() && rename(path_.c_str(), (path_ + ".old").c_str()) != 0 &&
        errno != ENOENT)
        fail();
}

void new_file::finish(bool sync) {
    if (sync && fsync(descriptor_) != 0)
        fail();
    // Some file systems report when the file is closed that the disk is full.
    const int result = close(std::exchange(descriptor_, -1));
    if (getpid() != maker_) {
        if (result != 0)
            fail();
        return;
    }
    if (result == 0 && (temporary_.empty() || rename(temporary_.c_str(), path_.c_str()) == 0)) {
        if (sync)
            sync_directory(path_);
        return;
    }
    const int error = errno;
    if (!temporary_.empty())
        unlink(temporary_.c_str());
    throw file_failure(error, "write", path_);
}

} // namespace tool::text
