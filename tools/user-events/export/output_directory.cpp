// SPDX-License-Identifier: GPL-2.0-only
#include "export/output_directory.hpp"

#include "text/errors.hpp"

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

namespace tool::exporting {

namespace {

/// The working directory of the process that writes.
constexpr char workplace[] = "/work";

/// Returns whether it was made. Throws text::failure unless it is empty.
bool make_directory(const std::string& path) {
    const bool is_new = mkdir(path.c_str(), 0700) == 0;
    if (!is_new && errno != EEXIST)
        throw text::file_failure(errno, "make the directory", path);
    std::error_code error;
    if (!std::filesystem::is_empty(path, error) || error)
        throw text::failure(error ? fmt::format("cannot use {}: {}", path, error.message())
                                  : fmt::format("the directory {} is not empty", path),
                            "give a directory of its own with -o");
    return is_new;
}

/// Makes the file one of this process's user, in this directory. A link to a file of another
/// directory is not moved, because its owner would change there, too.
void take(const std::string& from, const std::string& to) {
    struct stat found {};
    if (lstat(from.c_str(), &found) != 0)
        throw text::file_failure(errno, "write", to);
    if (!S_ISREG(found.st_mode) || found.st_nlink != 1)
        throw text::failure(fmt::format("cannot write {}: it is no file of its own", to));
    if ((found.st_uid != geteuid() && lchown(from.c_str(), geteuid(), getegid()) != 0) ||
        chmod(from.c_str(), found.st_mode & 0777) != 0 || rename(from.c_str(), to.c_str()) != 0)
        throw text::file_failure(errno, "write", to);
}

} // namespace

output_directory::output_directory(std::string path)
    : path_(std::move(path)), parts_(path_ + "/.part-XXXXXX"), is_new_(make_directory(path_)),
      maker_(getpid()) {
    // Only this process's user can pass it. So what is below can be open to all.
    const bool is_made = mkdtemp(parts_.data()) != nullptr;
    const std::string place = parts_ + workplace;
    if (!is_made || mkdir(place.c_str(), 0700) != 0 || chmod(place.c_str(), 0777) != 0) {
        const int error = errno;
        if (is_made)
            remove_parts();
        if (is_new_)
            rmdir(path_.c_str());
        throw text::file_failure(error, "write to", path_);
    }
}

output_directory::~output_directory() {
    if (getpid() != maker_)
        return;
    remove_parts();
    if (is_new_ && !is_complete_)
        rmdir(path_.c_str());
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
    std::error_code error;
    const std::filesystem::path written = parts_ + workplace + "/" + files;
    // Without a record there may be none.
    for (std::filesystem::directory_iterator each(written, error), end; each != end;
         each.increment(error)) {
        take(each->path().string(), path_ + "/" + each->path().filename().string());
        if (error)
            break;
    }
    if (error && error != std::errc::no_such_file_or_directory)
        throw text::failure(fmt::format("cannot write to {}: {}", path_, error.message()));
    is_complete_ = true;
}

} // namespace tool::exporting
