// SPDX-License-Identifier: GPL-2.0-only
// exec, from any thread and after any kind of fork: the new program inherits no registration, and
// the kernel does not write to its memory.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "group.hpp"
#include "mapping.hpp"
#include "median.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

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

/// The address of the registered word in the old program and of a mapping in the new one.
std::byte* const address = reinterpret_cast<std::byte*>(0x200000000000);

/// Environment variables that hold the numbers of the descriptors that the new program inherits:
/// the channel and, in some tests, the open user_events_data.
constexpr const char* channel_variable = "SELFTEST_CHANNEL";
constexpr const char* file_variable = "SELFTEST_FILE";
constexpr const char* new_program = "Helper program for the tests of exec";

/// A mapping at `address`.
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

/// Requests to the new program. It replies to all but `end` with an int.
enum class Request : char { read, unregister, register_again, record, end };

/// Keeps a descriptor open across exec and puts its number into the environment.
void keep_across_exec(const char* variable, int descriptor) {
    if (fcntl(descriptor, F_SETFD, 0) != 0)
        throw_errno("fcntl");
    setenv(variable, std::to_string(descriptor).c_str(), 1);
}

int inherited_descriptor(const char* variable) {
    const char* number = getenv(variable);
    return number ? std::stoi(number) : -1;
}

/// Executes the new program, or returns the errno.
int execute() {
    execl("/proc/thread-self/exe", "exec_test", new_program, nullptr);
    return errno;
}

/// A way in which a child calls exec.
struct Way {
    const char* name;
    int (*execute)();
};

int execute_in_a_thread() {
    std::thread([] { _exit(execute()); }).join();
    return 1;
}

/// Calls exec after the leader of the thread group has exited.
int execute_after_leader_exit() {
    std::thread([] {
        // exec replaces the leader, which is a zombie by then.
        eventually([] {
            std::string stat = read_text("/proc/" + std::to_string(getpid()) + "/stat");
            return stat.find(") Z ") != std::string::npos;
        });
        _exit(execute());
    }).detach();
    // pthread_exit() would unwind the stack.
    syscall(SYS_exit, 0);
    return 1;
}

/// Calls exec while other threads register and unregister.
int execute_among_threads() {
    static std::atomic<unsigned> rounds;
    for (int i = 0; i < 3; i++)
        std::thread([] {
            Word word{0};
            DataFile file;
            const std::string name = unique_name("among");
            while (true) {
                file.must_register(&word, 0, name);
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
    {"from another thread after the leader exited", execute_after_leader_exit},
    {"while other threads register", execute_among_threads},
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

/// A child that registers a bit, sends its index, and executes the new program on request.
class Executing {
public:
    Executing(const Way& way, const Event& event, bool inherits_file,
              const std::string& path = tracing_file("user_events_data"))
        : child_([=](Channel& channel) -> int {
              Fixed memory;
              DataFile file(Descriptor::open(path, O_RDWR));
              const std::uint32_t index = file.must_register(address, 0, event.name() + " u32 a");
              keep_across_exec(channel_variable, channel.descriptor());
              if (inherits_file)
                  keep_across_exec(file_variable, file.descriptor());
              channel.send(index);
              channel.receive<char>();
              return way.execute();
          }) {
        index_ = child_.channel().receive<std::uint32_t>();
    }

    /// Makes the child execute the new program.
    void execute() {
        child_.channel().send('e');
        // Sent by the new program.
        if (child_.channel().receive<char>() != 'n')
            throw std::runtime_error("the new program did not start");
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

/// The number of sleeps of a child from its fork until its new program reads that number.
unsigned sleeps_of_exec() {
    const std::string key = "\nvoluntary_ctxt_switches:";
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
        throw std::runtime_error("the status file does not count context switches");
    return static_cast<unsigned>(std::stoul(found + key.size()));
}

} // namespace

// Not a test: hidden, and executed by the children of the tests below.
TEST_CASE("Helper program for the tests of exec", "[.]") {
    Channel channel{Descriptor(inherited_descriptor(channel_variable))};
    const int number = inherited_descriptor(file_variable);
    DataFile file = number >= 0 ? DataFile{Descriptor(number)} : DataFile{};
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
            // Prevent Catch2 from writing a report.
            _exit(0);
        }
}

TEST_CASE("exec removes all registrations, and no update writes to the new program's memory",
          "[race]") {
    const Way& way = ways[GENERATE(range(0, 4))];
    CAPTURE(way.name);
    const Event event(unique_name("old"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name() + " u32 a") == succeeds());
    Executing child(way, event, false);
    unshare_page(word);
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
    // No user of the event remains in the child.
    CHECK(event.wait_removed());
    CHECK(child.end() == 0);
}

TEST_CASE("A file inherited through exec keeps its indexes but no registration") {
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
    CHECK(event.wait_removed());
}

TEST_CASE("A file of a group that is inherited through exec keeps its group") {
    const Group group;
    const Event event = group.event(unique_name("file"));
    Instance instance;
    Executing child(ways[0], event, true, group.device());
    child.execute();
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(child.ask(Request::read) == 0x50);
    CHECK(child.ask(Request::unregister) == ENOENT);
    CHECK(child.ask(Request::record) == 0);
    CHECK(instance.records().size() == 1);
    const std::string before = status();
    CHECK(child.ask(Request::register_again) == 0);
    CHECK(status() == before);
    CHECK(group.line().ends_with(" # events 2, busy 1, lost 0, suppressed 0, users 1"));
    CHECK(instance.disable(event) == succeeds());
    CHECK(child.end() == 0);
}

TEST_CASE("exec after vfork keeps the parent's registration") {
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

TEST_CASE("exec by a CLONE_VM child keeps all registrations of the shared address space") {
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

TEST_CASE("exec does not sleep to remove registrations", "[long]") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("sleeps");
    // Other activity on the machine changes the numbers too, so these are medians.
    std::vector<unsigned> without, with;
    for (int i = 0; i < 101; i++) {
        without.push_back(sleeps_of_exec());
        REQUIRE(file.register_event(&word, 0, name) == succeeds());
        with.push_back(sleeps_of_exec());
        CHECK(file.unregister(&word, 0) == succeeds());
    }
    CHECK(median(with) <= median(without));
}

TEST_CASE("exec succeeds and the parent's bit is right while the event changes in parallel",
          "[long]") {
    const unsigned rounds = fewer_if_debug(60);
    const Event event(unique_name("changes"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto& execs = *shared.at<std::atomic<unsigned>>();
    unsigned wrong = 0, failed = 0, overlapped = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned before = execs;
        // The new program runs until the write end is closed.
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        Descriptor read_end(ends[0]), write_end(ends[1]);
        const pid_t pid = fork();
        if (pid == 0) {
            dup2(read_end.number(), STDIN_FILENO);
            write_end.close();
            execs++;
            execl("/bin/cat", "cat", nullptr);
            _exit(127);
        }
        REQUIRE(pid > 0);
        unshare_page(word);
        int status = 0;
        pid_t ended = 0;
        while (ended == 0) {
            event.enable();
            wrong += word != 1;
            event.disable();
            wrong += word != 0;
            ended = waitpid(pid, &status, WNOHANG);
            if (ended == 0 && execs != before) {
                overlapped++;
                write_end.close();
            }
        }
        failed += ended != pid || status != 0;
    }
    CHECK(wrong == 0);
    CHECK(failed == 0);
    // In each round, the event changed after the child was ready to call exec.
    CHECK(overlapped >= rounds);
}
