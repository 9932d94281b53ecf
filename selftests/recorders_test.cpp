// SPDX-License-Identifier: GPL-2.0-only
// One payload, many recorders: it is read from the program's memory once, whoever changes it
// meanwhile, and recorders may come and go while the write is under way.
#include "bpf.hpp"
#include "perf.hpp"
#include "registered.hpp"

#include "deadline.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <future>
#include <linux/userfaultfd.h>
#include <memory>
#include <poll.h>
#include <set>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/syscall.h>

using namespace selftest;

namespace {

/// Two pages of memory. Who reads the second one waits until it is given.
class HeldBack {
public:
    HeldBack() : faults_(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC))) {
        if (faults_.number() < 0)
            throw_errno("userfaultfd");
        uffdio_api api{};
        api.api = UFFD_API;
        uffdio_register range{};
        range.range = {address_of(second()), page_size};
        range.mode = UFFDIO_REGISTER_MODE_MISSING;
        if (ioctl(faults_.number(), UFFDIO_API, &api) != 0 ||
            ioctl(faults_.number(), UFFDIO_REGISTER, &range) != 0)
            throw_errno("UFFDIO_REGISTER");
    }

    std::byte* second() const { return memory_.at(page_size); }

    /// Waits until somebody waits for the second page.
    void await_reader() const {
        pollfd waiting{faults_.number(), POLLIN, 0};
        uffd_msg message;
        if (poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) != 1 ||
            read(faults_.number(), &message, sizeof(message)) != sizeof(message))
            throw std::runtime_error("nobody reads the second page");
    }

    void give(const Bytes& start) const {
        const Mapping page(1);
        std::ranges::copy(start, page.at());
        uffdio_copy copy{};
        copy.dst = address_of(second());
        copy.src = address_of(page.at());
        copy.len = page_size;
        if (ioctl(faults_.number(), UFFDIO_COPY, &copy) != 0)
            throw_errno("UFFDIO_COPY");
    }

private:
    Mapping memory_{2};
    Descriptor faults_;
};

/// Writes a record whose last bytes the kernel has to wait for. Meanwhile `body` runs, in another
/// thread, with the part of the payload that the kernel has read already. That part is to be of
/// whole words: the kernel reads one that ends in the next page anew.
template <typename Body>
Outcome write_around(Registered& registered, const Payload& payload, std::size_t held_back,
                     Body&& body) {
    const HeldBack memory;
    const auto middle = payload.bytes().end() - static_cast<std::ptrdiff_t>(held_back);
    std::byte* start = memory.second() - (payload.size() - held_back);
    std::copy(payload.bytes().begin(), middle, start);
    std::byte* index = start - sizeof(registered.index);
    std::memcpy(index, &registered.index, sizeof(registered.index));
    auto meanwhile = std::async(std::launch::async, [&] {
        memory.await_reader();
        std::exception_ptr failed;
        try {
            body(start);
        } catch (...) {
            failed = std::current_exception();
        }
        memory.give(Bytes(middle, payload.bytes().end()));
        if (failed)
            std::rethrow_exception(failed);
    });
    const Outcome outcome = registered.file.write(index, sizeof(registered.index) + payload.size());
    meanwhile.get();
    return outcome;
}

/// Whether a recorder's bytes are those written, but for the padding behind them.
bool begins_with(const Bytes& recorded, const Bytes& written) {
    return recorded.size() >= written.size() && recorded.size() - written.size() < 8 &&
           std::equal(written.begin(), written.end(), recorded.begin());
}

void set_filter(const Instance& instance, const Event& event, const std::string& filter) {
    expect(write_text(instance.path("events/user_events/" + event.name() + "/filter"), filter),
           "filter " + filter);
}

/// One way to record what the first thread writes, for as long as the object lives.
class Recorder {
public:
    Recorder() = default;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    virtual ~Recorder() = default;
    /// How many records it has seen since it was last asked.
    virtual std::uint64_t take() = 0;
};

class InstanceRecorder : public Recorder {
public:
    explicit InstanceRecorder(const Event& event) : event_(event) {
        expect(instance_.enable(event_), "enable");
    }
    ~InstanceRecorder() override { instance_.disable(event_); }
    std::uint64_t take() override { return instance_.records().size(); }

private:
    Event event_;
    Instance instance_;
};

/// An instance that is removed as it is, with the event enabled.
class RemovedRecorder : public Recorder {
public:
    explicit RemovedRecorder(const Event& event) { expect(instance_.enable(event), "enable"); }
    std::uint64_t take() override { return instance_.records().size(); }

private:
    Instance instance_;
};

