// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/output_directory.hpp"

#include "text/errors.hpp"
#include "text/new_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tool::exporting {

namespace {

/// The working directory of the process that writes.
constexpr char workplace[] = "/work";

/// Keeps a directory that is not empty as PATH.old. Returns whether there was one.
bool keep_old(const std::string& path) {
    std::error_code error;
    if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
        throw text::failure(fmt::format("{} is a file", path), "name a directory with -o");
    const bool is_free =
        !std::filesystem::exists(path, error) || std::filesystem::is_empty(path, error);
    if (!error && !is_free && rename(path.c_str(), (path + ".old").c_str()) != 0)
        throw text::file_failure(errno, "keep the directory as", path + ".old");
    return !error && !is_free;
}

/// Returns whether it was made.
bool make_directory(const std::string& path) {
    const bool is_new = mkdir(path.c_str(), 0700) == 0;
    if (!is_new && errno != EEXIST)
        throw text::file_failure(errno, "make the directory", path);
    return is_new;
}

class descriptor {
public:
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (number_ >= 0)
            close(number_);
    }
    int number() const noexcept { return number_; }

private:
    int number_;
};

/// Makes the file one of this process's user. Nothing here follows a link. A link to a file of
/// another directory is refused, because its owner would change there, too.
void take(int directory, const std::string& name, const std::string& shown) {
    const descriptor file(
        openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat found {};
    if (file.number() >= 0 && fstat(file.number(), &found) != 0)
        throw text::file_failure(errno, "write", shown);
    if (file.number() < 0 || !S_ISREG(found.st_mode) || found.st_nlink != 1)
        throw text::failure(fmt::format("cannot write {}: it is no file of its own", shown));
    if ((found.st_uid != geteuid() && fchown(file.number(), geteuid(), getegid()) != 0) ||
        fchmod(file.number(), found.st_mode & 0777) != 0)
        throw text::file_failure(errno, "write", shown);
}

/// The names of what is in the directory.
std::vector<std::string> names_in(const std::string& path, std::error_code& error) {
    std::vector<std::string> result;
    for (std::filesystem::directory_iterator each(path, error), end; !error && each != end;
         each.increment(error))
        result.push_back(each->path().filename().string());
    return result;
}

} // namespace

output_directory::output_directory(std::string path)
    : path_(std::move(path)), parts_(path_ + "/.part-XXXXXX"), is_kept_(keep_old(path_)),
      is_new_(make_directory(path_)), maker_(getpid()) {
    // Only this process's user can pass it. So what is below can be open to all.
    const bool is_made = mkdtemp(parts_.data()) != nullptr;
    const std::string place = parts_ + workplace;
    if (!is_made || mkdir(place.c_str(), 0700) != 0 || chmod(place.c_str(), 0777) != 0) {
        const int error = errno;
        if (is_made)
            remove_parts();
        remove_new();
        throw text::file_failure(error, "write to", path_);
    }
}

output_directory::~output_directory() {
    if (getpid() != maker_)
        return;
    remove_parts();
    if (!is_complete_)
        remove_new();
}

void output_directory::remove_new() noexcept {
    if (is_new_)
        rmdir(path_.c_str());
    if (is_kept_)
        (void)rename((path_ + ".old").c_str(), path_.c_str());
}

void output_directory::remove_parts() noexcept {
    std::error_code error;
    std::filesystem::remove_all(parts_, error);
}

void output_directory::enter() const {
    if (chdir((parts_ + workplace).c_str()) != 0)
        throw text::file_failure(errno, "write to", path_);
}

void output_directory::finish() {
    const std::string written = parts_ + workplace;
    const descriptor from(open(written.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (from.number() < 0)
        throw text::file_failure(errno, "write to", path_);
    std::error_code error;
    const std::vector<std::string> names =
        names_in(fmt::format("/proc/self/fd/{}", from.number()), error);
    if (error)
        throw text::failure(fmt::format("cannot write to {}: {}", path_, error.message()));
    for (const std::string& name : names)
        take(from.number(), name, path_ + "/" + name);
    for (const std::string& name : names) {
        const std::string to = path_ + "/" + name;
        // Not every file system can refuse to replace a file.
        if (renameat2(from.number(), name.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0 &&
            (errno != EINVAL || renameat(from.number(), name.c_str(), AT_FDCWD, to.c_str()) != 0))
            throw text::file_failure(errno, "write", to);
    }
    is_complete_ = true;
}

void add_to_file(const std::string& directory, const std::string& name, std::string_view text,
                 bool exists) {
    if (const int error = text::append_to_file(name, text, exists))
        throw text::file_failure(error, "write", directory + "/" + name);
}

} // namespace tool::exporting
