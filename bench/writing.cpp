// SPDX-License-Identifier: GPL-2.0-only
// The cost of writing a record.
#include "clock.hpp"
#include "groups.hpp"

#include "bpf.hpp"
#include "perf.hpp"
#include "registered.hpp"
#include "text_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <stdexcept>
#include <sys/uio.h>

using namespace selftest;

namespace bench {

namespace {

/// Makes a system call without the C library's code around it. Returns minus the errno of a
/// failure.
long bare_syscall(long number, long file, const void* data, std::size_t size) {
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(file), "S"(data), "d"(size)
                 : "rcx", "r11", "memory");
    return result;
}

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

    /// Returns the cost of each. Throws if a call does not succeed, or if `fails` is set and it
    /// does not fail with EBADF.
    std::pair<double, double> costs(bool fails) const {
        const long expected = fails ? -EBADF : static_cast<long>(bytes_.size());
        long wrong = 0;
        const std::pair<double, double> costs = {cost([&] { wrong += write() != expected; }),
                                                 cost([&] { wrong += writev() != expected; })};
        if (wrong != 0)
            throw std::runtime_error(std::to_string(wrong) + " writes had an unexpected result");
        return costs;
    }

private:
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

void program(Report& report) {
    Registered event(" u64 value");
    const Counting counting(event.event);
    const Calls calls(event.file.descriptor(), event.index, payload_of(8));
    calls.write();
    add_both(report, "8 bytes, a BPF program that counts", calls, false,
             counting.ran() ? "" : "the program does not run");
}

void text(Report& report) {
    Registered event(" u32 number; __rel_loc char[] text");
    const std::string characters(39, 'x');
    const Payload payload = Payload().add(1u).add(DYN_LOC(0, 40)).add_string(characters);
    const Enabled enabled(event.event);
    add_both(report, "a string of 40 bytes, ftrace",
             Calls(event.file.descriptor(), event.index, payload));
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
    text(report);
    program(report);
}

} // namespace bench