class TriggerRecorder : public Recorder {
public:
    explicit TriggerRecorder(const Event& event)
        : event_("events/user_events/" + event.name() + "/") {
        expect(write_text(instance_.path(event_ + "trigger"), "hist:size=128:keys=first"),
               "trigger");
    }
    ~TriggerRecorder() override {
        write_text(instance_.path(event_ + "trigger"), "!hist:size=128:keys=first");
    }
    std::uint64_t take() override {
        for (const std::string& line : lines_of(read_text(instance_.path(event_ + "hist"))))
            if (line.find("Hits: ") != std::string::npos) {
                const std::uint64_t before = std::exchange(hits_, std::stoul(line.substr(10)));
                return hits_ - before;
            }
        return 0;
    }

private:
    std::string event_;
    Instance instance_;
    std::uint64_t hits_ = 0;
};

class PerfRecorder : public Recorder {
public:
    explicit PerfRecorder(const Event& event) : perf_(perf_sampling(event), getpid()) {}
    std::uint64_t take() override { return perf_.samples().size(); }

private:
    PerfEvent perf_;
};

class BpfRecorder : public Recorder {
public:
    explicit BpfRecorder(const Event& event)
        : program_(map_, load_at(BPF_W, 8)), perf_(perf_attributes(event)) {
        expect(perf_.attach_program(program_.descriptor()), "attach");
    }
    std::uint64_t take() override {
        const std::uint64_t before = std::exchange(runs_, map_.seen().runs);
        return runs_ - before;
    }

private:
    SeenMap map_;
    Program program_;
    PerfEvent perf_;
    std::uint64_t runs_ = 0;
};

struct Kind {
    const char* name;
    std::function<std::unique_ptr<Recorder>(const Event&)> make;
};

template <typename T>
Kind kind(const char* name) {
    return {name, [](const Event& event) { return std::make_unique<T>(event); }};
}

const Kind kinds[] = {
    kind<InstanceRecorder>("an instance"), kind<RemovedRecorder>("an instance that is removed"),
    kind<TriggerRecorder>("a trigger"), kind<PerfRecorder>("perf"), kind<BpfRecorder>("BPF")};

} // namespace

TEST_CASE("All recorders get what the kernel read, once, and not what is there later") {
    Registered registered(" u32 value; __rel_loc char[] text; u32 last");
    const Format format(registered.event);
    // So large that it is copied to the heap, or so small that it is copied to the stack.
    const std::size_t more = GENERATE(4, 2004), held_back = more / 2 + 2;
    CAPTURE(more);
    const auto content = [&](std::uint32_t value, std::uint32_t offset, const char* text) {
        return Payload()
            .add(value)
            .add<std::uint32_t>(DYN_LOC(offset, 4))
            .add(~value)
            .add_string(text)
            .add_characters(std::string(more, text[0]));
    };
    // The location of the other is outside: alone, its write is EFAULT.
    const Payload payload = content(1, 4, "old"), changed = content(2, 40000, "new");
    const std::size_t size = payload.size(), there = size - held_back;

    Instance first, second, before, after;
    for (Instance* instance : {&first, &second, &before, &after})
        REQUIRE(instance->enable(registered.event) == succeeds());
    set_filter(before, registered.event, "value == 1 && text == \"old\"");
    set_filter(after, registered.event, "value == 2 || text == \"new\"");
    PerfEvent perf(perf_sampling(registered.event)), perf_before(perf_sampling(registered.event)),
        perf_after(perf_sampling(registered.event));
    REQUIRE(perf_before.set_filter("value == 1 && text == \"old\"") == succeeds());
    REQUIRE(perf_after.set_filter("value == 2 || text == \"new\"") == succeeds());
    const SeenMap map;
    const Program program(map, load_field(format.field("value")));
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());

    CHECK(registered.record(changed) == fails(EFAULT));
    const Outcome written = write_around(registered, payload, held_back, [&](std::byte* start) {
        std::copy_n(changed.bytes().begin(), there, start);
    });
    CHECK(written == succeeds(static_cast<long>(size) + 4));

    for (Instance* instance : {&first, &second, &before}) {
        const auto records = instance->records();
        REQUIRE(records.size() == 1);
        CHECK(begins_with(records[0].payload(), payload.bytes()));
    }
    CHECK(after.records().empty());
    for (PerfEvent* event : {&perf, &perf_before}) {
        const auto samples = event->samples();
        REQUIRE(samples.size() == 1);
        CHECK(begins_with(samples[0].payload, payload.bytes()));
    }
    CHECK(perf_after.samples().empty());
    CHECK(map.seen() == Seen{1, 1});
    for (Instance* instance : {&first, &second, &before, &after})
        REQUIRE(instance->disable(registered.event) == succeeds());
}

