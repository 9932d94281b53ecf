// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/opened.hpp"

#include "recording/merged.hpp"
#include "text/errors.hpp"
#include "tracing/parts.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tool::recording {

namespace {

/// The paths, with the parts in the place of those that have any.
std::vector<std::string> with_parts(const std::vector<std::string>& paths) {
    std::vector<std::string> result;
    for (const auto& path : paths) {
        struct stat found {};
        const auto parts = stat(path.c_str(), &found) == 0 ? std::vector<std::uint64_t>()
                                                           : tracing::part_numbers(path);
        if (parts.empty())
            result.push_back(path);
        for (const auto number : parts)
            result.push_back(tracing::part_name(path, number));
    }
    return result;
}

} // namespace

opened_recording::opened_recording(const std::vector<std::string>& paths, std::string align)
    : align_(std::move(align)), name_(paths.front()) {
    std::set<std::pair<dev_t, ino_t>> seen;
    for (const auto& path : with_parts(paths)) {
        const input& added = *inputs_.emplace_back(std::make_unique<input>(path));
        struct stat found {};
        if (fstat(added.descriptor(), &found) == 0 &&
            !seen.emplace(found.st_dev, found.st_ino).second)
            throw text::usage_error(fmt::format("{} is there twice", path));
    }
    if (paths.size() > 1)
        name_ += fmt::format(" and {} other{}", paths.size() - 1, paths.size() > 2 ? "s" : "");
    if (inputs_.size() == 1 && !align_.empty())
        throw text::usage_error("--align is for recordings of several machines");
    if (inputs_.size() > 1)
        for (const auto& each : inputs_)
            if (is_perf_data(*each))
                throw text::usage_error(
                    fmt::format("{} is a recording of perf, which cannot be merged with others",
                                each->path()),
                    "those of `user-events record` and `trace-cmd record` can be merged");
}

std::uint64_t opened_recording::size() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& each : inputs_)
        sum += each->size_on_disk();
    return sum;
}

void opened_recording::start(bool is_raw) {
    if (inputs_.size() == 1 && is_perf_data(*inputs_[0]))
        perf_.emplace(*inputs_[0], is_raw);
}

std::unique_ptr<source> opened_recording::read(const selection& selection) const {
    if (perf_)
        return std::make_unique<perf_data>(*perf_, selection);
    if (inputs_.size() > 1)
        return std::make_unique<merged>(inputs_, selection, align_);
    auto result = std::make_unique<file>(*inputs_[0], selection);
    warn_about_times(*result, "");
    return result;
}

void opened_recording::finish() {
    if (perf_)
        perf_->finish();
}

bool is_recording(const std::string& path) {
    if (access(path.c_str(), F_OK) != 0)
        return !tracing::part_numbers(path).empty();
    std::array<char, std::max(trace_dat_magic.size(), perf_data_magic.size())> head{};
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t size = descriptor < 0 ? 0 : pread(descriptor, head.data(), head.size(), 0);
    if (descriptor >= 0)
        close(descriptor);
    const std::string_view begin(head.data(), static_cast<std::size_t>(size > 0 ? size : 0));
    return begin.starts_with(trace_dat_magic) || begin.starts_with(perf_data_magic);
}

} // namespace tool::recording
