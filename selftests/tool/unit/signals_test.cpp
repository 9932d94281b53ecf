// SPDX-License-Identifier: GPL-2.0-only
// Signals that end a command while its standard output is a pipe that is full, or a slow one.
#include "tracing/signals.hpp"

#include "catch.hpp"
#include "text/output.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

constexpr int has_stopped = 3;

/// Prints this much in a child process that gets SIGTERM after some time, and then lets go of
/// standard output. Returns the child's status, as waitpid() gives it. It is killed after a while.
int status_of(int output, std::size_t size) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        dup2(output, STDOUT_FILENO);
        {
            tool::tracing::stop_signals signals;
            std::thread([] {
                std::this_thread::sleep_for(std::chrono::milliseconds(200));
                kill(getpid(), SIGTERM);
            }).detach();
            for (std::size_t i = 0; i < size / 100; i++)
                tool::text::print(std::string(99, 'x') + "\n");
            tool::text::flush();
            while (!signals.wait(100))
                ;
        }
        tool::text::flush();
        std::_Exit(has_stopped);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

/// Reads to the end, in small parts with a pause between them. Returns how much there was.
std::size_t read_slowly(int file) {
    std::size_t sum = 0;
    std::string part(10'000, '\0');
    for (ssize_t size = 0; (size = read(file, part.data(), part.size())) > 0;
         sum += static_cast<std::size_t>(size))
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return sum;
}

} // namespace

TEST_CASE("A signal ends a command whose standard output is a full pipe that nothing reads") {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    const int status = status_of(ends[1], 1'000'000);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == has_stopped);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("A slow reader gets all that a command has printed before a signal ends it") {
    for (const bool is_blocking : {true, false}) {
        int ends[2];
        REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
        if (!is_blocking)
            fcntl(ends[1], F_SETFL, O_NONBLOCK);
        std::size_t sum = 0;
        std::thread reader([&] { sum = read_slowly(ends[0]); });
        const int status = status_of(ends[1], 1'000'000);
        close(ends[1]);
        reader.join();
        CHECK(WIFEXITED(status));
        CHECK(sum == 1'000'000);
        close(ends[0]);
    }
}

TEST_CASE("A file gets all that a command prints") {
    char name[] = "/tmp/signals_test.XXXXXX";
    const int file = mkostemp(name, O_CLOEXEC);
    REQUIRE(file >= 0);
    CHECK(WIFEXITED(status_of(file, 1'000'000)));
    CHECK(lseek(file, 0, SEEK_END) == 1'000'000);
    close(file);
    unlink(name);
}
