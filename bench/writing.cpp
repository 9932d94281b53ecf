// SPDX-License-Identifier: GPL-2.0-only
// The cost of writing a record, and of a mark.
#include "bare_syscall.hpp"
#include "clock.hpp"
#include "groups.hpp"

#include "bpf.hpp"
#include "child.hpp"
#include "mark.hpp"
#include "perf.hpp"
#include "registered.hpp"
#include "rule.hpp"
#include "text_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/uio.h>

using namespace selftest;

namespace bench {

namespace {

/// A shared pointer to an object that records an event during its lifetime.
using Recorder = std::shared_ptr<void>;

/// Samples whole records with perf. Mapped read-only, the ring buffer overwrites the oldest
/// samples, so that none is lost although none is read.
class Sampled {
public:
    explicit Sampled(const Event& event)
        : file_(open_perf(perf_sampling(event))),
          ring_(1 + 64, PROT_READ, MAP_SHARED, file_.number()) {}

private:
    Descriptor file_;
    Mapping ring_;
};

class InInstance {
public:
    explicit InInstance(const Event& event) : event_(event) {
        expect(instance_.enable(event_), "enable in an instance");
    }
    ~InInstance() { instance_.disable(event_); }

private:
    Event event_;
    Instance instance_;
};

/// Records the event by a rule with options. In-tree user_events have no rules: an instance records
/// all.
class ByRule {
public:
    ByRule(const Event& event, const std::string& options) {
        const std::string rule = event.name() + " instance=" + instance_.name() + " " + options;
        if (exists(rules_file()))
            rule_.emplace(rule);
        else
            in_tree_.emplace(event);
    }

private:
    Instance instance_;
    std::optional<Rule> rule_;
    std::optional<InInstance> in_tree_;
};

/// Enables the event in the top-level instance, with a filter that rejects all records written
/// here.
class Rejecting {
public:
    explicit Rejecting(const Event& event) : enabled_(event), event_(event) {
        filter("value == 1");
    }
    ~Rejecting() { filter("0"); }

private:
    void filter(const std::string& text) {
        expect(write_text(event_.path("filter"), text), "filter");
    }

    Enabled enabled_;
    Event event_;
};

/// A BPF program that counts records and passes none to perf.
class Counting {
public:
    explicit Counting(const Event& event)
        : program_(map_, load_field(Format(event).field("value")), 0),
          perf_(perf_attributes(event)) {
        expect(perf_.attach_program(program_.descriptor()), "attach a program");
    }

    bool ran() const { return map_.totals().runs > 0; }

private:
    TotalsMap map_;
    Program program_;
    PerfEvent perf_;
};

struct Case {
    const char* name;
    std::function<Recorder(const Event&)> begin;
};

template <typename Part>
Recorder one(const Event& event) {
    return std::make_shared<Part>(event);
}

template <typename First, typename Second>
Recorder both(const Event& event) {
    struct Pair {
        explicit Pair(const Event& event) : first(event), second(event) {}
        First first;
        Second second;
    };
    return std::make_shared<Pair>(event);
}

const Case cases[] = {
    {"disabled", [](const Event&) { return Recorder(); }},
    {"ftrace", one<Enabled>},
    {"ftrace, the filter rejects", one<Rejecting>},
    {"ftrace, two instances", both<Enabled, InInstance>},
    {"perf", one<Sampled>},
    {"ftrace and perf", both<Enabled, Sampled>},
};

constexpr std::size_t sizes[] = {8, 64, 1024, 4000};

/// A write() and a writev() of the same index and payload.
class Calls {
public:
    Calls(int file, std::uint32_t index, const Payload& payload)
        : file_(file), bytes_(Payload().add(index).add_bytes(payload.bytes()).bytes()),
          parts_{
              {{bytes_.data(), sizeof(index)}, {bytes_.data() + sizeof(index), payload.size()}}} {}

    long write() const { return bare_syscall(SYS_write, file_, bytes_.data(), bytes_.size()); }
    long writev() const { return bare_syscall(SYS_writev, file_, parts_.data(), 2); }

    /// Returns the cost of writev(). Throws if a call does not succeed.
    double writev_cost() const {
        return checked_cost([&] { return writev(); }, false);
    }

    /// Returns the cost of each. Throws if a call does not succeed, or if `fails` is set and it
    /// does not fail with EBADF.
    std::pair<double, double> costs(bool fails) const {
        return {checked_cost([&] { return write(); }, fails),
                checked_cost([&] { return writev(); }, fails)};
    }

private:
    template <typename Call>
    double checked_cost(const Call& call, bool fails) const {
        const long expected = fails ? -EBADF : static_cast<long>(bytes_.size());
        long wrong = 0;
        const double result = cost([&] { wrong += call() != expected; });
        if (wrong != 0)
            throw std::runtime_error(std::to_string(wrong) + " writes had an unexpected result");
        return result;
    }

