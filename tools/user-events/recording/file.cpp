// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/file.hpp"

#include "eventheader/tracepoint_name.hpp"
#include "recording/filter.hpp"
#include "recording/tracecmd.hpp"
#include "text/errors.hpp"
#include "text/nearest.hpp"
#include "text/new_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tool::recording {

namespace {

constexpr char no_recording_remedy[] =
    "recordings are made by `user-events record -o FILE` or `trace-cmd record -o FILE`";

constexpr char filter_remedy[] =
    "filters are such as 'size > 100 && name == \"x\"': trace-cmd-report(1) describes them";

/// What libtraceevent returns for a thread whose name it does not know.
constexpr std::string_view unknown_task = "<...>";

/// The number of CLONE_THREAD in clone_flags, as in <sched.h> of the kernel.
constexpr std::uint64_t clone_thread = 0x10000;

/// The compression that a file of version 7 names in its head, as trace-cmd.dat.v7(5) describes it.
/// Empty for other files.
std::string compression_of(int file) {
    constexpr std::string_view version("\x17\x08\x44tracing7\0", 12);
    constexpr std::size_t name = version.size() + 6; // behind byte order, size of long, of a page
    std::array<char, 64> head{};
    const ssize_t size = pread(file, head.data(), head.size() - 1, 0);
    if (size < static_cast<ssize_t>(name) ||
        std::string_view(head.data(), version.size()) != version)
        return {};
    return head.data() + name;
}

/// libtraceevent stops at the first name of a field that is no identifier.
bool is_complete(const tep_event& event) {
    return !(event.flags & TEP_EVENT_FL_FAILED) || event.format.fields;
}

bytes data_of(const tep_record& from) {
    return {static_cast<const std::byte*>(from.data),
            from.size > 0 ? static_cast<std::size_t>(from.size) : 0};
}

} // namespace

bool matches(const std::string& pattern, const event_type& event) {
    const auto fits = [&](std::string_view name) {
        const std::string whole = pattern.find(':') == pattern.npos
                                      ? std::string(name)
                                      : fmt::format("{}:{}", event.system, name);
        return fnmatch(pattern.c_str(), whole.c_str(), 0) == 0;
    };
    return pattern.empty() || fits(event.name) || fits(event.registered_name());
}

input::input(std::string path)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0)
        throw text::file_failure(errno, "read", path_);
    text::protect_input(descriptor_);
    struct stat found {};
    if (fstat(descriptor_, &found) == 0 && S_ISREG(found.st_mode))
        size_ = static_cast<std::uint64_t>(found.st_size);
    compression_ = compression_of(descriptor_);
    if (compression_ == "none")
        compression_.clear();
}

input::~input() {
    close(descriptor_);
}

