// SPDX-License-Identifier: GPL-2.0-only
// An unprivileged user with access to the file cannot exhaust the events, time or memory of others.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "setting.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <atomic>
#include <sys/mman.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

using namespace selftest;

namespace {

constexpr uid_t attacker_uid = unprivileged_uid, victim_uid = unprivileged_uid - 1;

/// How many events an attacker can create: the default limit, or less on the slow debug kernel.
unsigned long events_of_user() {
    return fewer_if_debug(8192);
}

} // namespace

TEST_CASE("Other users can create events after one user has reached its limit") {
    Setting limit("/proc/sys/kernel/user_events_max_per_user");
    limit.set(std::to_string(events_of_user()));
    const std::string name = unique_name("squatter");
    const unsigned flags = GENERATE(0, USER_EVENT_REG_MULTI_FORMAT);
    CAPTURE(flags);
    Word word{0};
    DataFile file, other;
    const unsigned long before = stable_status_count("Active: ");
    {
        Child attacker([&](Channel& channel) {
            become_user(attacker_uid);
            std::vector<Word> words(2 * events_of_user());
            Outcome outcome = succeeds();
            for (std::size_t n = 0; n < words.size() && outcome.ok(); n++)
                outcome = file.register_event(&words[n], 0, name + std::to_string(n), 4, flags);
            channel.send(outcome.error());
            channel.receive<char>();
            return 0;
        });
        CHECK(attacker.channel().receive<int>() == EMFILE);
        CHECK(status_count("Active: ") == before + events_of_user());
        const Event event(unique_name("other"));
        CHECK(in_child([&] {
                  become_user(victim_uid);
                  return other.register_event(&word, 0, event.name()).error();
              }) == 0);
        const Enabled enabled{event};
        CHECK(status_line(event.name()) == event.name() + " # Used by ftrace");
    }
    file.close();
    other.close();
    CHECK(eventually([&] { return status_count("Active: ") == before; }));
}

TEST_CASE("Payloads that no recorder can hold are refused before the kernel reads their memory") {
    constexpr unsigned writers = 32;
    const Event event(unique_name("large"));
    Word word{0};
    DataFile file;
    const std::uint32_t index = file.must_register(&word, 0, event.name());
    const Enabled enabled{event};
    struct Result {
        unsigned refused;
        bool memory_was_read;
    };
    Child child([&](Channel& channel) -> int {
        static constexpr std::size_t sizes[] = {5000, 9000, 65536, 1 << 20};
        Mapping memory(sizes[3] / page_size);
        Word own{0};
        DataFile data;
        std::uint32_t own_index = data.must_register(&own, 0, event.name());
        const Userfault fault(memory);
        become_user(unprivileged_uid);
        std::atomic<unsigned> refused{0}, ended{0};
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < writers; i++)
            threads.emplace_back([&] {
                for (std::size_t size : sizes) {
                    iovec parts[] = {{&own_index, sizeof(own_index)}, {memory.at(), size}};
                    refused += Outcome::of(writev(data.descriptor(), parts, 2)) == fails(E2BIG);
                }
                ended++;
            });
        eventually([&] { return ended == writers || fault.has_waiter(); });
        channel.send(Result{refused / static_cast<unsigned>(std::size(sizes)), fault.has_waiter()});
        channel.receive<char>();
        // Some threads may wait.
        _exit(0);
    });
    const auto result = child.channel().receive<Result>();
    CHECK(result.refused == writers);
    CHECK_FALSE(result.memory_was_read);
    CHECK(file.record(index) == succeeds(4));
    child.channel().send('e');
    CHECK(child.wait() == 0);
}
