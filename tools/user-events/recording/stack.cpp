// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/stack.hpp"

#include "recording/appended_list.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace tool::recording {

namespace {

constexpr std::string_view heading = "\nprocess since address function:\n";

constexpr std::string_view ftrace_system = "ftrace";
constexpr std::string_view user_event = "user_stack", kernel_event = "kernel_stack";

} // namespace

std::string to_text(const frame_list& list) {
    std::string result(heading);
    for (const auto& [place, names] : list)
        for (const auto& [since, name] : names) {
            std::string line = name;
            std::replace(line.begin(), line.end(), '\n', ' ');
            fmt::format_to(std::back_inserter(result), "{} {} {:x} {}\n", place.first, since,
                           place.second, line);
        }
    return result;
}

bool has_frame_list(std::string_view statistics) {
    return statistics.find(heading) != statistics.npos;
}

std::string folded(const stack& stack) {
    std::string result;
    for (std::size_t i = stack.size(); i-- > 0;) {
        result += result.empty() ? "" : ";";
        result += stack[i];
    }
    return result;
}

frame_list to_frame_list(std::string_view statistics) {
    frame_list result;
    for_each_line(statistics, heading, [&](std::string_view line) {
        int process = 0;
        std::uint64_t since = 0, address = 0;
        if (!take_number(line, process) || !take_number(line, since) ||
            !take_number(line, address, 16))
            return false;
        result[{process, address}][since] = line;
        return true;
    });
    return result;
}

kernel_functions::kernel_functions(std::string_view text) {
    // ffffffff81000000 T name [module]
    for_each_line(text, "", [this](std::string_view line) {
        std::uint64_t address = 0;
        if (take_number(line, address, 16) && line.size() > 2 && address != 0 &&
            (line[0] == 't' || line[0] == 'T' || line[0] == 'w' || line[0] == 'W'))
            functions_.emplace_back(address, line.substr(2, line.find_first_of(" \t", 2) - 2));
        return true;
    });
    std::stable_sort(functions_.begin(), functions_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
}

std::optional<std::string> kernel_functions::find(std::uint64_t address) const {
    auto next = std::upper_bound(
        functions_.begin(), functions_.end(), address,
        [](std::uint64_t wanted, const auto& function) { return wanted < function.first; });
    if (next == functions_.begin())
        return {};
    --next;
    return fmt::format("{}+{:#x}", next->second, address - next->first);
}

bool is_stack(const event_type& event) {
    return event.system == ftrace_system &&
           (event.name == user_event || event.name == kernel_event) && event.find("caller");
}

std::vector<std::uint64_t> stack_addresses(const event_type& event, bytes record) {
    std::vector<std::uint64_t> result;
    const field* const callers = event.find("caller");
    if (!callers || (callers->element_size != 4 && callers->element_size != 8))
        return result;
    const unsigned size = callers->element_size;
    // The kernel's stacks say how long they are. Their format has another length.
    std::uint64_t most = event.name == user_event ? callers->size / size : record.size() / size;
    if (const field* const count = event.find("size"))
        most = std::min(most, read(*count, record).natural);
    for (std::size_t at = callers->offset; most > 0 && at + size <= record.size(); at += size) {
        const std::uint64_t address =
            read_number(record.data() + at, size, false, callers->is_big_endian);
        // The end of a short one.
        if (address == 0 || address == (size == 8 ? UINT64_MAX : UINT32_MAX))
            break;
        result.push_back(address);
        most--;
    }
    return result;
}

int stack_process(const event_type& event, bytes record) {
    const field* const process = event.find("tgid");
    return process ? static_cast<int>(read(*process, record).natural) : 0;
}

std::string stack_reader::name_of(int process, std::uint64_t address, std::uint64_t time) const {
    if (const auto found = frames_.find({process, address}); found != frames_.end()) {
        // The one before if the address has changed its meaning.
        auto next = found->second.upper_bound(time);
        return (next == found->second.begin() ? next : std::prev(next))->second;
    }
    return fmt::format("{:#x}", address);
}

void stack_reader::append(stack& to, const event_type& event, bytes record, std::uint64_t time) {
    const bool is_kernel = event.name == kernel_event;
    if (is_kernel && !functions_)
        functions_.emplace(source_());
    const int process = stack_process(event, record);
    for (const std::uint64_t address : stack_addresses(event, record))
        to.push_back(is_kernel ? functions_->find(address).value_or(fmt::format("{:#x}", address))
                               : name_of(process, address, time));
}

} // namespace tool::recording
