// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/file.hpp"

#include "recording/isolate.hpp"
#include "recording/parse_event.hpp"
#include "text/errors.hpp"
#include "text/glob.hpp"
#include "text/nearest.hpp"
#include "text/new_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <event-parse.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tool::recording {

namespace {

/// The number of CLONE_THREAD in clone_flags, as in <sched.h> of the kernel.
constexpr std::uint64_t clone_thread = 0x10000;

/// Of all files. Numbers that are added to it do not overflow.
constexpr std::uint64_t largest_offset = std::numeric_limits<std::int64_t>::max();

/// libtraceevent stops at the first name of a field that is no identifier.
bool is_complete(const tep_event& event) {
    return !(event.flags & TEP_EVENT_FL_FAILED) || event.format.fields;
}

/// The bytes of a file, while the object exists.
class mapping {
public:
    explicit mapping(const input& from) : size_(static_cast<std::size_t>(from.size())) {
        if (!std::in_range<std::size_t>(from.size()))
            throw text::file_failure(EFBIG, "read", from.path());
        if (size_)
            at_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, from.descriptor(), 0);
        if (at_ == MAP_FAILED && errno == ENOMEM)
            throw std::bad_alloc();
        if (at_ == MAP_FAILED)
            throw text::file_failure(errno, "read", from.path());
    }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() {
        if (size_)
            munmap(at_, size_);
    }
    std::string_view bytes() const noexcept { return {static_cast<const char*>(at_), size_}; }

private:
    std::size_t size_;
    void* at_ = nullptr;
};

/// The name of the clock in "local [mono]", or in "mono".
std::string chosen_clock(const std::string& clocks) {
    const auto open = clocks.find('['), close = clocks.find(']', std::min(open, clocks.size()));
    return close == clocks.npos ? clocks : clocks.substr(open + 1, close - open - 1);
}

file_head head_of(const input& from) {
    try {
        return read_head(mapping(from).bytes());
    } catch (const bad_file& error) {
        throw text::failure(fmt::format("{} {}", from.path(), error.what()), error.remedy);
    }
}

/// Reads the pages of a CPU. `is_damaged` gets true if some cannot be read.
class stored_pages {
public:
    stored_pages(const input& from, const file_head& head, const stored_buffer& buffer,
                 const stored_cpu& cpu, bool& is_damaged)
        : descriptor_(from.descriptor()), at_(cpu.offset), end_(cpu.offset + cpu.size),
          is_big_endian_(head.pages.is_big_endian),
          compression_(buffer.is_compressed ? head.compression : compression::none),
          is_damaged_(is_damaged) {}

    bool operator()(std::span<std::byte> page) {
        try {
            if (end_ < at_ || end_ > largest_offset)
                throw bad_file("is damaged");
            if (compression_ == compression::none)
                return take(page);
            if (!std::exchange(has_begun_, true)) {
                // The size does not count this number.
                end_ += sizeof(std::uint32_t);
                chunks_ = number();
            }
            if (position_ >= chunk_.size() && !next_chunk(page.size()))
                return false;
            std::memcpy(page.data(), chunk_.data() + position_, page.size());
            position_ += page.size();
            return true;
        } catch (const bad_file&) {
            is_damaged_ = true;
            at_ = end_;
            chunks_ = 0;
            chunk_.clear();
            return false;
        }
    }

private:
    /// Reads what is next in the file. Returns false behind its end.
    bool take(std::span<std::byte> to) {
        if (at_ >= end_)
            return false;
        std::size_t size = 0;
        while (size < to.size()) {
            const ssize_t more = pread(descriptor_, to.data() + size, to.size() - size,
                                       static_cast<off_t>(at_ + size));
            if (more <= 0)
                throw bad_file("is cut off");
            size += static_cast<std::size_t>(more);
        }
        at_ += size;
        return true;
    }
    std::uint64_t number() {
        std::array<std::byte, 4> bytes{};
        return take(bytes) ? read_number(bytes.data(), bytes.size(), false, is_big_endian_) : 0;
    }
    /// Reads the next part, which has whole pages. Returns false behind the last one.
    bool next_chunk(std::size_t page_size) {
        if (chunks_ == 0) {
            // If the size of the parts does count their number, it seems to be left.
            if (at_ < end_ && end_ - at_ > sizeof(std::uint32_t))
                throw bad_file("is damaged");
            return false;
        }
        chunks_--;
        const auto size = number(), whole = number();
        if (at_ > end_ || size > end_ - at_ || whole % page_size != 0)
            throw bad_file("is damaged");
        std::vector<std::byte> packed(static_cast<std::size_t>(size));
        if (!take(packed) || whole == 0)
            throw bad_file("is cut off");
        chunk_ = decompressed(compression_,
                              {reinterpret_cast<const char*>(packed.data()), packed.size()}, whole,
                              largest_part);
        position_ = 0;
        return true;
    }

