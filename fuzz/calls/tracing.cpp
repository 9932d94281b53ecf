// SPDX-License-Identifier: GPL-2.0-only
// Operations on tracefs and perf.
#include "program.hpp"

#include "dictionary.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <filesystem>
#include <linux/perf_event.h>
#include <linux/user_mark.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

using namespace selftest;

namespace calls {

namespace {

constexpr const char* systems[] = {USER_EVENTS_SYSTEM, USER_EVENTS_MULTI_SYSTEM};
constexpr const char* instances[] = {"", "instances/fuzz/"};
constexpr std::size_t ring_pages = 3;

/// Returns the events of a system. The system may be removed at the same time.
std::vector<std::string> events_in(const std::string& directory) {
    std::vector<std::string> events;
    std::error_code error;
    std::filesystem::directory_iterator entry(directory, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
        if (entry->is_directory(error))
            events.push_back(entry->path().filename());
    return events;
}

/// Reads a file of an event. Returns an empty string if the event is removed.
std::string text_of(const std::string& path) {
    try {
        return read_text(path);
    } catch (const std::system_error&) {
        return {};
    }
}

/// Removes an event's triggers. O_TRUNC removes histograms; each other trigger is removed by the
/// command that its line begins with.
void clear_triggers_of(const std::string& path) {
    if (!write_text(path, "", O_TRUNC).ok())
        return;
    for (const std::string& line : lines_of(text_of(path))) {
        if (line.starts_with('#'))
            continue;
        std::size_t end = line.find_first_of(": ");
        if (line.substr(0, end).ends_with("able_event"))
            end = line.find(':', line.find(':', end + 1) + 1);
        write_text(path, "!" + line.substr(0, end));
    }
}

/// Reads up to 17 parts of a file. Returns the outcome of the first read.
Outcome read_path(const std::string& path, std::size_t size) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return Outcome::of(descriptor);
    std::string buffer(size, '\0');
    const Outcome outcome = Outcome::of(::read(descriptor, buffer.data(), size));
    Outcome more = outcome;
    for (int parts = 0; parts < 16 && more.ok() && more.value() > 0; parts++)
        more = Outcome::of(::read(descriptor, buffer.data(), size));
    ::close(descriptor);
    return outcome;
}

unsigned long number_in(const std::string& path) {
    const std::string text = text_of(path);
    return text.empty() ? 0 : std::stoul(text);
}

} // namespace

Program::Result Program::line(const Operation& operation) {
    static constexpr const char* prefixes[] = {
        "u:",
        "-:",
        "u:user_events/",
        "-:user_events/",
        "-:user_events_multi/",
        "!u:",
        "!u:user_events/",
        "u:user_events_multi/",
        "-",
        "",
    };
    const auto& arguments = operation.arguments;
    const std::string path = root_ + "dynamic_events";
    if (arguments[3] == 255)
        return write_text(path, "", O_TRUNC);
    const std::string text = std::string(prefixes[arguments[0] % std::size(prefixes)]) +
                             names[arguments[1] % std::size(names)] + operation.text;
    return write_text(path, text, O_APPEND);
}

/// Returns the directory of an event: the single-format one, or the `which`-th of the others.
std::string Program::event_directory(unsigned name, unsigned which) const {
    const std::string event = names[name % std::size(names)];
    if (which != 0) {
        const std::string system = std::string("events/") + USER_EVENTS_MULTI_SYSTEM + "/";
        std::vector<std::string> found = events_in(root_ + system);
        std::erase_if(found, [&](const auto& other) { return !other.starts_with(event + "."); });
        // By age: the suffix is a hexadecimal number without leading zeros.
        std::ranges::sort(found, {},
                          [](const auto& other) { return std::pair(other.size(), other); });
        if (!found.empty())
            return system + found[(which - 1) % found.size()] + "/";
    }
    return std::string("events/") + USER_EVENTS_SYSTEM + "/" + event + "/";
}

Program::Result Program::event_file(const Operation& operation) {
    static constexpr const char* files[] = {"enable", "filter", "trigger", "enable"};
    static constexpr const char* states[] = {"1", "1", "0", "2", "x"};
    const auto& arguments = operation.arguments;
    const unsigned file = arguments[2] % std::size(files);
    const std::string path = root_ + instances[arguments[3] % std::size(instances)] +
                             event_directory(arguments[0], arguments[1]) + files[file];
    const std::string text =
        file % 3 == 0 ? states[arguments[4] % std::size(states)] : operation.text;
    return text.empty() ? Result() : write_text(path, text);
}

Program::Result Program::read_slot(const Slot& slot, unsigned how) {
    char buffer[64];
    if (slot.descriptor < 0)
        return std::nullopt;
    switch (how % 4) {
    case 0:
        return Outcome::of(::read(slot.descriptor, buffer, sizeof(buffer)));
    case 1:
        return Outcome::of(pread(slot.descriptor, buffer, 7, how));
    case 2:
        return Outcome::of(lseek(slot.descriptor, how % 16, SEEK_SET));
    default: {
        void* memory = mmap(nullptr, page_size, PROT_READ, MAP_SHARED, slot.descriptor, 0);
        if (memory == MAP_FAILED)
            return Outcome::of(-1);
        throw Violation("user_events_data can be mapped");
    }
    }
}

Program::Result Program::read(const Operation& operation) {
    static constexpr const char* files[] = {
        "user_events_status",        "dynamic_events", "trace_pipe",
        "instances/fuzz/trace_pipe", "trace",          "user_events_rules"};
    static constexpr const char* of_event[] = {"format", "filter", "trigger",
                                               "hist",   "enable", "id"};
    static constexpr std::size_t sizes[] = {4096, 65536, 100, 7};
    const auto& arguments = operation.arguments;
    const std::size_t size = sizes[arguments[3] % std::size(sizes)];
    if (arguments[0] % 4 == 0)
        return read_path(root_ + files[arguments[1] % std::size(files)], size);
    if (arguments[0] % 4 == 1)
        return read_slot(slots_.at(arguments[1] % slots_.size()), arguments[2]);
    return read_path(root_ + event_directory(arguments[1], arguments[2]) +
                         of_event[arguments[4] % std::size(of_event)],
                     size);
}

void Program::close_perf(PerfSlot& slot) {
    if (slot.ring)
        munmap(slot.ring, ring_pages * page_size);
    if (slot.descriptor >= 0)
        ::close(slot.descriptor);
    slot = {};
}

Program::Result Program::perf(const Operation& operation) {
    const auto& arguments = operation.arguments;
    PerfSlot& slot = perf_slots_.at(arguments[0] % perf_slots_.size());
    const unsigned long id = number_in(root_ + event_directory(arguments[1], arguments[2]) + "id");
    if (id == 0)
        return std::nullopt;
    close_perf(slot);
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = id;
    attributes.sample_period = 1;
    attributes.disabled = arguments[4] % 4 == 3;
    attributes.inherit = arguments[4] % 4 == 2;
    const unsigned mode = arguments[3] % 4;
    if (mode > 0)
        attributes.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TID;
    if (mode == 2)
        attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
    // Mode 3 samples all tasks on CPU 0, the others this task.
    slot.descriptor = static_cast<int>(syscall(SYS_perf_event_open, &attributes, mode == 3 ? -1 : 0,
                                               mode == 3 ? 0 : -1, -1, PERF_FLAG_FD_CLOEXEC));
    const Outcome outcome = Outcome::of(slot.descriptor);
    if (!outcome.ok() || mode == 0)
        return outcome;
    void* ring = mmap(nullptr, ring_pages * page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                      slot.descriptor, 0);
    slot.ring = ring == MAP_FAILED ? nullptr : ring;
    return outcome;
}

Program::Result Program::perf_control(const Operation& operation) {
    const auto& arguments = operation.arguments;
    PerfSlot& slot = perf_slots_.at(arguments[0] % perf_slots_.size());
    if (slot.descriptor < 0)
        return std::nullopt;
    std::uint64_t count = 0;
    switch (arguments[1] % 6) {
    case 0:
        return Outcome::of(ioctl(slot.descriptor, PERF_EVENT_IOC_ENABLE, 0));
    case 1:
        return Outcome::of(ioctl(slot.descriptor, PERF_EVENT_IOC_DISABLE, 0));
    case 2:
        return Outcome::of(
            ioctl(slot.descriptor, PERF_EVENT_IOC_SET_FILTER, operation.text.c_str()));
    case 3:
        return Outcome::of(::read(slot.descriptor, &count, sizeof(count)));
    case 4:
        return Outcome::of(ioctl(slot.descriptor, PERF_EVENT_IOC_SET_BPF, -1));
    default:
        close_perf(slot);
        return succeeds();
    }
}

Program::Result Program::limit(const Operation& operation) {
    static constexpr const char* limits[] = {"1",        "0",  "2",     "3",          "32768",
                                             "10000000", "-1", "65535", "4294967296", "x"};
    return write_text("/proc/sys/kernel/user_events_max",
                      limits[operation.arguments[0] % std::size(limits)]);
}

/// Adds or removes a rule, or removes all. The text of the operation is a filter, a trigger, or
/// what follows the pattern.
Program::Result Program::rule(const Operation& operation) {
    static constexpr const char* patterns[] = {
        "fuzz_*", "fuzz_a", "*:fuzz?[ab]", "user_events_multi:fuzz_b", "user_events:f*", "[",
        ":x",     "",       "user_mark:*", "user_mark:text",
    };
    static constexpr const char* rule_instances[] = {
        "",
        " instance=fuzz",
        " instance=fuzz limit=7/s/program",
        " instance=fuzz sample=1/3 limit=2/s",
        " uid=0 instance=fuzz",
        " comm=* instance=fuzz limit=7/s/program",
        " instance=fuzz pid=1",
        " instance=fuzz exe=*/calls",
        " instance=fuzz cgroup=/",
        " instance=fuzz cgroup=/none uid=0,1",
        " group=default instance=fuzz limit=1/s",
        " group=none",
        " instance=fuzz pid=0",
        " limit=7/s",
        " instance=fuzz pid=",
        " instance=fuzz comm=",
        " instance=fuzz exe=",
        " instance=fuzz cgroup=/",
        " instance=fuzz limit=",
        " instance=fuzz sample=1/",
        " group=",
    };
    // The third one is without the text, the last one has it as the value of an option.
    static constexpr const char* actions[] = {" if ", " trigger ", "", " ", ""};
    const auto& arguments = operation.arguments;
    const std::string path = root_ + "user_events_rules";
    if (arguments[4] == 255)
        return write_text(path, "", O_TRUNC);
    const unsigned action = arguments[3] % std::size(actions);
    const std::string text = std::string(arguments[0] % 4 == 3 ? "!" : "") +
                             patterns[arguments[1] % std::size(patterns)] +
                             rule_instances[arguments[2] % std::size(rule_instances)] +
                             actions[action] + (action == 2 ? "" : operation.text);
    return write_text(path, text, O_APPEND);
}

/// Writes to the `enable` files of both systems. Returns whether any user event exists.
bool Program::switch_events(const char* state) const {
    bool any = false;
    for (const char* system : systems) {
        const std::string path = root_ + "events/" + system + "/enable";
        const Outcome outcome = write_text(path, state);
        any |= outcome.ok();
        // The last event of the system may be removed at the same time.
        const bool removed = outcome == fails(ENOENT) || outcome == fails(ENODEV) ||
                             (outcome == fails(EINVAL) && !exists(path));
        if (!outcome.ok() && !removed)
            throw Violation("cannot write " + std::string(state) + " to " + path + ": " +
                            strerrorname_np(outcome.error()));
    }
    return any;
}

/// Removes all recorders of user events that this process has added.
void Program::disable_all() {
    for (PerfSlot& slot : perf_slots_)
        close_perf(slot);
    if (has_rules_ && !unprivileged_)
        expect(write_text(root_ + "user_events_rules", "", O_TRUNC), "remove all rules");
    if (has_triggers_)
        clear_triggers();
    for (const char* system : systems)
        write_text(root_ + "instances/fuzz/events/" + system + "/enable", "0");
    for (const char* instance : instances)
        write_text(root_ + instance + "events/" USER_MARK_SYSTEM "/enable", "0");
    switch_events("0");
    if (has_triggers_ && depth_ == 0) {
        for (const char* instance : instances)
            write_text(root_ + instance + "tracing_on", "1");
        has_triggers_ = false;
    }
    if (depth_ == 0)
        has_rules_ = false;
    if (has_limit_ && depth_ == 0) {
        write_text("/proc/sys/kernel/user_events_max", "32768");
        has_limit_ = false;
    }
}

void Program::clear_triggers() const {
    for (const char* instance : instances)
        for (const char* system : systems) {
            const std::string directory = root_ + instance + "events/" + system + "/";
            for (const std::string& event : events_in(directory))
                clear_triggers_of(directory + event + "/trigger");
        }
}

/// Removes idle events.
void Program::remove_events() const {
    write_text(root_ + "dynamic_events", "", O_TRUNC);
}

} // namespace calls
