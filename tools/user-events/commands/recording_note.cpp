// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/recording_note.hpp"

#include "text/errors.hpp"
#include "text/output.hpp"
#include "text/quantity.hpp"
#include "tracing/buffers.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <fcntl.h>
#include <fmt/format.h>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tool {

const char* same_line() {
    static const bool is_terminal = isatty(STDERR_FILENO);
    return is_terminal ? "\r\x1b[K" : "";
}

namespace {

/// A count that is less than before began at 0 again: others may empty a mounted instance.
std::uint64_t counted_since(std::uint64_t before, std::uint64_t now) {
    return now < before ? now : now - before;
}

} // namespace

progress::progress(const tracing::instance& in)
    : progress(in, {in.is_mounted() ? tracing::read_records(in) : 0,
                    in.is_mounted() ? tracing::lost_records(in) : 0}) {}

std::uint64_t progress::records() const {
    return counted_since(since_.records, in_.is_mounted() ? tracing::read_records(in_)
                                                          : tracing::made_records(in_));
}

std::uint64_t progress::lost() const {
    return counted_since(since_.lost, tracing::lost_records(in_));
}

void progress::show(std::uint64_t size) {
    const auto now = std::chrono::steady_clock::now();
    if (!*same_line() || now < next_)
        return;
    next_ = now + std::chrono::milliseconds(500);
    text::say(fmt::format("{}{} records, {}, {} lost", same_line(), records(),
                          text::from_bytes(size), lost()));
}

void progress::say_end(const std::string& files, std::uint64_t killed) const {
    const auto lost = this->lost();
    text::say(fmt::format("{}{}: {} records, {} lost\n", same_line(), files, records() - killed,
                          lost + killed));
    if (killed)
        text::warn(
            fmt::format("{} records were taken out of the kernel, and not written before the "
                        "process was killed",
                        killed));
    if (lost)
        text::warn(in_.is_mounted()
                       ? "an administrator can make the buffers larger, with buffer_size_kb"
                       : "--buffer makes the buffers larger; --filter and --pid record less");
}

recording_note::recording_note(const std::string& output)
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
    if (std::uint64_t part = 0, taken = 0; lines >> part >> taken) {
        part_ = part;
        taken_ = taken;
    }
    // A link could make it any file of this user.
    if (!S_ISREG(found.st_mode) || found.st_nlink > 1 || found.st_uid != geteuid() ||
        (found.st_size > 0 && !is_mounted() && !instance_.starts_with(tracing::temporary_prefix)))
        throw text::failure(fmt::format("{} is not a file of `user-events record`", path_),
                            "choose another file with -o");
    if (!is_locked)
        throw text::failure(fmt::format("{} is still being recorded", output),
                            instance_.starts_with(tracing::temporary_prefix)
                                ? fmt::format("end it: kill {}; or choose another file with -o",
                                              instance_.substr(tracing::temporary_prefix.size()))
                                : "choose another file with -o");
}

recording_note::~recording_note() {
    if (instance_.empty())
        remove();
    close(file_);
}

void recording_note::set_instance(const std::string& name, const progress::beginning& since,
                                  std::uint64_t first_part) {
    since_ = since;
    first_part_ = first_part;
    instance_ = name;
    begin_part(first_part, since.records);
}

void recording_note::begin_part(std::uint64_t number, std::uint64_t taken) {
    const std::string text = fmt::format("{}\n{} {} {}\n{} {}\n", instance_, since_.records,
                                         since_.lost, first_part_, number, taken);
    // The process can be killed between the two calls.
    if (pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
        ftruncate(file_, static_cast<off_t>(text.size())) != 0)
        throw text::file_failure(errno, "write", path_);
}

std::uint64_t recording_note::killed(std::uint64_t taken, std::uint64_t number,
                                     const tracing::cpu_files& files) const {
    // The part of the note may have no files yet.
    const std::uint64_t written = number < part_ ? 0 : files.records();
    return taken > taken_ + written ? taken - taken_ - written : 0;
}

void recording_note::remove() noexcept {
    // Once only: after that, the name may be that of another process's note.
    if (!std::exchange(is_removed_, true))
        unlink(path_.c_str());
}

void recording_note::refuse_interrupted() const {
    const auto names = is_mounted() ? std::vector<std::string>() : tracing::instance_names();
    if (std::find(names.begin(), names.end(), instance_) != names.end() ||
        (is_mounted() && access(instance_.c_str(), F_OK) == 0))
        throw text::failure(fmt::format("a recording of {} was interrupted", output_),
                            fmt::format("finish it: user-events record --recover -o {}", output_));
}

} // namespace tool