    int descriptor_;
    std::uint64_t at_, end_;
    bool is_big_endian_;
    compression compression_;
    bool& is_damaged_;
    bool has_begun_ = false;
    std::uint64_t chunks_ = 0;
    std::string chunk_;
    std::size_t position_ = 0;
};

} // namespace

bool matches(const std::vector<std::string>& patterns, const event_type& event) {
    const auto fits = [&](const std::string& pattern, std::string_view name) {
        const std::string whole = pattern.find(':') == pattern.npos
                                      ? std::string(name)
                                      : fmt::format("{}:{}", event.system, name);
        return text::is_glob_of(pattern, whole);
    };
    return patterns.empty() ||
           std::any_of(patterns.begin(), patterns.end(), [&](const std::string& each) {
               return fits(each, event.name) || fits(each, event.registered_name());
           });
}

input::input(std::string path)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0)
        throw text::file_failure(errno, "read", path_);
    text::protect_input(descriptor_);
    struct stat found {};
    if (fstat(descriptor_, &found) != 0 || !S_ISREG(found.st_mode))
        return;
    size_ = static_cast<std::uint64_t>(found.st_size);
    constexpr std::uint64_t block = 512;
    // Some file systems, such as those of FUSE, count no blocks.
    size_on_disk_ = found.st_blocks
                        ? std::min(size_, block * static_cast<std::uint64_t>(found.st_blocks))
                        : size_;
}

input::~input() {
    close(descriptor_);
}

file::file(const input& from, const selection& selection)
    : from_(from), selection_(selection), head_(head_of(from)), tep_(tep_alloc()),
      cutter_(selection.cut), described_(selection.patterns.begin(), selection.patterns.end()) {
    if (!tep_)
        throw std::bad_alloc();
    // The library's own messages would not be escaped.
    tep_set_loglevel(TEP_LOG_NONE);
    tep_set_file_bigendian(tep_.get(),
                           head_.pages.is_big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
    tep_set_long_size(tep_.get(), static_cast<int>(head_.long_size));
    tep_set_page_size(tep_.get(), static_cast<int>(head_.pages.size));
    tep_parse_header_page(tep_.get(), head_.header_page.data(), head_.header_page.size(),
                          static_cast<int>(head_.long_size));
    for (const auto& [system, text] : head_.formats)
        parse_event(tep_.get(), text, system);
    head_.formats.clear();
    read_tasks();
    if (!selection.filter.empty())
        filter_ = to_filter(selection.filter);
    require_names();
    warn_of_unknown_cpus();
}

void file::warn_of_unknown_cpus() const {
    const auto& wanted = selection_.cut.cpus;
    int last = 0;
    for (const auto& buffer : head_.buffers)
        for (const auto& cpu : buffer.cpus)
            last = std::max(last, cpu.number);
    const auto known = std::min(wanted.size(), static_cast<std::size_t>(last) + 1);
    if (!wanted.empty() &&
        std::find(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(known), true) ==
            wanted.begin() + static_cast<std::ptrdiff_t>(known))
        text::warn(fmt::format("{} has none of the CPUs of --cpu: the last one is {}", from_.path(),
                               last));
}

void file::read_tasks() {
    threads_ = to_thread_list(head_.statistics);
    sampled_ = to_sampled_list(head_.statistics);
    stacks_.emplace(to_frame_list(head_.statistics), [this] { return texts().functions; });
    task_names_ = to_saved_names(std::exchange(head_.tasks, {}));
}

/// What is mistyped would choose no record, without a message.
void file::require_names() {
    std::vector<std::string> events, fields, suited;
    std::vector<std::string> unmatched = selection_.patterns;
    bool is_found = false;
    tep_event** const all = tep_list_events(tep_.get(), TEP_EVENT_SORT_ID);
    for (tep_event** each = all; each && *each; each++) {
        if (!is_complete(**each))
            continue;
        const event_type type(**each);
        const bool is_described = type.is_described && !selection_.is_raw;
        events.emplace_back(type.registered_name());
        if (is_stack(type))
            stack_ids_.push_back(type.id);
        if (is_described && !type.is_eventpipe)
            events.push_back(
                fmt::format("{}:*", eventheader::to_tracepoint_name(events.back()).provider));
        if (!may_select(selection_.patterns, type))
            continue;
        is_found = true;
        std::erase_if(unmatched, [&](const std::string& each) { return may_select({each}, type); });
        has_described_ |= is_described;
        for (const field& field : type.fields) {
            fields.push_back(field.name);
            const bool is_number = find_number_type(field.type) || field.kind == kind::integer ||
                                   field.kind == kind::natural;
            if (filter_ && filter_->suits(field.name, !is_number))
                suited.push_back(field.name);
        }
    }
    for (const auto& pattern : unmatched)
        throw text::usage_error(
            fmt::format("{} has no event that matches {}", from_.path(), pattern),
            text::did_you_mean(pattern, events, "without a pattern, all events are chosen"));
    if (has_frame_list(head_.statistics)) {
        fields.emplace_back(stack_field);
        suited.emplace_back(stack_field);
    }
    // What payloads have is not known before.
    if (!filter_ || has_described_)
        return;
    for (const auto& name : filter_->names())
        if (is_found && std::find(fields.begin(), fields.end(), name) == fields.end())
            throw text::usage_error(fmt::format("the filter \"{}\" makes no sense: none of the "
                                                "events has a field {}",
                                                selection_.filter, name),
                                    text::did_you_mean(name, fields));
    for (const auto& name : filter_->names())
        if (is_found && std::find(suited.begin(), suited.end(), name) == suited.end())
            throw text::usage_error(fmt::format("the filter \"{}\" makes no sense: {} is {}",
                                                selection_.filter, name,
                                                filter_->suits(name, true) ? "a number" : "a text"),
                                    "numbers have == != < <= > >= &, and texts == != ~ =~ !~");
}

/// Whether a pattern is that of the event, or of an event of its provider.
bool file::may_select(const std::vector<std::string>& patterns, const event_type& type) const {
    if (matches(patterns, type))
        return true;
    if (!type.is_described || selection_.is_raw)
        return false;
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& each) {
        const eventheader::event_pattern pattern(each);
        // Of .NET, only records have the provider.
        return type.is_eventpipe ? pattern.is_complete()
                                 : pattern.may_match(type.registered_name());
    });
}

