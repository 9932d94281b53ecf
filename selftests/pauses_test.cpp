// SPDX-License-Identifier: GPL-2.0-only
// A change of very many bits releases the locks soon, and returns when the bits are written. On a
// clock that counts instructions.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "real_time.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <sched.h>
#include <semaphore>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace {

/// Measures the calls of a function of the kernel as long as it exists, without the time in which
/// other tasks run.
class Tracer {
public:
    explicit Tracer(const std::string& function) {
        sleep_time_.set("0");
        expect(write_text(tracing_file("set_ftrace_filter"), function), "set_ftrace_filter");
        expect(write_text(tracing_file("current_tracer"), "function_graph"), "function_graph");
    }
    Tracer(const Tracer&) = delete;
    Tracer& operator=(const Tracer&) = delete;
    ~Tracer() {
        (void)write_text(tracing_file("current_tracer"), "nop");
        (void)write_text(tracing_file("set_ftrace_filter"), "\n");
        (void)write_text(tracing_file("trace"), "\n");
    }

    double longest_us() const {
        double longest = 0;
        for (const std::string& line : lines_of(read_text(tracing_file("trace")))) {
            const auto unit = line.find(" us ");
            double taken;
            if (unit == std::string::npos || line.find('|') == std::string::npos)
                continue;
            // " 0) # 1234.567 us |  function();", with a mark for long times.
            const auto number = line.find_last_not_of("0123456789.", unit - 1) + 1;
            if (sscanf(line.c_str() + number, "%lf", &taken) == 1)
                longest = std::max(longest, taken);
        }
        return longest;
    }

private:
    Setting sleep_time_{tracing_file("options/sleep-time")};
};

/// A program with a bit of an event, and forked children, which all have run.
class Family {
public:
    Family(const Event& event, unsigned processes)
        : processes_(processes), shared_(1 + processes * sizeof(pid_t) / page_size,
                                         PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS),
          parent_([&](Channel& channel) -> int {
              DataFile file;
              file.must_register(memory_.at(), 0, event.name());
              for (unsigned i = 0; i < processes_; i++)
                  start_child(i);
              channel.send('r');
              channel.receive<char>();
              return 0;
          }) {
        REQUIRE(parent_.channel().receive<char>() == 'r');
        REQUIRE(
            eventually([&] { return std::all_of(pids(), pids() + processes_, std::identity()); }));
    }

    void end() { parent_.kill(); }

private:
    std::atomic<pid_t>* pids() const { return shared_.at<std::atomic<pid_t>>(); }
    void start_child(unsigned i) const {
        if (fork() != 0)
            return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pids()[i] = getpid();
        for (;;)
            pause();
    }

    const unsigned processes_;
    const Mapping memory_{1}, shared_;
    Child parent_;
};

} // namespace

TEST_CASE("The bits of four programs with 8000 each are up to date when each of 30 changes returns",
          "[counted][long]") {
    constexpr unsigned programs = 4, each = 8000, words = each / 32;
    const Event event(unique_name("four"));
    const Mapping memory(programs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    std::vector<std::unique_ptr<Child>> children;
    for (unsigned program = 0; program < programs; program++) {
        children.push_back(std::make_unique<Child>([&](Channel& channel) -> int {
            DataFile file;
            for (unsigned bit = 0; bit < each; bit++)
                file.must_register(&memory.at<Word>(program * page_size)[bit / 32], bit % 32,
                                   event.name());
            channel.send('r');
            channel.receive<char>();
            return 0;
        }));
        REQUIRE(children.back()->channel().receive<char>() == 'r');
    }
    for (unsigned change = 0; change < 30; change++) {
        const bool enable = change % 2 == 0;
        REQUIRE((enable ? event.enable() : event.disable()) == succeeds(1));
        unsigned wrong = 0;
        for (unsigned program = 0; program < programs; program++)
            wrong += static_cast<unsigned>(std::count_if(
                memory.at<Word>(program * page_size), memory.at<Word>(program * page_size) + words,
                [=](const Word& word) { return word != (enable ? ~0u : 0); }));
        CAPTURE(change);
        CHECK(wrong == 0);
    }
    children.clear();
    CHECK(event.wait_removed());
}

TEST_CASE("Writing very many bits occupies event_mutex for little more than 2 ms", "[counted]") {
    constexpr unsigned bits = 4096;
    const Event event(unique_name("long"));
    // Of another process: writing to one's own memory is fast.
    Child program([&](Channel& channel) {
        const Mapping memory(1);
        DataFile file;
        for (unsigned bit = 0; bit < bits; bit++)
            file.must_register(&memory.at<Word>()[bit / 32], bit % 32, event.name());
        channel.send('r');
        channel.receive<char>();
        return 0;
    });
    REQUIRE(program.channel().receive<char>() == 'r');
    // The function is called with the mutex held.
    const Tracer tracer("ue_update_event");
    REQUIRE(event.enable() == succeeds(1));
    const double taken = tracer.longest_us();
    CHECK(taken > 1000);
    CHECK(taken < 3000);
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE(
    "A change writes 4096 bits in 100 ms itself, and then 32, and a work item writes the rest",
    "[counted]") {
    constexpr unsigned bits = 8192, words = bits / 32;
    const Event many(unique_name("many")), more(unique_name("more"));
    const Mapping memory(2);
    DataFile file;
    for (unsigned bit = 0; bit < bits; bit++)
        for (const std::size_t page : {0, 1})
            file.must_register(&memory.at<Word>(page * page_size)[bit / 32], bit % 32,
                               (page == 0 ? many : more).name());
    const auto written = [&](std::size_t page) {
        unsigned count = 0;
        for (std::size_t word = 0; word < words; word++)
            count += static_cast<unsigned>(
                std::popcount(memory.at<Word>(page * page_size)[word].load()));
        return count;
    };
    // The only CPU is left to no work item before the bits are counted: the threads that make the
    // changes have the same priority.
    std::binary_semaphore requests[2] = {std::binary_semaphore(0), std::binary_semaphore(0)};
    const auto change = [&](const Event& event, std::binary_semaphore& request) {
        return std::jthread([&] {
            const RealTimePriority real_time;
            request.acquire();
            event.enable();
        });
    };
    const std::jthread changers[] = {change(many, requests[0]), change(more, requests[1])};
    const auto written_by_change = [&](std::size_t page) {
        requests[page].release();
        unsigned count = 0;
        while ((count = written(page)) == 0)
            sched_yield();
        return count;
    };
    // Earlier changes do not count any more.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    {
        const RealTimePriority real_time;
        CHECK(written_by_change(0) == 4096);
        CHECK(written_by_change(1) == 32);
    }
    CHECK(eventually([&] { return written(0) == bits && written(1) == bits; }));
    CHECK(many.disable() == succeeds(1));
    CHECK(more.disable() == succeeds(1));
}

TEST_CASE("Very many forked children occupy event_mutex for little more than 2 ms, and the lock of "
          "enable bits not longer",
          "[counted][long]") {
    const Event event(unique_name("family"));
    Family family(event, 6000);
    // The first is called with both held, the second by the work item as well.
    for (const char* function : {"ue_update_event", "ue_update_enablers"}) {
        CAPTURE(function);
        const Tracer tracer(function);
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(event.disable() == succeeds(1));
        const double taken = tracer.longest_us();
        CHECK(taken > 0);
        CHECK(taken < 2500);
    }
    family.end();
    CHECK(event.wait_removed());
}
