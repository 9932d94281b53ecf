// SPDX-License-Identifier: GPL-2.0-only
// The pauses of workers keep a change waiting for as long as it needs, and no longer. On a clock
// that counts instructions, because a change waits for a second at most.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

using namespace selftest;

TEST_CASE("The bits of four programs with 8000 each are up to date when each of 30 changes returns",
          "[counted]") {
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
    // After a timeout, the next 20 changes would not wait.
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

TEST_CASE("Bits in four pages each of 600 forked children are up to date when the change returns",
          "[counted]") {
    constexpr unsigned processes = 600, pages = 4;
    const Event event(unique_name("forked"));
    const Mapping memory(pages);
    struct Shared {
        std::atomic<unsigned> started;
        pid_t pids[processes];
    };
    const Mapping shared_memory(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto& shared = *shared_memory.at<Shared>();
    Child parent([&](Channel& channel) -> int {
        DataFile file;
        for (unsigned page = 0; page < pages; page++)
            file.must_register(memory.at<Word>(page * page_size), 0, event.name());
        for (pid_t& started : shared.pids) {
            const pid_t pid = fork();
            if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                shared.started++;
                for (;;)
                    pause();
            }
            started = pid;
        }
        channel.send('r');
        channel.receive<char>();
        return 0;
    });
    REQUIRE(parent.channel().receive<char>() == 'r');
    REQUIRE(eventually([&] { return shared.started == processes; }));
    REQUIRE(event.enable() == succeeds(1));
    // The last ones first: they have been waiting for a worker.
    unsigned right = 0;
    for (unsigned i = processes; i-- > 0;) {
        for (unsigned page = 0; page < pages; page++) {
            Word word = 0;
            const iovec here{&word, sizeof(word)},
                there{memory.at<Word>(page * page_size), sizeof(word)};
            if (process_vm_readv(shared.pids[i], &here, 1, &there, 1, 0) == sizeof(word))
                right += word & 1;
        }
    }
    CHECK(right == processes * pages);
    CHECK(event.disable() == succeeds(1));
    parent.kill();
    CHECK(event.wait_removed());
}