TEST_CASE("All recorders get the same of a payload that another thread keeps changing") {
    constexpr std::size_t batches = 40, batch = 40, length = 375;
    // A size that neither ftrace nor perf pads.
    struct Large {
        std::uint32_t index, first;
        std::atomic<std::uint64_t> words[length];
    };
    Registered registered(" u32 first");
    const Mapping memory(1);
    auto* large = memory.at<Large>();
    static_assert(sizeof(Large) <= 4096);
    large->index = registered.index;

    Instance first, second;
    for (Instance* instance : {&first, &second})
        REQUIRE(instance->enable(registered.event) == succeeds());
    PerfEvent perf(perf_sampling(registered.event));
    std::jthread changer([&](const std::stop_token& stop) {
        const OnCpu other_cpu(1);
        // An emulator that runs its CPUs in turns goes on to the next one at a pause.
        for (std::uint64_t value = 1; !stop.stop_requested(); value++)
            for (std::size_t i = 0; i < length; i++) {
                large->words[i].store(value, std::memory_order_relaxed);
                if (i % 50 == value % 50)
                    __builtin_ia32_pause();
            }
    });

    const OnCpu on_cpu(0);

    std::size_t different = 0, mixed = 0, failures = 0;
    std::set<Bytes> contents;
    for (std::size_t i = 0; i < batches; i++) {
        for (std::size_t j = 0; j < batch; j++) {
            __builtin_ia32_pause();
            failures += !registered.file.write(large, sizeof(*large)).ok();
        }
        const auto one = first.records(), other = second.records();
        const auto samples = perf.samples();
        REQUIRE(one.size() == batch);
        REQUIRE(other.size() == batch);
        REQUIRE(samples.size() == batch);
        for (std::size_t j = 0; j < batch; j++) {
            const Bytes bytes = one[j].payload();
            different += other[j].payload() != bytes || samples[j].payload != bytes;
            std::uint64_t values[length];
            REQUIRE(bytes.size() == sizeof(values) + 4);
            std::memcpy(values, bytes.data() + 4, sizeof(values));
            mixed += values[0] != values[length - 1];
            contents.insert(bytes);
        }
    }
    CHECK(failures == 0);
    CHECK(different == 0);
    // It did change between the writes, and some were caught in the middle of a change.
    CHECK(contents.size() > batches * batch / 2);
    CHECK(mixed > batches);
    for (Instance* instance : {&first, &second})
        REQUIRE(instance->disable(registered.event) == succeeds());
}

TEST_CASE("A recorder that goes while a write is under way gets nothing of it, the others all") {
    const Kind& goes = GENERATE(from_range(std::begin(kinds), std::end(kinds)));
    CAPTURE(goes.name);
    Registered registered(" u32 first; u32 last");
    const Payload payload = Payload().add(1u).add(2u);
    auto going = goes.make(registered.event);
    CHECK(registered.word == 1);

    SECTION("it was the only one") {
        const Outcome written = write_around(registered, payload, 4, [&](std::byte*) {
            going.reset();
            CHECK(registered.word == 0);
        });
        CHECK(written == fails(EBADF));
    }
    SECTION("there are others of all kinds") {
        std::vector<std::unique_ptr<Recorder>> others;
        for (const Kind& kind : kinds)
            others.push_back(kind.make(registered.event));
        const Outcome written = write_around(registered, payload, 4, [&](std::byte*) {
            going.reset();
            CHECK(registered.word == 1);
        });
        CHECK(written == succeeds(12));
        for (const auto& other : others)
            CHECK(other->take() == 1);
    }
    CHECK(registered.word == 0);
    CHECK(registered.status().empty());
    CHECK(registered.record(payload) == fails(EBADF));
}

TEST_CASE("A recorder that comes while a write is under way gets it") {
    const Kind& comes = GENERATE(from_range(std::begin(kinds), std::end(kinds)));
    CAPTURE(comes.name);
    Registered registered(" u32 first; u32 last");
    const Payload payload = Payload().add(1u).add(2u);
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    std::unique_ptr<Recorder> coming;
    const Outcome written = write_around(registered, payload, 4, [&](std::byte*) {
        coming = comes.make(registered.event);
        CHECK(instance.disable(registered.event) == succeeds());
        CHECK(registered.word == 1);
    });
    CHECK(written == succeeds(12));
    CHECK(coming->take() == 1);
    CHECK(instance.records().empty());
    CHECK(registered.record(payload) == succeeds(12));
    CHECK(coming->take() == 1);
}
