// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/stacks.hpp"

#include "recording/record.hpp"
#include "recording/ring_buffer.hpp"
#include "recording/stack.hpp"
#include "text/errors.hpp"
#include "tracing/events.hpp"

#include <bit>
#include <fmt/format.h>
#include <span>
#include <unistd.h>
#include <utility>

namespace tool::tracing {

stacks::stacks(const instance& of, const wanted_stacks& wanted) : of_(of) {
    const auto set = [&](const char* option) {
        if (const int error = of.try_write(fmt::format("options/{}", option), "1"))
            throw text::file_failure(error, "write", of.path(fmt::format("options/{}", option)));
    };
    if (wanted.is_kernel)
        set("stacktrace");
    if (wanted.is_user) {
        formats formats(of.copy());
        if (const tep_event* const format = formats.find({"ftrace", "user_stack"})) {
            event_ = std::make_unique<recording::event_type>(*format);
            mappings_.emplace();
        }
        set("userstacktrace");
    }
}

void stacks::find_frames(int file, std::size_t page_size, off_t& at) {
    recording::ring_buffer buffer(0, {.size = page_size}, [&](std::span<std::byte> page) {
        const bool is_whole =
            pread(file, page.data(), page.size(), at) == static_cast<ssize_t>(page.size());
        at += is_whole ? static_cast<off_t>(page.size()) : 0;
        return is_whole;
    });
    for (buffer.advance(); buffer.has_record(); buffer.advance()) {
        const auto head =
            recording::to_head(buffer.data(), std::endian::native == std::endian::big);
        if (head.event != event_->id)
            continue;
        const int process = recording::stack_process(*event_, buffer.data());
        for (const std::uint64_t address : recording::stack_addresses(*event_, buffer.data()))
            if (auto where = mappings_->table().find(process, address, buffer.time()))
                frames_.insert({process, address, std::move(where)});
    }
}

void stacks::take(const cpu_files& files) {
    if (!mappings_)
        return;
    mappings_->take();
    for (const int file : files.descriptors())
        find_frames(file, files.page_size(), ends_[file]);
    mappings_->forget();
}

std::string stacks::names(const cpu_files& files) {
    take(files);
    if (mappings_ && mappings_->lost())
        text::warn(fmt::format("{} messages about mapped files were lost: some functions have no "
                               "names",
                               mappings_->lost()));
    wanted_places wanted;
    for (const frame& frame : frames_)
        if (frame.where->path.starts_with('/'))
            wanted[frame.file()].insert(frame.place());
    const named_places names = find_symbols(wanted);
    recording::frame_list list;
    for (const frame& frame : frames_) {
        const std::string& path = frame.where->path;
        const auto named = names.find({frame.file(), frame.place()});
        list[{frame.process, frame.address}][frame.where->since] =
            named == names.end() ? fmt::format("{}+{:#x}", path, frame.place() + 1)
                                 : fmt::format("{} ({})", named->second, path);
    }
    frames_.clear();
    ends_.clear();
    return recording::to_text(list);
}

} // namespace tool::tracing