void file::closer::operator()(tep_handle* handle) const noexcept {
    tep_free(handle);
}

/// An event that lacks a field of the filter has no record that passes it.
bool file::may_pass(const event_type& type) const {
    if (!filter_ || type.is_described)
        return true;
    const auto names = filter_->names();
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return type.find(name) != nullptr; });
}

void file::open_buffers() {
    buffers_ = {};
    instances_.clear();
    for (const stored_buffer& buffer : head_.buffers)
        for (const stored_cpu& cpu : buffer.cpus) {
            if (cpu.size == 0)
                continue;
            page_layout layout = head_.pages;
            layout.size = buffer.page_size;
            buffers_.add(std::make_unique<ring_buffer>(
                cpu.number, layout, stored_pages(from_, head_, buffer, cpu, is_damaged_)));
            instances_.push_back(&buffer.name);
        }
    buffers_.refill();
    last_.assign(instances_.size(), 0);
}

void file::read(const std::function<void(const record&)>& take_record,
                const std::function<void(const gap&)>& miss) {
    begin();
    while (next_time())
        take_next(take_record, miss);
    end();
}

void file::begin() {
    missing_ = {};
    is_damaged_ = false;
    open_buffers();
    if (const auto first = buffers_.first())
        set_times(head_.clock(buffers_[*first].time()));
}

std::optional<std::uint64_t> file::first_time() {
    open_buffers();
    const auto first = buffers_.first();
    return first ? std::optional(head_.clock(buffers_[*first].time())) : std::nullopt;
}

std::optional<std::uint64_t> file::next_time() const {
    const auto first = buffers_.first();
    if (!first)
        return {};
    const std::uint64_t time = head_.clock(buffers_[*first].time());
    return cutter_.is_before_end(time) ? std::optional(time) : std::nullopt;
}

void file::take_next(const std::function<void(const record&)>& take_record,
                     const std::function<void(const gap&)>& miss) {
    const std::size_t first = *buffers_.first();
    const ring_buffer& buffer = buffers_[first];
    const std::uint64_t time = head_.clock(buffer.time());
    const std::uint64_t since = std::exchange(last_[first], time);
    if (const auto lost = buffer.missing(); lost && cutter_.includes(time, buffer.cpu())) {
        missing_.times++;
        missing_.lost += *lost;
        if (miss)
            miss({since ? since : time, time, buffer.cpu(), *instances_[first], *lost});
    }
    held_.time = time;
    held_.cpu = buffer.cpu();
    held_.data.assign(buffer.data().begin(), buffer.data().end());
    held_.head = to_head(held_.data, head_.pages.is_big_endian);
    buffers_.advance_first();
    take_stacks(held_, buffers_, first);
    take(held_, *instances_[first], take_record);
}