    int file_;
    Bytes bytes_;
    std::array<iovec, 2> parts_;
};

Payload payload_of(std::size_t size) {
    return Payload().add_characters(std::string(size, '\2'));
}

void add_both(Report& report, const std::string& what, const Calls& calls, bool fails = false,
              const std::string& note = {}) {
    const auto [write, writev] = calls.costs(fails);
    report.add("write " + what, write, "instructions", note);
    report.add("writev " + what, writev, "instructions", note);
}

void user_events(Report& report) {
    for (const Case& measured : cases)
        for (std::size_t size : sizes) {
            Registered event(" u64 value");
            const Recorder recorder = measured.begin(event.event);
            add_both(report, std::to_string(size) + " bytes, " + measured.name,
                     Calls(event.file.descriptor(), event.index, payload_of(size)), !recorder);
        }
}

/// A note for the kernel without rules; bench/side_by_side says whose it is.
std::string only_in_tree(const std::string& note) {
    return exists(rules_file()) ? std::string() : note;
}

void by_rule(Report& report) {
    const std::pair<const char*, std::string> rules[] = {
        {"8 bytes, a rule without options", ""},
        {"8 bytes, a rule for this program", "pid=" + std::to_string(getpid())},
        {"8 bytes, a rule for another program", "pid=1"},
        {"8 bytes, below a limit", "limit=1000000000/s"},
        {"8 bytes, below a limit of each program", "limit=1000000000/s/program"},
        {"8 bytes, beyond a limit", "limit=1/s"},
        {"8 bytes, beyond a limit of each program", "limit=1/s/program"},
        {"8 bytes, left out by a sample", "sample=1/1000000000"},
    };
    for (const auto& [what, options] : rules) {
        Registered event(" u64 value");
        const ByRule recorder(event.event, options);
        add_both(report, what, Calls(event.file.descriptor(), event.index, payload_of(8)), false,
                 only_in_tree("recorded for all"));
    }
}

/// Counts the records of each process in a histogram, and stores none.
class Histogram {
public:
    explicit Histogram(const Event& event) : file_(event.path("trigger")) {
        expect(write_text(file_, trigger), trigger);
    }
    ~Histogram() { write_text(file_, std::string("!") + trigger); }

private:
    static constexpr const char* trigger = "hist:keys=common_pid:size=128";
    std::string file_;
};

/// The cost of an event of a program that looks at its bit, without the loop.
double cost_with_check(const Registered& event) {
    const Calls calls(event.file.descriptor(), event.index, payload_of(8));
    return cost([&] {
               if (event.word.load(std::memory_order_relaxed) & 1)
                   calls.write();
           }) -
           cost([] { asm volatile(""); });
}

/// Of this process, while another one that has registered the event is recorded.
void of_another_process(Report& report) {
    Registered event(" u64 value");
    // It inherits the registration.
    Child recorded([](Channel& channel) { return channel.receive<bool>() ? 0 : 1; });
    {
        const PerfEvent perf(perf_attributes(event.event), recorded.pid());
        report.add("an event, perf records another process", cost_with_check(event), "instructions",
                   only_in_tree("the bit is 1"));
    }
    const ByRule rule(event.event, "pid=" + std::to_string(recorded.pid()));
    report.add("an event, a rule records another process", cost_with_check(event), "instructions",
               only_in_tree("recorded for all"));
}

/// What a flood costs without a limit: counted only, and not recorded.
void flood_without_limit(Report& report) {
    Registered event(" u64 value");
    report.add("an event in a flood, nothing records it", cost_with_check(event));
    const Histogram histogram(event.event);
    report.add("an event in a flood, counted by a hist trigger", cost_with_check(event));
}

/// Of a program that looks at its bit. In-tree, each event costs as much as the first one.
void flood(Report& report) {
    const long events = exists(rules_file()) ? 10'000'000 : 100'000;
    Registered event(" u64 value");
    const ByRule recorder(event.event, "limit=1000/s");
    const Calls calls(event.file.descriptor(), event.index, payload_of(8));
    const double whole = cost_once([&] {
        for (long i = 0; i < events; i++)
            if (event.word.load(std::memory_order_relaxed) & 1)
                calls.write();
    });
    report.add("an event in a flood of 10 million, limit=1000/s",
               whole / static_cast<double>(events), "instructions",
               only_in_tree("recorded for all"));
}

void program(Report& report) {
    Registered event(" u64 value");
    const Counting counting(event.event);
    const Calls calls(event.file.descriptor(), event.index, payload_of(8));
    calls.write();
    add_both(report, "8 bytes, a BPF program that counts", calls, false,
             counting.ran() ? "" : "the program does not run");
}

void strings(Report& report) {
    for (std::uint32_t size : {0u, 40u, 400u, 3000u}) {
        Registered event(" u32 number; __rel_loc char[] text");
        Payload payload = Payload().add(1u).add(location(0, size));
        if (size > 0)
            payload.add_string(std::string(size - 1, 'x'));
        const Enabled enabled(event.event);
        add_both(report, "a string of " + std::to_string(size) + " bytes, ftrace",
                 Calls(event.file.descriptor(), event.index, payload));
    }
}

/// Measures one writev() of this payload. The event's fields are an integer and `fields`.
void add_fields(Report& report, const std::string& what, const std::string& fields,
                const Payload& payload, const Case& measured) {
    Registered event(" u32 value" + fields);
    const Recorder recorder = measured.begin(event.event);
    const Payload whole = Payload().add(2u).add_bytes(payload.bytes());
    report.add("writev " + what + ", " + measured.name,
               Calls(event.file.descriptor(), event.index, whole).writev_cost());
}

const Case ftrace = {"ftrace", one<Enabled>};

void several_strings(Report& report) {
    for (std::uint32_t count : {4u, 16u}) {
        constexpr std::uint32_t size = 40;
        std::string fields;
        Payload payload;
        for (std::uint32_t i = 0; i < count; i++) {
            fields += "; __rel_loc char[] s" + std::to_string(i);
            payload.add(location((count - 1 - i) * 4 + i * size, size));
        }
        for (std::uint32_t i = 0; i < count; i++)
            payload.add_string(std::string(size - 1, 'x'));
        add_fields(report, std::to_string(count) + " strings of 40 bytes", fields, payload, ftrace);
    }
}

void arrays(Report& report) {
    struct Contents {
        const char* name;
        std::string (*make)(std::size_t size);
    };
    static const Contents contents[] = {
        {"empty", [](std::size_t size) { return std::string(size, '\0'); }},
        {"short", [](std::size_t size) { return "text" + std::string(size - 4, '\0'); }},
        {"full", [](std::size_t size) { return std::string(size - 1, 'x') + '\0'; }},
        {"without NUL", [](std::size_t size) { return std::string(size, 'x'); }},
    };
    const auto add = [&](std::size_t count, std::size_t size, const Contents& content,
                         const Case& measured) {
        std::string fields;
        Payload payload;
        for (std::size_t i = 0; i < count; i++) {
            fields += fmt::format(";char[{}] t{}", size, i);
            payload.add_characters(content.make(size));
        }
        const std::string what = fmt::format(
            "{}char[{}], {}", count == 1 ? "" : std::to_string(count) + " ", size, content.name);
        add_fields(report, what, fields, payload, measured);
    };
    for (std::size_t size : {16, 128, 1020})
        for (const Contents& content : contents)
            add(1, size, content, ftrace);
    for (std::size_t count : {8, 32})
        for (const Contents& content : contents)
            add(count, 16, content, ftrace);
    for (const Case& measured :
         {Case{"ftrace, the filter rejects", one<Rejecting>}, Case{"perf", one<Sampled>}})
        add(1, 1020, contents[3], measured);
}

/// Measures the same calls on other files, for comparison.
void other_files(Report& report) {
    report.add("getppid", cost([] { syscall(SYS_getppid); }));
    const std::pair<const char*, std::string> files[] = {
        {"/dev/null", "/dev/null"},
        {"trace_marker", tracing_file("trace_marker")},
        {"trace_marker_raw", tracing_file("trace_marker_raw")},
    };
    for (const auto& [name, path] : files) {
        const Descriptor file = Descriptor::open(path, O_WRONLY);
        add_both(report, std::string("8 bytes, ") + name, Calls(file.number(), 0, payload_of(8)));
    }
}

} // namespace

void writing(Report& report) {
    other_files(report);
    user_events(report);
    strings(report);
    several_strings(report);
    arrays(report);
    by_rule(report);
    of_another_process(report);
    flood(report);
    flood_without_limit(report);
    program(report);
}

// On a kernel without marks, measures writes to the files that are nearest.
void marking(Report& report) {
    const bool exist = exists(MarkFile::path);
    const auto add = [&](const std::string& path, const std::string& note, const Case& recording) {
        const Recorder recorder = exist ? recording.begin(mark_text) : Recorder();
        const Recorder of_data = exist ? recording.begin(mark_data) : Recorder();
        const Descriptor file = Descriptor::open(exist ? MarkFile::path : path, O_WRONLY);
        const std::string what = std::string("a mark of 8 bytes, ") + recording.name;
        const Calls calls(file.number(), 0, payload_of(4));
        add_both(report, what, calls, false, exist ? "" : note);
        const std::string data(8, '\2');
        for (std::uint32_t type : {0u, 1u}) {
            user_mark mark = mark_of(type, data);
            const std::string call = fmt::format("ioctl {}, type {}", what, type);
            report.add(call, cost([&] {
                           if (exist)
                               ioctl(file.number(), USER_MARK, &mark);
                           else
                               calls.write();
                       }),
                       "instructions", exist ? "" : note);
        }
    };
    add("/dev/null", "write to /dev/null", {"disabled", [](const Event&) { return Recorder(); }});
    add(tracing_file("trace_marker"), "write to trace_marker", ftrace);
}

} // namespace bench