file::file(const input& from, const selection& selection)
    : path_(from.path()), selection_(selection), described_(selection.pattern) {
    // The libraries' own messages would not be escaped.
    tracecmd_set_loglevel(TEP_LOG_NONE);
    tep_set_loglevel(TEP_LOG_NONE);
    const std::string& compression = from.compression();
    // The library closes it.
    const int descriptor = fcntl(from.descriptor(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0)
        throw text::file_failure(errno, "read", path_);
    // Both descriptors have one position: an earlier file may have read from the same input.
    lseek(descriptor, 0, SEEK_SET);
    tracecmd_input* const input = tracecmd_open_fd(descriptor, TRACECMD_FL_LOAD_NO_PLUGINS);
    if (!input && !compression.empty() &&
        !tracecmd_compress_is_supported(compression.c_str(), nullptr))
        throw text::failure(
            fmt::format("{} is compressed with {}, which this libtracecmd cannot read", path_,
                        compression),
            fmt::format("where trace-cmd can read it: trace-cmd convert --file-version 7 "
                        "--compression none -i {} -o FILE",
                        path_));
    if (!input)
        throw text::failure(fmt::format("{} is no recording, or damaged or cut off", path_),
                            no_recording_remedy);
    instances_.emplace_back(input);
    tep_ = tracecmd_get_tep(input);
    tracecmd_set_private(input, const_cast<char*>(""));
    for (int i = 0; i < tracecmd_buffer_instances(input); i++) {
        tracecmd_input* const instance = tracecmd_buffer_instance_handle(input, i);
        if (!instance)
            throw text::failure(fmt::format("{} is damaged: an instance is cut off", path_));
        instances_.emplace_back(instance);
        tracecmd_set_private(instance, const_cast<char*>(tracecmd_buffer_instance_name(input, i)));
    }
    if (const char* const statistics = tracecmd_get_cpustats(input))
        threads_ = to_thread_list(statistics);
    require_names();
    if (!selection.filter.empty())
        add_filter(selection.filter);
}

/// What is mistyped would choose no record, without a message.
void file::require_names() {
    std::vector<std::string> events, fields{"COMM", "CPU", "TRUE", "FALSE"};
    bool is_found = false;
    tep_event** const all = tep_list_events(tep_, TEP_EVENT_SORT_ID);
    for (tep_event** each = all; each && *each; each++) {
        if (!is_complete(**each))
            continue;
        const event_type type(**each);
        const bool is_described = type.is_described && !selection_.is_raw;
        events.emplace_back(type.registered_name());
        if (is_described && !type.is_eventpipe)
            events.push_back(
                fmt::format("{}:*", eventheader::to_tracepoint_name(events.back()).provider));
        if (!may_select(type))
            continue;
        is_found = true;
        has_described_ |= is_described;
        for (const auto* common = (*each)->format.common_fields; common; common = common->next)
            fields.emplace_back(common->name);
        for (const field& field : type.fields)
            fields.push_back(field.name);
    }
    if (!is_found && !selection_.pattern.empty())
        throw text::usage_error(
            fmt::format("{} has no event that matches {}", path_, selection_.pattern),
            text::did_you_mean(selection_.pattern, events,
                               "without a pattern, all events are chosen"));
    // What payloads have is not known before.
    if (has_described_)
        payload_filter_ = eventheader::filter::parse(selection_.filter);
    if (payload_filter_)
        return;
    for (const auto& name : fields_of(selection_.filter))
        if (is_found && std::find(fields.begin(), fields.end(), name) == fields.end())
            throw text::usage_error(fmt::format("the filter \"{}\" makes no sense: none of the "
                                                "events has a field {}",
                                                selection_.filter, name),
                                    text::did_you_mean(name, fields));
}

/// Whether the pattern is that of the event, or of an event of its provider.
bool file::may_select(const event_type& type) const {
    if (matches(selection_.pattern, type))
        return true;
    // Of .NET, only records have the provider.
    return type.is_described && !selection_.is_raw &&
           (type.is_eventpipe ? described_.is_complete()
                              : described_.may_match(type.registered_name()));
}

void file::closer::operator()(tracecmd_input* input) const noexcept {
    tracecmd_close(input);
}

void file::closer::operator()(tep_event_filter* filter) const noexcept {
    tep_filter_free(filter);
}

void file::add_filter(const std::string& filter) {
    filter_.reset(tep_filter_alloc(tep_));
    if (!filter_)
        throw std::bad_alloc();
    // For all events. Those that lack a field of the filter do not pass it.
    const tep_errno error =
        tep_filter_add_filter_str(filter_.get(), (".*:" + to_library_filter(filter)).c_str());
    if (error == 0)
        return;
    // The library knows no dotted names. No other record has such a field.
    if (payload_filter_) {
        filter_.reset();
        is_filter_for_payloads_ = true;
        return;
    }
    std::array<char, 1024> message{};
    tep_filter_strerror(filter_.get(), error, message.data(), message.size());
    // The last line is the reason; those before show the place.
    std::string_view reason(message.data());
    reason.remove_prefix(reason.rfind('\n') + 1);
    throw text::usage_error(fmt::format("the filter \"{}\" makes no sense: {}", filter, reason),
                            filter_remedy);
}

void file::read(std::function<void(const record&)> function) {
    function_ = std::move(function);
    missing_ = {};
    error_ = nullptr;
    cannot_map_ = false;
    errno = 0;
    std::vector<tracecmd_input*> inputs;
    for (const auto& instance : instances_)
        inputs.push_back(instance.get());
    const int result = tracecmd_iterate_events_multi(inputs.data(), static_cast<int>(inputs.size()),
                                                     &file::take, this);
    if (error_)
        std::rethrow_exception(error_);
    if (result < 0)
        throw text::failure(fmt::format("{} is damaged: not all records can be read", path_));
    // Of a CPU with more than 2 GiB, libtracecmd 3.1.6 maps each page on its own and keeps it. It
    // takes the error when there are too many for the end of the records.
    if (cannot_map_ || errno == ENOMEM)
        throw text::failure(fmt::format("not all records of {} were read: libtracecmd cannot map "
                                        "more of the file",
                                        path_),
                            "make recordings of less than 2 GiB for each CPU");
}

/// Called by libtracecmd, which exceptions must not pass.
int file::take(tracecmd_input* handle, tep_record* from, int, void* pointer) {
    auto* const self = static_cast<file*>(pointer);
    self->cannot_map_ |= errno == ENOMEM;
    try {
        self->take(handle, *from);
        errno = 0;
        return 0;
    } catch (...) {
        self->error_ = std::current_exception();
        // Only a negative number ends the reading.
        return -1;
    }
}

void file::take(tracecmd_input* handle, tep_record& from) {
    if (from.missed_events) {
        missing_.times++;
        if (from.missed_events > 0)
            missing_.lost += static_cast<std::uint64_t>(from.missed_events);
    }
    const bytes data = data_of(from);
    pages_.read(from.cpu, data.data());
    known_event& event = event_of(data.size() < 8 ? -1 : tep_data_type(tep_, &from));
    if (!event.type) {
        missing_.unknown++;
        return;
    }
    const int pid = tep_data_pid(tep_, &from);
    if (event.type->name == "task_newtask")
        learn_thread(*event.type, data, pid);
    if (!event.is_selected)
        return;
    const task& task = task_of(pid);
    const file::task& process = task.tgid ? task_of(task.tgid) : task;
    record record{
        .time = from.ts,
        .cpu = from.cpu,
        .pid = pid,
        .tgid = task.tgid,
        .task = task.name,
        .instance = static_cast<const char*>(tracecmd_get_private(handle)),
        .event = event.type.get(),
        .data = data,
        .process_name = process.name == unknown_task ? task.name : process.name,
    };
    describe(record, known_events_);
    if (selects(event, record, from))
        function_(record);
}

/// What only the record itself can tell.
bool file::selects(const known_event& event, const record& record, tep_record& from) {
    if (event.is_by_name && !recording::matches(described_, record))
        return false;
    if (payload_filter_ && event.type->is_described)
        return passes(*payload_filter_, record);
    return !is_filter_for_payloads_ && (!filter_ || passes_filter(*event.type, from));
}

file::known_event& file::event_of(int id) {
    const auto [at, is_new] = events_.try_emplace(id);
    if (is_new)
        if (const tep_event* const found = tep_find_event(tep_, id); found && is_complete(*found)) {
            at->second.type = std::make_unique<event_type>(*found);
            at->second.type->is_described &= !selection_.is_raw;
            at->second.is_by_name = !matches(selection_.pattern, *at->second.type);
            at->second.is_selected = may_select(*at->second.type) &&
                                     selection_.choice.includes(at->second.type->registered_name());
        }
    return at->second;
}

file::task& file::task_of(int pid) {
    const auto [at, is_new] = tasks_.try_emplace(pid);
    task& task = at->second;
    if (is_new) {
        task.name = tep_data_comm_from_pid(tep_, pid);
        if (const auto listed = threads_.find(pid); listed != threads_.end()) {
            task.tgid = listed->second.process;
            if (task.name == unknown_task && !listed->second.name.empty())
                task.name = listed->second.name;
        }
    }
    return task;
}

bool file::passes_filter(const event_type& type, tep_record& from) const {
    // The library would read outside of the record.
    for (const field& field : type.fields)
        if (recording::read(field, data_of(from)).kind == kind::absent)
            return false;
    return tep_filter_match(filter_.get(), &from) == TEP_ERRNO__FILTER_MATCH;
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
    if (payload_filter_)
        warn_of_unknown_fields(*payload_filter_);
    if (missing_.times)
        text::warn(missing_.lost
                       ? fmt::format("{} records were lost when {} was made, in {} places",
                                     missing_.lost, path_, missing_.times)
                       : fmt::format("records were lost when {} was made, in {} places", path_,
                                     missing_.times));
    if (missing_.unknown)
        text::warn(
            fmt::format("{} records are of events that {} does not describe, or whose format "
                        "libtraceevent cannot read",
                        missing_.unknown, path_));
    if (is_strict && (missing_.times || missing_.unknown))
        throw text::silent_failure{complete_but_failed};
}

} // namespace tool::recording