void file::end() {
    // Pages that are behind the chosen time were not looked at.
    if (is_damaged_ || buffers_.is_damaged())
        throw damaged_file(fmt::format("{} is damaged: not all records can be read", from_.path()));
}

/// Times that count from the first record or from a mark become absolute.
void file::set_times(std::uint64_t start) {
    cutter_ = cutter(selection_.cut);
    while (const std::string* const mark = cutter_.unknown_mark()) {
        const auto time = find_mark(*mark);
        if (!time)
            throw text::usage_error(
                fmt::format("{} has no mark {}", from_.path(), *mark),
                fmt::format("`user-events report {} user_mark:text` shows all marks",
                            from_.path()));
        cutter_.set_mark(*time);
    }
    cutter_.set_start(start);
}

/// Reads the file up to the mark.
std::optional<std::uint64_t> file::find_mark(const std::string& text) const {
    struct found {
        std::uint64_t time;
    };
    selection only_marks;
    only_marks.patterns = {fmt::format("{}:text", mark_system)};
    try {
        file marks(from_, only_marks);
        marks.head_.clock = head_.clock;
        marks.read([&](const record& record) {
            const field* const field = record.event->find("text");
            if (field && recording::read(*field, record.data).text() == text)
                throw found{record.time};
        });
    } catch (const found& mark) {
        return mark.time;
    } catch (const text::usage_error&) {
        // The file has no such event.
    }
    return {};
}

/// The event of a record that is a stack; nullptr if it is none. Nearly all are none, which the
/// number tells.
const file::known_event* file::stack_of(const record_head& head) {
    if (std::find(stack_ids_.begin(), stack_ids_.end(), head.event) == stack_ids_.end())
        return nullptr;
    const known_event& event = event_of(head.event);
    return event.is_stack ? &event : nullptr;
}

/// ftrace writes the stacks of a record into the same buffer, right behind it.
void file::take_stacks(held_record& of, merged_buffers& buffers, std::size_t number) {
    of.stack.clear();
    of.has_stack = false;
    if (stack_of(of.head))
        return;
    for (const ring_buffer& buffer = buffers[number]; buffer.has_record() && !buffer.missing();) {
        const auto next = to_head(buffer.data(), head_.pages.is_big_endian);
        const known_event* const event = stack_of(next);
        if (!event || next.thread != of.head.thread)
            return;
        of.has_stack = true;
        stacks_->append(of.stack, *event->type, buffer.data(), buffer.time());
        buffers.advance(number);
    }
}

/// The names of the kernel's functions, and its formats.
kernel_text_files file::texts() const {
    try {
        return read_kernel_texts(mapping(from_).bytes());
    } catch (const bad_file&) {
        // Addresses are shown then.
        return {};
    }
}

/// Exports have the stack as a field. What payloads describe themselves is at the end of the
/// record, where that field would be.
void file::add_stack_field(known_event& to) const {
    if (!has_frame_list(head_.statistics) || to.is_stack || to.type->find(stack_field))
        return;
    to.type->has_stack = true;
    if (to.type->is_described)
        return;
    to.type->fields.push_back({.name = stack_field,
                               .type = "__data_loc char[]",
                               .kind = kind::text,
                               .place = place::at_end,
                               .is_signed = false,
                               .is_big_endian = false,
                               .offset = 0,
                               .size = 4,
                               .element_size = 1});
}

void file::take(held_record& held, std::string_view instance,
                const std::function<void(const record&)>& function) {
    bytes data = held.data;
    const record_head& head = held.head;
    known_event& event = event_of(head.event);
    if (!event.type) {
        missing_.unknown += cutter_.includes(held.time, held.cpu);
        return;
    }
    if (event.type->name == "task_newtask")
        learn_thread(*event.type, data, head.thread);
    if (!event.is_selected)
        return;
    if (event.has_kernel_texts)
        texts_.name(*event.type, held.data);
    if (event.type->has_stack && !event.type->is_described)
        append_at_end(held.data, folded(held.stack));
    data = held.data;
    const task& task = task_of(head.thread);
    const file::task& process = task.tgid ? task_of(task.tgid) : task;
    record record{
        .time = held.time,
        .cpu = held.cpu,
        .pid = head.thread,
        .tgid = task.tgid,
        .task = task.name,
        .instance = instance,
        .event = event.type.get(),
        .data = data,
        .process_name = process.name == unknown_task ? task.name : process.name,
        .description = nullptr,
        .stack = held.has_stack ? &held.stack : nullptr,
    };
    describe(record, known_events_);
    if (selects(event, record))
        function(record);
}

