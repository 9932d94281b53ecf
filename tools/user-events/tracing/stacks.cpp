// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/stacks.hpp"

#include "recording/record.hpp"
#include "recording/ring_buffer.hpp"
#include "recording/stack.hpp"
#include "text/errors.hpp"
#include "tracing/events.hpp"
#include "tracing/symbols.hpp"

#include <bit>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unistd.h>
#include <utility>

namespace tool::tracing {

namespace {

/// A function in a stack: its process, its address, and the mapping that has it.
struct found_frame {
    int process;
    std::uint64_t address;
    const mapping* where;

    bool operator<(const found_frame& other) const {
        return std::tie(process, address, where) <
               std::tie(other.process, other.address, other.where);
    }
    /// A return address is behind the call, which may be the last one of its function.
    object file() const { return {where->path, where->inode, process}; }
    std::uint64_t place() const noexcept { return address - 1 - where->start + where->offset; }
};

std::set<found_frame> find_frames(const recording::event_type& event, const mappings& mappings,
                                  int file, std::size_t page_size) {
    std::set<found_frame> result;
    off_t at = 0;
    recording::ring_buffer buffer(0, {.size = page_size}, [&](std::span<std::byte> page) {
        const bool is_whole =
            pread(file, page.data(), page.size(), at) == static_cast<ssize_t>(page.size());
        at += static_cast<off_t>(page.size());
        return is_whole;
    });
    for (buffer.advance(); buffer.has_record(); buffer.advance()) {
        const auto head =
            recording::to_head(buffer.data(), std::endian::native == std::endian::big);
        if (head.event != event.id)
            continue;
        const int process = recording::stack_process(event, buffer.data());
        for (const std::uint64_t address : recording::stack_addresses(event, buffer.data()))
            if (const mapping* const where = mappings.find(process, address, buffer.time()))
                result.insert({process, address, where});
    }
    return result;
}

} // namespace

stacks::stacks(const instance& of, const wanted_stacks& wanted) : of_(of) {
    const auto set = [&](const char* option) {
        if (const int error = of.try_write(fmt::format("options/{}", option), "1"))
            throw text::file_failure(error, "write", of.path(fmt::format("options/{}", option)));
    };
    if (wanted.is_kernel)
        set("stacktrace");
    if (wanted.is_user) {
        mappings_.emplace();
        set("userstacktrace");
    }
}

std::string stacks::names(const cpu_files& files) {
    if (!mappings_)
        return recording::to_text(recording::frame_list());
    mappings_->take();
    if (mappings_->lost())
        text::warn(fmt::format("{} messages about mapped files were lost: some functions have no "
                               "names",
                               mappings_->lost()));
    formats formats(of_.copy());
    const tep_event* const format = formats.find({"ftrace", "user_stack"});
    if (!format)
        return recording::to_text(recording::frame_list());
    const recording::event_type event(*format);
    std::set<found_frame> frames;
    for (const int file : files.descriptors())
        frames.merge(find_frames(event, *mappings_, file, files.page_size()));
    wanted_places wanted;
    for (const found_frame& frame : frames)
        if (frame.where->path.starts_with('/'))
            wanted[frame.file()].insert(frame.place());
    const named_places names = find_symbols(wanted);
    recording::frame_list list;
    for (const found_frame& frame : frames) {
        const std::string& path = frame.where->path;
        const auto named = names.find({frame.file(), frame.place()});
        list[{frame.process, frame.address}][frame.where->since] =
            named == names.end() ? fmt::format("{}+{:#x}", path, frame.place() + 1)
                                 : fmt::format("{} ({})", named->second, path);
    }
    return recording::to_text(list);
}

} // namespace tool::tracing
