// SPDX-License-Identifier: GPL-2.0-only
#include "program.hpp"

#include "catch.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "payload.hpp"
#include "text_file.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace selftest {

namespace {

constexpr const char* helper_program = "Helper program of tests";
constexpr const char* channel_variable = "SELFTEST_CHANNEL";
constexpr const char* event_variable = "SELFTEST_EVENT";

struct Path {
    char text[256];
};

/// What runs in a child: an event, and a bit in a page of its own.
class Served {
public:
    Served(Channel& channel, std::string event, std::byte* page)
        : channel_(channel), event_(std::move(event)), page_(page) {}

    /// Ends when the test does. No report is written.
    [[noreturn]] void run() {
        try {
            while (true) {
                const auto request = channel_.receive<Request>();
                if (request == Request::end)
                    break;
                channel_.send(answer(request));
            }
        } catch (const std::exception&) {
        }
        if (borrower_ > 0)
            kill(borrower_, SIGKILL);
        _exit(0);
    }

private:
    int answer(Request request) {
        switch (request) {
        case Request::add:
            return add();
        case Request::add_in_thread: {
            int error = -1;
            std::thread([&] { error = add(); }).join();
            return error;
        }
        case Request::remove:
            return file_.unregister(&word(), 0).error();
        case Request::read:
            return static_cast<int>(word().load());
        case Request::record:
            return file_.record(reg_.write_index).error();
        case Request::fork:
            return in_child([&] { return static_cast<int>(word().load()); });
        case Request::pass_on:
            if (::fork() != 0)
                _exit(0);
            return 0;
        case Request::execute:
            execute(channel_.receive<Path>());
            return errno;
        case Request::drop:
            return madvise(page_, page_size, MADV_DONTNEED);
        case Request::is_dropped: {
            unsigned char resident = 1;
            mincore(page_, page_size, &resident);
            return !(resident & 1);
        }
        case Request::start_thread:
            return start_thread();
        case Request::replace_thread:
            return replace_thread();
        case Request::lend:
            return lend();
        case Request::rename:
            return prctl(PR_SET_NAME, "renamed");
        case Request::become_nobody:
            return setuid(65534);
        case Request::record_large:
            return file_.record(reg_.write_index, Payload().add_string(std::string(70'000, 'x')))
                .error();
        case Request::flood:
            return flood();
        case Request::flood_politely:
            return flood_politely();
        case Request::end:
            break;
        }
        return -1;
    }

    Word& word() { return *reinterpret_cast<Word*>(page_); }

    int add() {
        reg_ = registration(page_, 0, event_.c_str());
        return file_.register_event(reg_).error();
    }

    void execute(const Path& path) {
        fcntl(channel_.descriptor(), F_SETFD, 0);
        setenv(channel_variable, std::to_string(channel_.descriptor()).c_str(), 1);
        setenv(event_variable, event_.c_str(), 1);
        execl(path.text, "program", helper_program, nullptr);
    }

    int flood() {
        constexpr int threads = 100;
        std::atomic<int> failed{0};
        std::vector<std::thread> writers;
        writers.reserve(threads);
        for (int i = 0; i < threads; i++)
            writers.emplace_back([&] {
                for (int j = 0; j < flood_size / threads; j++)
                    failed += file_.record(reg_.write_index).error() != 0;
            });
        for (std::thread& writer : writers)
            writer.join();
        return failed;
    }

    int flood_politely() {
        using Clock = std::chrono::steady_clock;
        int written = 0;
        for (const auto end = Clock::now() + std::chrono::seconds(1); Clock::now() < end;)
            if (word().load() & 1)
                written += file_.record(reg_.write_index).error() == 0;
        return written;
    }

    int start_thread() {
        std::thread([this] {
            thread_ = gettid();
            eventually([this] { return replaced_.load(); });
            std::thread([this] {
                heir_ = gettid();
                pause();
            }).detach();
        }).detach();
        eventually([this] { return thread_ != 0; });
        return thread_;
    }

    int lend() {
        static std::byte stack[65536];
        borrower_ = clone(
            [](void*) {
                pause();
                return 0;
            },
            stack + sizeof(stack), CLONE_VM | SIGKILL, nullptr);
        return borrower_;
    }

    int replace_thread() {
        replaced_ = true;
        const std::string directory = "/proc/self/task/" + std::to_string(thread_);
        return !eventually([&] { return heir_ != 0 && access(directory.c_str(), F_OK) != 0; });
    }

    Channel& channel_;
    const std::string event_;
    std::byte* const page_;
    DataFile file_;
    user_reg reg_{};
    std::atomic<int> thread_{0}, heir_{0};
    std::atomic<bool> replaced_{false};
    pid_t borrower_ = -1;
};

/// Closes what a child has inherited, such as perf events of the test, except its channel.
void close_others(const Channel& channel) {
    const auto kept = static_cast<unsigned>(channel.descriptor());
    if (close_range(STDERR_FILENO + 1, kept - 1, 0) != 0 || close_range(kept + 1, ~0U, 0) != 0)
        throw_errno("close_range");
}

} // namespace

Program::Program(const Event& event, bool registers, std::byte* page)
    : child_([&](Channel& channel) -> int {
          close_others(channel);
          const Mapping memory(1);
          Served(channel, event.name(), page ? page : memory.at()).run();
      }) {
    if (registers && ask(Request::add) != 0)
        throw std::runtime_error("the program cannot register");
}

void Program::execute(const std::string& path) {
    child_.channel().send(Request::execute);
    Path sent{};
    path.copy(sent.text, sizeof(sent.text) - 1);
    child_.channel().send(sent);
    if (child_.channel().receive<int>() != 0)
        throw std::runtime_error("the program cannot execute " + path);
}

std::string Kept::status() const {
    return status_line(event.name()).substr(event.name().size());
}

} // namespace selftest

using namespace selftest;

// Not a test: hidden, and executed by class Program.
TEST_CASE("Helper program of tests", "[.]") {
    const char* const number = getenv(channel_variable);
    const char* const event = getenv(event_variable);
    if (!number || !event)
        return;
    Channel channel{Descriptor(std::stoi(number))};
    channel.send(0);
    const Mapping memory(1);
    Served(channel, event, memory.at()).run();
}