/// What only the record itself can tell.
bool file::selects(const known_event& event, const record& record) {
    return cutter_.includes(record) &&
           (!event.is_by_name ||
            std::any_of(described_.begin(), described_.end(),
                        [&](const auto& each) { return recording::matches(each, record); })) &&
           (!filter_ || passes(*filter_, record));
}

file::known_event& file::event_of(int id) {
    const auto [at, is_new] = events_.try_emplace(id);
    if (is_new)
        if (const tep_event* const found = tep_find_event(tep_.get(), id);
            found && is_complete(*found)) {
            at->second.type = std::make_unique<event_type>(*found);
            at->second.type->is_described &= !selection_.is_raw;
            if (const auto sampled =
                    sampled_.find({at->second.type->system, at->second.type->name});
                sampled != sampled_.end())
                at->second.type->sample = sampled->second;
            at->second.is_stack = is_stack(*at->second.type);
            at->second.has_kernel_texts = kernel_texts::name_fields(*at->second.type);
            add_stack_field(at->second);
            at->second.is_by_name = !matches(selection_.patterns, *at->second.type);
            at->second.is_selected = may_select(selection_.patterns, *at->second.type) &&
                                     may_pass(*at->second.type) &&
                                     selection_.choice.includes(at->second.type->registered_name());
        }
    return at->second;
}

file::task& file::task_of(int pid) {
    const auto [at, is_new] = tasks_.try_emplace(pid);
    task& task = at->second;
    if (!is_new)
        return task;
    if (const auto listed = threads_.find(pid); listed != threads_.end())
        task = {listed->second.name, listed->second.process};
    // Another thread can have forged what is saved, but not what is listed.
    if (task.name.empty()) {
        const auto saved = task_names_.find(pid);
        task.name = saved != task_names_.end() ? saved->second : pid ? unknown_task : "<idle>";
    }
    return task;
}

/// A new thread belongs to the process of its parent.
void file::learn_thread(const event_type& type, bytes data, int parent) {
    const field* const pid = type.find("pid");
    const field* const flags = type.find("clone_flags");
    if (!pid || !flags)
        return;
    const int child = static_cast<int>(recording::read(*pid, data).natural);
    const bool is_thread = recording::read(*flags, data).natural & clone_thread;
    task& of_parent = task_of(parent);
    const int process = of_parent.tgid ? of_parent.tgid : parent;
    task_of(child).tgid = is_thread ? process : child;
}

void file::warn_about_gaps(bool is_strict) const {
    if (filter_ && has_described_)
        warn_of_unknown_fields(*filter_);
    if (head_.is_of_guest)
        text::warn(
            fmt::format("{} is of a virtual machine: its times are the guest's own", from_.path()),
            "`trace-cmd report -i HOST_FILE -i FILE` has all times as those of the host");
    if (missing_.times)
        text::warn(missing_.lost
                       ? fmt::format("{} records were lost when {} was made, in {} places",
                                     missing_.lost, from_.path(), missing_.times)
                       : fmt::format("records were lost when {} was made, in {} places",
                                     from_.path(), missing_.times));
    if (missing_.unknown)
        text::warn(
            fmt::format("{} records are of events that {} does not describe, or whose format "
                        "libtraceevent cannot read",
                        missing_.unknown, from_.path()));
    if (is_strict && (missing_.times || missing_.unknown))
        throw text::silent_failure{complete_but_failed};
}

void warn_about_times(const file& from, const std::string& remedy) {
    /// A time of day that was set by less is that of a network's time servers.
    constexpr std::int64_t tolerated = 10'000'000;
    const file_head& head = from.head();
    const std::string clock = chosen_clock(head.clock_name);
    if (clock == "counter" || (clock == "x86-tsc" && !head.clock.multiplier))
        text::warn(fmt::format("the clock {} of {} counts no seconds: each of its steps is shown "
                               "as a nanosecond",
                               clock, from.path()));
    if (clock == "tai" && !head.clock.offset)
        text::warn(fmt::format("the times of {} are TAI, which is ahead of the time of day by the "
                               "leap seconds that its kernel knew",
                               from.path()));
    if (!head.machine || !head.clock.offset)
        return;
    const std::int64_t step = head.machine->last_offset - head.machine->first_offset;
    if (std::abs(step) > tolerated)
        text::warn(fmt::format("the time of day was set by {:+.3f} s while {} was made: its times "
                               "count by the clock as it was at the end",
                               static_cast<double>(step) / 1e9, from.path()),
                   remedy);
}

} // namespace tool::recording
