// SPDX-License-Identifier: GPL-2.0-only
// exec, from any thread and after any kind of fork: the new program has none of the old one's
// registrations, and its memory is its own.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>

using namespace selftest;

namespace {

/// Where the new program maps memory at the address that the old one had registered.
std::byte* const address = reinterpret_cast<std::byte*>(0x200000000000);

/// What the new program finds by its name, as it has nothing else of the old one's: the channel,
/// and the file if that was passed on. The environment holds them.
constexpr const char* channel_variable = "SELFTEST_CHANNEL";
constexpr const char* file_variable = "SELFTEST_FILE";
constexpr const char* new_program = "The program that the others exec";

/// The memory at the address.
class Fixed {
public:
    Fixed() {
        if (mmap(address, page_size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != address)
            throw_errno("mmap");
    }
    Fixed(const Fixed&) = delete;
    Fixed& operator=(const Fixed&) = delete;
    ~Fixed() { munmap(address, page_size); }

    Word& word() const { return *reinterpret_cast<Word*>(address); }
};

/// What the new program is asked. Each answer is an int.
enum class Request : char { read, unregister, register_again, record, end };

/// Descriptors stay open at exec, with their numbers in the environment.
void pass_on(const char* variable, int descriptor) {
    if (fcntl(descriptor, F_SETFD, 0) != 0)
        throw_errno("fcntl");
    setenv(variable, std::to_string(descriptor).c_str(), 1);
}

int passed_on(const char* variable) {
    const char* number = getenv(variable);
    return number ? std::stoi(number) : -1;
}

/// Becomes the new program, or returns the errno.
int execute() {
    execl("/proc/thread-self/exe", "exec_test", new_program, nullptr);
    return errno;
}

/// How a child comes to its exec.
struct Way {
    const char* name;
    int (*execute)();
};

int execute_in_a_thread() {
    std::thread([] { _exit(execute()); }).join();
    return 1;
}

/// The leader is gone by then.
int execute_after_the_leader() {
    std::thread([] {
        // A zombie, that exec takes the place of.
        eventually([] {
            std::string stat = read_text("/proc/" + std::to_string(getpid()) + "/stat");
            return stat.find(") Z ") != std::string::npos;
        });
        _exit(execute());
    }).detach();
    // Without the unwinding that pthread_exit() does.
    syscall(SYS_exit, 0);
    return 1;
}

/// While other threads register and unregister.
int execute_among_threads() {
    static std::atomic<unsigned> rounds;
    for (int i = 0; i < 3; i++)
        std::thread([] {
            Word word{0};
            DataFile file;
            const std::string name = unique_name("among");
            while (true) {
                file.index_of(&word, 0, name);
                file.unregister(&word, 0);
                rounds++;
            }
        }).detach();
    if (!eventually([] { return rounds > 100; }))
        return 1;
    return execute();
}

const Way ways[] = {
    {"from its only thread", execute},
    {"from another thread", execute_in_a_thread},
    {"from another thread, the leader gone", execute_after_the_leader},
    {"among threads that register", execute_among_threads},
};

int run_true_after_vfork() {
    const pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): the subject
    if (pid == 0) {
        execl("/bin/true", "true", nullptr);
        _exit(127);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

/// A child that registers a bit, says so, and becomes the new program when it is told to.
class Executing {
public:
    Executing(const Way& way, const Event& event, bool passes_file)
        : child_([=](Channel& channel) -> int {
              Fixed memory;
              DataFile file;
              const std::uint32_t index = file.index_of(address, 0, event.name() + " u32 a");
              pass_on(channel_variable, channel.descriptor());
              if (passes_file)
                  pass_on(file_variable, file.descriptor());
              channel.send(index);
              channel.receive<char>();
              return way.execute();
          }) {
        index_ = child_.channel().receive<std::uint32_t>();
    }

    /// Has it become the new program.
    void execute() {
        child_.channel().send('e');
        // Of the new program.
        if (child_.channel().receive<char>() != 'n')
            throw std::runtime_error("the new program does not begin");
    }
    int ask(Request request) {
        child_.channel().send(request);
        return child_.channel().receive<int>();
    }
    int end() {
        child_.channel().send(Request::end);
        return child_.wait();
    }
    std::uint32_t index() const { return index_; }

private:
    Child child_;
    std::uint32_t index_;
};

/// How often a child sleeps from its fork until its new program reads of that, at the least of
/// some.
unsigned sleeps_of_exec() {
    const std::string key = "\nvoluntary_ctxt_switches:";
    unsigned least = ~0u;
    for (int i = 0; i < 20; i++) {
        Child child([&](Channel& channel) {
            dup2(channel.descriptor(), STDOUT_FILENO);
            execl("/bin/cat", "cat", "/proc/self/status", nullptr);
            return errno;
        });
        expect(Outcome::success(child.wait()), "exec");
        char status[4096] = {};
        const ssize_t size = read(child.channel().descriptor(), status, sizeof(status) - 1);
        const char* const found = size > 0 ? strstr(status, key.c_str()) : nullptr;
        if (!found)
            throw std::runtime_error("no count of context switches");
        least = std::min(least, static_cast<unsigned>(std::stoul(found + key.size())));
    }
    return least;
}

} // namespace

// Not a test of its own: hidden, and run by the children of those below.
TEST_CASE("The program that the others exec", "[.]") {
    Channel channel{Descriptor(passed_on(channel_variable))};
    const bool has_file = passed_on(file_variable) >= 0;
    DataFile file = has_file ? DataFile{Descriptor(passed_on(file_variable))} : DataFile{};
    Fixed memory;
    memory.word() = 0x50;
    channel.send('n');
    const std::string name = unique_name("new_program");
    while (true)
        switch (channel.receive<Request>()) {
        case Request::read:
            channel.send(static_cast<int>(memory.word().load()));
            break;
        case Request::unregister:
            channel.send(file.unregister(address, 0).error());
            break;
        case Request::register_again:
            channel.send(file.register_event(address, 0, name).error());
            break;
        case Request::record:
            channel.send(file.record(0, Payload().add(5u)).error());
            break;
        case Request::end:
            // Nothing for the test's output.
            _exit(0);
        }
}

TEST_CASE("A new program has none of the old one's registrations") {
    const Way& way = ways[GENERATE(range(0, 4))];
    CAPTURE(way.name);
    const Event event(unique_name("old"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name() + " u32 a") == succeeds());
    Executing child(way, event, false);
    own_page(word);
    {
        const Enabled enabled{event};
        child.execute();
        CHECK(word == 1);
        CHECK(child.ask(Request::read) == 0x50);
    }
    {
        const Enabled enabled{event};
        CHECK(child.ask(Request::read) == 0x50);
        CHECK(child.ask(Request::unregister) == ENOENT);
        CHECK(child.ask(Request::register_again) == 0);
        CHECK(child.ask(Request::read) == 0x50);
    }
    CHECK(child.ask(Request::unregister) == 0);
    REQUIRE(file.unregister(&word, 0) == succeeds());
    file.close();
    // Nothing of the child's holds it.
    CHECK(event.goes());
    CHECK(child.end() == 0);
}

TEST_CASE("A new program that has inherited the file has its indexes, and no registration") {
    const Event event(unique_name("file"));
    Instance instance;
    Executing child(ways[0], event, true);
    REQUIRE(child.index() == 0);
    child.execute();
    CHECK(event.exists());
    CHECK(child.ask(Request::record) == EBADF);
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(child.ask(Request::read) == 0x50);
    CHECK(child.ask(Request::unregister) == ENOENT);
    CHECK(child.ask(Request::record) == 0);
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 5);
    CHECK(instance.disable(event) == succeeds());
    CHECK(child.end() == 0);
    CHECK(event.goes());
}

TEST_CASE("exec after vfork leaves the parent all it has") {
    const Event event(unique_name("vfork"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    for (int round = 0; round < 3; round++) {
        CHECK(run_true_after_vfork() == 0);
        const Enabled enabled{event};
        CHECK(word == 1);
    }
    CHECK(word == 0);
    CHECK(file.register_event(&word, 0, event.name()) == fails(EADDRINUSE));
    CHECK(file.unregister(&word, 0) == succeeds());
}

TEST_CASE("exec in a process that shares its parent's memory leaves the parent all it has") {
    const Event event(unique_name("shares"));
    Mapping stack(16);
    Word words[2] = {0, 0};
    DataFile file;
    REQUIRE(file.register_event(&words[0], 0, event.name()) == succeeds());
    struct Shared {
        DataFile& file;
        Word& word;
        const std::string name;
        int registered = -1;
    } shared{file, words[1], event.name()};
    const auto body = [](void* argument) {
        auto& shared = *static_cast<Shared*>(argument);
        shared.registered = shared.file.register_event(&shared.word, 0, shared.name).error();
        execl("/bin/true", "true", nullptr);
        return 127;
    };
    const pid_t pid = clone(body, stack.at(stack.size()), CLONE_VM | SIGCHLD, &shared);
    REQUIRE(pid > 0);
    int status = -1;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
    CHECK(shared.registered == 0);
    const Enabled enabled{event};
    CHECK(words[0] == 1);
    CHECK(words[1] == 1);
    CHECK(file.unregister(&words[0], 0) == succeeds());
    CHECK(file.unregister(&words[1], 0) == succeeds());
}

TEST_CASE("exec drops registrations without waiting for anything") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("sleeps");
    unsigned without, with;
    // Others can make it sleep as well, or less.
    int tries = 0;
    do {
        without = sleeps_of_exec();
        REQUIRE(file.register_event(&word, 0, name) == succeeds());
        with = sleeps_of_exec();
        CHECK(file.unregister(&word, 0) == succeeds());
    } while (with > without && ++tries < 6);
    CHECK(with <= without);
}

TEST_CASE("Programs that exec while an event is enabled and disabled hinder nobody") {
    const unsigned rounds = fewer(60);
    const Event event(unique_name("while"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto& about_to = *shared.at<std::atomic<unsigned>>();
    unsigned wrong = 0, failed = 0, met = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned before = about_to;
        // The new program is there until the second is closed.
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        Descriptor input(ends[0]), hold(ends[1]);
        const pid_t pid = fork();
        if (pid == 0) {
            dup2(input.number(), STDIN_FILENO);
            hold.close();
            about_to++;
            execl("/bin/cat", "cat", nullptr);
            _exit(127);
        }
        REQUIRE(pid > 0);
        own_page(word);
        int status = 0;
        pid_t ended = 0;
        while (ended == 0) {
            event.enable();
            wrong += word != 1;
            event.disable();
            wrong += word != 0;
            ended = waitpid(pid, &status, WNOHANG);
            if (ended == 0 && about_to != before) {
                met++;
                hold.close();
            }
        }
        failed += ended != pid || status != 0;
    }
    CHECK(wrong == 0);
    CHECK(failed == 0);
    // Changes of state were under way when the child got to its exec, and thereafter.
    CHECK(met >= rounds);
}
