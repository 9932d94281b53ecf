// SPDX-License-Identifier: GPL-2.0-only
// Marks in the reports of Debian's unmodified perf: programs that know nothing of
// them, the order of marks and other events, and code that a JIT makes and marks.
#include "catch.hpp"
#include "mark.hpp"

#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "perf.hpp"
#include "text_file.hpp"
#include "tool.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <unistd.h>

using namespace selftest;

namespace {

using Lines = std::vector<std::string>;

/// The lines of `perf script` with these fields.
Lines script(const ToolFile& file, const std::string& fields) {
    return lines_of(file.report("script -F " + fields));
}

/// Numbers of the lines, from 0, that contain a text.
std::vector<std::size_t> lines_with(const Lines& lines, const std::string& text) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < lines.size(); i++)
        if (lines[i].find(text) != std::string::npos)
            found.push_back(i);
    return found;
}

/// A program that knows nothing of perf: a shell that writes a mark whenever it gets a line.
class Shell {
public:
    Shell()
        : child_([](Channel& channel) {
              // The shell reads lines from the socket.
              dup2(channel.descriptor(), 0);
              execl("/bin/sh", "sh", "-c",
                    "while read -r line; do echo \"$line\" >/dev/user_mark; done", nullptr);
              return errno;
          }) {}

    pid_t pid() const { return child_.pid(); }
    void mark(const std::string& text) {
        for (char c : text + "\n")
            child_.channel().send(c);
    }

private:
    Child child_;
};

/// Machine code that spins until the counter in its argument is 0, and returns.
constexpr unsigned char spin_code[] = {
    0x48, 0xff, 0xcf, // dec %rdi
    0x75, 0xfb,       // jne -5
    0xc3,             // ret
};
using Spin = void (*)(std::uint64_t);

/// Runs code until the process has spent this CPU time in it.
void run_for(Spin code, std::chrono::milliseconds time) {
    const auto spent = [] {
        timespec now;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    };
    for (const auto end = spent() + time; spent() < end;)
        code(10000);
}

} // namespace

TEST_CASE("perf record -e user_mark:text -p PID records a program that knows nothing of perf",
          "[waits][tool:perf]") {
    Shell watched, other;
    const ToolFile recorded(ToolFile::perf);
    recorded.record("-e user_mark:text -p " + std::to_string(watched.pid()), [&] {
        PerfEvent counting(perf_attributes(mark_text), -1, 0),
            counting_too(perf_attributes(mark_text), -1, 1);
        const auto marks = [&] { return counting.count() + counting_too.count(); };
        watched.mark("phase 1");
        other.mark("of another program");
        watched.mark("phase 2 begins");
        CHECK(eventually([&] { return marks() == 3; }));
    });
    CHECK(recorded.fields(mark_text) == Lines{"text=phase 1", "text=phase 2 begins"});
}

TEST_CASE("perf reports the type and the size of data") {
    const ToolFile recorded(ToolFile::perf);
    recorded.record("-e user_mark:data --filter 'type > 6' -p " + std::to_string(getpid()), [] {
        MarkFile file(O_RDWR);
        CHECK(file.mark(6, "not recorded") == succeeds());
        CHECK(file.mark(7, "\x01\xab\xff") == succeeds());
    });
    CHECK(recorded.fields(mark_data) == Lines{"type=7 size=3"});
}

TEST_CASE("A mark is between the two scheduler events around it in perf's report") {
    const ToolFile recorded(ToolFile::perf);
    const std::string pid = std::to_string(getpid());
    recorded.record("-a -e sched:sched_switch -e user_mark:text", [] {
        const OnCpu on_cpu(0);
        MarkFile file;
        // Sleeping switches to another task before and after the mark.
        for (const char* text : {"first", "second", "third"}) {
            usleep(20000);
            CHECK(file.write(text).ok());
        }
        usleep(20000);
    });
    Lines mine;
    for (const std::string& line : script(recorded, "event,trace"))
        if (line.find("user_mark:text") != std::string::npos ||
            line.find("prev_pid=" + pid + " ") != std::string::npos ||
            line.find("next_pid=" + pid + " ") != std::string::npos)
            mine.push_back(line);
    for (const char* text : {"first", "second", "third"}) {
        CAPTURE(text);
        const auto at = lines_with(mine, std::string("text=") + text);
        REQUIRE(at.size() == 1);
        REQUIRE(at[0] > 0);
        REQUIRE(at[0] + 1 < mine.size());
        CHECK(mine[at[0] - 1].find("next_pid=" + pid + " ") != std::string::npos);
        CHECK(mine[at[0] + 1].find("prev_pid=" + pid + " ") != std::string::npos);
    }
    CHECK(lines_with(mine, "text=first") < lines_with(mine, "text=second"));
    CHECK(lines_with(mine, "text=second") < lines_with(mine, "text=third"));
}

// A JIT puts a function where another one was. Only the mark tells to which of them the samples at
// this address belong.
TEST_CASE("perf's report separates the samples before a JIT's mark from those after it") {
    const ToolFile recorded(ToolFile::perf);
    Mapping memory(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    const auto emit = [&](MarkFile& file, const char* name) {
        std::memcpy(memory.at(), spin_code, sizeof(spin_code));
        CHECK(file.write(std::string("jit ") + name + " is complete\n").ok());
        return reinterpret_cast<Spin>(memory.at());
    };
    recorded.record("-e cpu-clock:u -F 1000 -e user_mark:text -p " + std::to_string(getpid()), [&] {
        MarkFile file;
        run_for(emit(file, "one"), std::chrono::milliseconds(200));
        run_for(emit(file, "two"), std::chrono::milliseconds(200));
    });
    const std::uint64_t start = address_of(memory.at());
    const auto in_code = [&](const std::string& line) {
        const std::size_t at = line.find_first_not_of(' ', line.find("cpu-clock") + 12);
        std::uint64_t address = 0;
        if (line.find("cpu-clock") == std::string::npos || at == std::string::npos)
            return false;
        std::from_chars(line.data() + at, line.data() + line.size(), address, 16);
        return address >= start && address < start + sizeof(spin_code);
    };
    const Lines lines = script(recorded, "event,ip,trace");
    const auto one = lines_with(lines, "text=jit one is complete"),
               two = lines_with(lines, "text=jit two is complete");
    REQUIRE(one.size() == 1);
    REQUIRE(two.size() == 1);
    const auto at = [&](std::size_t i) { return lines.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto before = std::count_if(lines.begin(), at(one[0]), in_code),
               between = std::count_if(at(one[0]), at(two[0]), in_code),
               after = std::count_if(at(two[0]), lines.end(), in_code);
    CHECK(before == 0);
    CHECK(between > 0);
    CHECK(after > 0);
}
