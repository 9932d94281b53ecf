// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of a recording while it is made, also after the process was killed.
#pragma once

#include "text/errors.hpp"
#include "tracing/buffers.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <fcntl.h>
#include <fmt/format.h>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tool {

/// What an instance has recorded, since the recording began. Of one that is mounted, others may
/// have read records before.
class progress {
public:
    /// What there was when the recording began: all numbers of a new instance are 0.
    struct beginning {
        std::uint64_t records = 0;
        std::uint64_t lost = 0;
    };

    explicit progress(const tracing::instance& in)
        : progress(in, {in.is_mounted() ? tracing::read_records(in) : 0,
                        in.is_mounted() ? tracing::lost_records(in) : 0}) {}
    progress(const tracing::instance& in, const beginning& since) : in_(in), since_(since) {}

    const beginning& since() const noexcept { return since_; }
    std::uint64_t records() const {
        return (in_.is_mounted() ? tracing::read_records(in_) : tracing::made_records(in_)) -
               since_.records;
    }
    std::uint64_t lost() const { return tracing::lost_records(in_) - since_.lost; }

private:
    const tracing::instance& in_;
    beginning since_;
};

/// The file FILE.recording. It says which instance records into FILE, for --recover, and is locked
/// by the process that writes FILE. A name that begins with a slash is the directory of a mounted
/// instance; the second line has what there was when the recording began, and the number of its
/// first part, 0 if it has none.
class recording_note {
public:
    explicit recording_note(const std::string& output)
        : output_(output), path_(output + ".recording") {
        file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        struct stat found {};
        if (file_ < 0 || fstat(file_, &found) != 0) {
            const int error = errno;
            // If this file is not in the way, it is the directory of both that is wrong.
            throw text::file_failure(error, "write",
                                     lstat(path_.c_str(), &found) == 0 ? path_ : output);
        }
        struct stat named {};
        // The process that had the lock may have removed the file in the meantime.
        const bool is_locked = flock(file_, LOCK_EX | LOCK_NB) == 0 &&
                               stat(path_.c_str(), &named) == 0 && named.st_ino == found.st_ino;
        std::array<char, PATH_MAX + 64> text{};
        const ssize_t size = pread(file_, text.data(), text.size(), 0);
        std::istringstream lines(
            std::string(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0));
        std::getline(lines, instance_);
        lines >> since_.records >> since_.lost >> first_part_;
        // A link could make it any file of this user.
        if (!S_ISREG(found.st_mode) || found.st_nlink > 1 || found.st_uid != geteuid() ||
            (found.st_size > 0 && !is_mounted() &&
             !instance_.starts_with(tracing::temporary_prefix)))
            throw text::failure(fmt::format("{} is not a file of `user-events record`", path_),
                                "choose another file with -o");
        if (!is_locked)
            throw text::failure(
                fmt::format("{} is still being recorded", output),
                instance_.starts_with(tracing::temporary_prefix)
                    ? fmt::format("end it: kill {}; or choose another file with -o",
                                  instance_.substr(tracing::temporary_prefix.size()))
                    : "choose another file with -o");
    }
    recording_note(const recording_note&) = delete;
    recording_note& operator=(const recording_note&) = delete;
    ~recording_note() {
        if (instance_.empty())
            remove();
        close(file_);
    }

    /// The instance whose records are in the files; empty if there is none.
    const std::string& instance() const noexcept { return instance_; }
    bool is_mounted() const noexcept { return instance_.starts_with('/'); }
    const progress::beginning& since() const noexcept { return since_; }
    std::uint64_t first_part() const noexcept { return first_part_; }
    void set_instance(const std::string& name, const progress::beginning& since,
                      std::uint64_t first_part = 0) {
        const std::string text =
            fmt::format("{}\n{} {} {}\n", name, since.records, since.lost, first_part);
        if (ftruncate(file_, 0) != 0 ||
            pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
            throw text::file_failure(errno, "write", path_);
        instance_ = name;
    }
    const std::string& path() const noexcept { return path_; }
    void remove() noexcept { unlink(path_.c_str()); }

    /// Throws text::failure if the files are of a recording that can be finished.
    void refuse_interrupted() const {
        const auto names = is_mounted() ? std::vector<std::string>() : tracing::instance_names();
        if (std::find(names.begin(), names.end(), instance_) != names.end() ||
            (is_mounted() && access(instance_.c_str(), F_OK) == 0))
            throw text::failure(
                fmt::format("a recording of {} was interrupted", output_),
                fmt::format("finish it: user-events record --recover -o {}", output_));
    }

private:
    std::string output_;
    std::string path_;
    std::string instance_;
    progress::beginning since_;
    std::uint64_t first_part_ = 0;
    int file_;
};

} // namespace tool
