// SPDX-License-Identifier: GPL-2.0-only
// What a record costs its writer.
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

/// A system call without what the C library does around it. Returns minus the errno of a failure.
long bare_syscall(long number, long file, const void* data, std::size_t size) {
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(file), "S"(data), "d"(size)
                 : "rcx", "r11", "memory");
    return result;
}

/// A recorder of an event, from when it is made to its end.
using Recorder = std::shared_ptr<void>;

/// Has samples of perf's with the whole record, in a ring whose oldest are overwritten: nothing is
/// ever lost, and nobody has to read them.
class Sampled {
public:
    explicit Sampled(const Event& event)
        : file_(open(event)), ring_(1 + 64, PROT_READ, MAP_SHARED, file_.number()) {}

private:
    static Descriptor open(const Event& event) {
        perf_event_attr attributes = perf_sampling(event);
        Descriptor file(static_cast<int>(
            syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
        if (file.number() < 0)
            throw_errno("perf_event_open");
        return file;
    }

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

/// Records in the top-level instance what is 1, which nothing is that is written here.
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

/// A program that counts, and lets no record through to perf.
class Counting {
public:
    explicit Counting(const Event& event)
        : program_(map_, load_field(Format(event).field("value")), 0),
          perf_(perf_attributes(event)) {
        expect(perf_.attach_program(program_.descriptor()), "attach a program");
    }

    bool ran() const { return map_.seen().runs > 0; }

private:
    SeenMap map_;
    Program program_;
    PerfEvent perf_;
};

struct Way {
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

const Way ways[] = {
    {"disabled", [](const Event&) { return Recorder(); }},
    {"ftrace", one<Enabled>},
    {"ftrace, the filter rejects", one<Rejecting>},
    {"ftrace, two instances", both<Enabled, InInstance>},
    {"perf", one<Sampled>},
    {"ftrace and perf", both<Enabled, Sampled>},
};

constexpr std::size_t sizes[] = {8, 64, 1024, 4000};

/// The two calls that write the same bytes: four of index and a payload of `size`.
class Calls {
public:
    Calls(int file, std::uint32_t index, const Payload& payload)
        : file_(file), bytes_(Payload().add(index).add_bytes(payload.bytes()).bytes()),
          parts_{
              {{bytes_.data(), sizeof(index)}, {bytes_.data() + sizeof(index), payload.size()}}} {}

    long write() const { return bare_syscall(SYS_write, file_, bytes_.data(), bytes_.size()); }
    long writev() const { return bare_syscall(SYS_writev, file_, parts_.data(), 2); }

    /// What each costs. It has to succeed, or to fail with EBADF if it `fails`.
    std::pair<double, double> costs(bool fails) const {
        const long expected = fails ? -EBADF : static_cast<long>(bytes_.size());
        long wrong = 0;
        const std::pair<double, double> costs = {cost([&] { wrong += write() != expected; }),
                                                 cost([&] { wrong += writev() != expected; })};
        if (wrong != 0)
            throw std::runtime_error("a write went wrong");
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
    for (const Way& way : ways)
        for (std::size_t size : sizes) {
            Registered event(" u64 value");
            const Recorder recorder = way.begin(event.event);
            add_both(report, std::to_string(size) + " bytes, " + way.name,
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

/// What the same calls cost elsewhere.
void others(Report& report) {
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
    others(report);
    user_events(report);
    text(report);
    program(report);
}

} // namespace bench
