// SPDX-License-Identifier: GPL-2.0-only
#include "tracing.hpp"

#include "deadline.hpp"
#include "median.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <linux/user_mark.h>
#include <stdexcept>
#include <sys/utsname.h>
#include <system_error>
#include <unistd.h>

namespace selftest {

namespace {

void parse_format(tep_handle& formats, const Event& event) {
    const std::string text = event.format();
    if (tep_parse_event(&formats, text.c_str(), text.size(), event.system().c_str()) != 0)
        throw std::runtime_error("libtraceevent cannot parse the format " + text);
}

/// Returns the formats of all user events and marks. tracefs_local_events_system() does the same,
/// but also reads all kernel symbols, which takes a second on an emulated machine.
std::shared_ptr<tep_handle> formats_of_user_events() {
    std::shared_ptr<tep_handle> formats(tep_alloc(), tep_free);
    const std::string page = read_text(tracing_file("events/header_page"));
    tep_parse_header_page(formats.get(), const_cast<char*>(page.c_str()), page.size(),
                          sizeof(long));
    tep_set_page_size(formats.get(), static_cast<int>(sysconf(_SC_PAGESIZE)));
    // Those of groups begin with user_events, too.
    char** systems = tracefs_event_systems(nullptr);
    for (char** each = systems; each && *each; each++) {
        const std::string system = *each;
        if (!system.starts_with(USER_EVENTS_SYSTEM) && system != USER_MARK_SYSTEM)
            continue;
        char** events = tracefs_system_events(nullptr, system.c_str());
        for (char** event = events; event && *event; event++)
            try {
                parse_format(*formats, Event(*event, system));
            } catch (const std::system_error&) {
                // The event was removed after the directory was read.
            }
        tracefs_list_free(events);
    }
    tracefs_list_free(systems);
    return formats;
}

/// Replaces the value of a success by 0.
Outcome without_value(const Outcome& outcome) {
    return outcome.ok() ? succeeds() : outcome;
}

} // namespace

bool has_eventfs() {
    utsname kernel;
    unsigned major = 0, minor = 0;
    if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%u.%u", &major, &minor) != 2)
        throw_errno("the kernel's version");
    return major > 6 || (major == 6 && minor >= 6);
}

std::string Event::path(const std::string& file) const {
    return tracing_file("events/" + system_ + "/" + name_ + "/" + file);
}

bool Event::exists() const {
    return selftest::exists(path("format"));
}

bool Event::wait_removed() const {
    return eventually([this] { return !exists() && status_line(name_).empty(); });
}

std::string Event::format() const {
    return read_text(path("format"));
}

int Event::id() const {
    return std::stoi(read_text(path("id")));
}

Outcome Event::enable() const {
    return write_text(path("enable"), "1");
}

Outcome Event::disable() const {
    return write_text(path("enable"), "0");
}

std::chrono::steady_clock::duration median_change_time(const Event& event, unsigned count) {
    std::vector<std::chrono::steady_clock::duration> taken(count);
    for (unsigned change = 0; change < count; change++) {
        const auto start = std::chrono::steady_clock::now();
        expect(change % 2 ? event.disable() : event.enable(), "change " + event.name());
        taken[change] = std::chrono::steady_clock::now() - start;
    }
    return median(std::move(taken));
}

Format::Format(const Event& event) : formats_(tep_alloc(), tep_free) {
    parse_format(*formats_, event);
    event_ = tep_find_event_by_name(formats_.get(), event.system().c_str(), event.name().c_str());
    if (!event_)
        throw std::runtime_error("libtraceevent does not know the event " + event.name());
}

const tep_format_field& Format::field(const std::string& name) const {
    const tep_format_field* field = tep_find_field(event_, name.c_str());
    if (!field)
        throw std::runtime_error("no field " + name);
    return *field;
}

Enabled::Enabled(const Event& event) : event_(event) {
    expect(event.enable(), "enable " + event.name());
}

Enabled::~Enabled() {
    event_.disable();
}

Record::Record(std::shared_ptr<tep_handle> formats, tep_event* event, const tep_record& record)
    : formats_(std::move(formats)), event_(event), record_(record) {
    const auto* start = static_cast<const std::byte*>(record.data);
    data_.assign(start, start + record.size);
}

tep_record Record::view() const {
    tep_record record = record_;
    record.data = const_cast<std::byte*>(data_.data());
    return record;
}

long long Record::number(const std::string& field) const {
    tep_record record = view();
    unsigned long long value;
    if (tep_get_any_field_val(nullptr, event_, field.c_str(), &record, &value, 0) != 0)
        throw std::runtime_error("no such field: " + field);
    return static_cast<long long>(value);
}

Bytes Record::bytes(const std::string& field) const {
    tep_record record = view();
    int size = 0;
    const void* start = tep_get_field_raw(nullptr, event_, field.c_str(), &record, &size, 0);
    if (!start)
        throw std::runtime_error("no such field: " + field);
    const auto* first = static_cast<const std::byte*>(start);
    if (size < 0 || first < data_.data() || first + size > data_.data() + data_.size())
        throw std::runtime_error("the data is outside the record: field " + field);
    return Bytes(first, first + size);
}

std::string Record::text(const std::string& field) const {
    const Bytes characters = bytes(field);
    std::string text(reinterpret_cast<const char*>(characters.data()), characters.size());
    return text.substr(0, text.find('\0'));
}

Bytes Record::payload() const {
    const std::size_t common = 8;
    return Bytes(data_.begin() + common, data_.end());
}

Instance::Instance()
    : name_(unique_name("selftest")), instance_(tracefs_instance_create(name_.c_str())) {
    if (!instance_)
        throw_errno("create the tracing instance " + name_);
    // This clock orders records even where the kernel considers the TSC unstable.
    if (const Outcome set = write_text(path("trace_clock"), "counter"); !set.ok()) {
        tracefs_instance_destroy(instance_);
        tracefs_instance_free(instance_);
        expect(set, "trace_clock");
    }
}

Instance::~Instance() {
    tracefs_instance_destroy(instance_);
    tracefs_instance_free(instance_);
}

std::string Instance::path(const std::string& file) const {
    return tracing_file("instances/" + name_ + "/" + file);
}

std::string Instance::path(const Event& event, const std::string& file) const {
    return path("events/" + event.system() + "/" + event.name() + "/" + file);
}

// Not tracefs_event_enable(): it matches the name, as a regular expression, with all events, and
// fails if an event is removed at the same time.
Outcome Instance::enable(const Event& event) {
    return without_value(write_text(path(event, "enable"), "1"));
}

Outcome Instance::disable(const Event& event) {
    return without_value(write_text(path(event, "enable"), "0"));
}

Outcome Instance::set_filter(const Event& event, const std::string& filter) const {
    return without_value(write_text(path(event, "filter"), filter));
}

std::vector<Record> Instance::records() {
    const std::shared_ptr<tep_handle> formats = formats_of_user_events();
    struct Context {
        std::shared_ptr<tep_handle> formats;
        std::vector<Record> records;
    } context{formats, {}};
    auto keep = [](tep_event* event, tep_record* record, int, void* data) {
        auto* into = static_cast<Context*>(data);
        into->records.emplace_back(into->formats, event, *record);
        return 0;
    };
    if (tracefs_iterate_raw_events(formats.get(), instance_, nullptr, 0, keep, &context) != 0)
        throw_errno("read the records of " + name_);
    std::ranges::stable_sort(context.records, {}, &Record::timestamp);
    return context.records;
}

std::vector<std::string> Instance::trace(const Event& event) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(read_text(path("trace")))) {
        std::size_t start = line.find(": " + event.name() + ":");
        if (!line.starts_with("#") && start != std::string::npos)
            found.push_back(line.substr(start + 2));
    }
    return found;
}

Definition::Definition(const std::string& file, const std::string& text, std::string removal)
    : path_(tracing_file(file)), removal_(std::move(removal)) {
    expect(write_text(path_, text, O_APPEND), text + " > " + file);
}

Definition::~Definition() {
    write_text(path_, removal_, O_APPEND);
}

} // namespace selftest
