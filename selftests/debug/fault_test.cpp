// SPDX-License-Identifier: GPL-2.0-only
// Injects a fault into each allocation and each copy from or to user memory, one at a time, for
// each entry point of the module. The call must fail with a matching errno and leave nothing
// behind, and succeed when it is repeated. Needs a kernel with fault injection.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "faults.hpp"
#include "group.hpp"
#include "kernel_log.hpp"
#include "mapping.hpp"
#include "mark.hpp"
#include "module.hpp"
#include "perf.hpp"
#include "registered.hpp"
#include "rule.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <span>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

using namespace selftest;

namespace {

const std::string dynamic_events = tracing_file("dynamic_events");

/// The errors that an entry point may return.
using Errors = std::set<int>;

/// The errors of a failed allocation and of a failed copy.
const Errors plain{ENOMEM, EFAULT};

/// Calls attempt(n), which makes the n-th operation of a call fail, for n = 1, 2, ... until the
/// call has fewer operations.
void fail_each(const std::string& name, const Errors& errors,
               const std::function<Attempt(unsigned)>& attempt) {
    constexpr unsigned too_many = 20000;
    INFO(name);
    std::map<int, unsigned> results;
    unsigned n = 1;
    for (; n < too_many; n++) {
        INFO("fault number " << n);
        const Attempt result = attempt(n);
        if (result.retry_error != 0 || (result.error != 0 && !errors.contains(result.error)))
            CHECK(fails(result.error) == succeeds());
        CHECK(fails(result.retry_error) == fails(0));
        if (!result.injected) {
            CHECK(fails(result.error) == fails(0));
            break;
        }
        results[result.error]++;
    }
    CHECK(n > 1);
    CHECK(n < too_many);
    std::cout << "# " << name << ": " << n - 1 << " faults:";
    for (const auto& [error, count] : results)
        std::cout << " " << (error ? strerrorname_np(error) : "success") << " " << count;
    std::cout << std::endl;
}

/// Runs fail_each() for a call in this process. `prepare` and `undo` run before and after each
/// call, without faults.
void fail_each_call(const std::string& name, const Errors& errors,
                    const std::function<void()>& prepare, const std::function<Outcome()>& call,
                    const std::function<void()>& undo) {
    Faults faults;
    fail_each(name, errors, [&](unsigned n) {
        prepare();
        const Attempt result = faults.attempt(n, call);
        undo();
        return result;
    });
}

void nothing() {}

/// For the lifetime of the object, what this process creates counts for another user, its real user
/// ID. Root's capabilities stay.
class CountedFor {
public:
    explicit CountedFor(uid_t user) {
        if (setresuid(user, 0, 0) != 0)
            throw_errno("setresuid");
    }
    CountedFor(const CountedFor&) = delete;
    CountedFor& operator=(const CountedFor&) = delete;
    ~CountedFor() {
        if (setresuid(0, 0, 0) != 0)
            _exit(1);
    }
};

/// Returns the event that a command has registered.
Event event_of(const std::string& command) {
    const std::string name = command.substr(0, command.find(' '));
    for (const std::string& line : lines_of(status())) {
        if (line == name)
            return Event(name);
        if (line.starts_with(name + "."))
            return Event(line, USER_EVENTS_MULTI_SYSTEM);
    }
    throw std::runtime_error("user_events_status lists no event of the command: " + command);
}

/// Checks at the end that as many events exist, and are in use, as at the beginning.
class Unchanged {
public:
    Unchanged() : active_(status_count("Active: ")), busy_(status_count("Busy: ")) {}
    Unchanged(const Unchanged&) = delete;
    Unchanged& operator=(const Unchanged&) = delete;
    ~Unchanged() {
        CHECK(eventually([&] { return status_count("Active: ") == active_; }));
        CHECK(status_count("Busy: ") == busy_);
    }

private:
    unsigned long active_, busy_;
};

/// Keeps an event enabled. When the first event is enabled, and the last one disabled, the kernel
/// patches its code, which is slow on an emulated machine.
class OtherEnabled {
    Registered event_{""};
    Enabled enabled_{event_.event};
};

/// Registers `count` events through a file, one for each bit of a word.
void fill(DataFile& file, LongWord& word, unsigned count) {
    for (unsigned bit = 0; bit < count; bit++)
        expect(file.register_event(&word, bit, unique_name("fill") + " u32 a", 8), "register");
}

/// A child that shares its parent's registrations for the lifetime of the object.
class Sharer {
public:
    Sharer()
        : child_([](Channel& channel) {
              channel.send('r');
              channel.receive<char>();
              _exit(0);
              return 0;
          }) {
        child_.channel().receive<char>();
    }

private:
    Child child_;
};

/// A child that reports its copy of a word on request, and copies the word's page first. start()
/// does nothing but fork: the pipes are created before.
class Forked {
public:
    explicit Forked(Word& word) : word_(word) {
        if (pipe2(questions_, O_CLOEXEC) != 0 || pipe2(answers_, O_CLOEXEC) != 0)
            throw_errno("pipe");
    }
    Forked(const Forked&) = delete;
    Forked& operator=(const Forked&) = delete;
    ~Forked() {
        for (int file : {questions_[0], questions_[1], answers_[0], answers_[1]})
            ::close(file);
        if (pid_ > 0)
            waitpid(pid_, nullptr, 0);
    }

    Outcome start() {
        pid_ = fork();
        if (pid_ == 0)
            answer();
        return Outcome::of(pid_ < 0 ? -1 : 0);
    }

    std::uint32_t word() {
        std::uint32_t value = 0;
        pollfd waiting{answers_[0], POLLIN, 0};
        if (::write(questions_[1], "?", 1) != 1 || poll(&waiting, 1, 20000) != 1 ||
            read(answers_[0], &value, sizeof(value)) != sizeof(value))
            throw std::runtime_error("the child has not reported its word");
        return value;
    }

private:
    [[noreturn]] void answer() {
        ::close(questions_[1]);
        for (char question; read(questions_[0], &question, 1) == 1;) {
            unshare_page(word_);
            const std::uint32_t value = word_;
            if (::write(answers_[1], &value, sizeof(value)) != sizeof(value))
                break;
        }
        _exit(0);
    }

    Word& word_;
    int questions_[2], answers_[2];
    pid_t pid_ = -1;
};

} // namespace

TEST_CASE("Opening user_events_data survives each injected failure") {
    Unchanged unchanged;
    const std::string path = tracing_file("user_events_data");
    int file = -1;
    fail_each_call(
        "open", plain, nothing,
        [&] { return Outcome::of(file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC)); },
        [&] { ::close(file); });
}

TEST_CASE("Opening and reading the device survives each injected failure") {
    Unchanged unchanged;
    const std::string path = "/dev/user_events/default";
    int file = -1;
    const auto open = [&] { return Outcome::of(file = ::open(path.c_str(), O_RDWR | O_CLOEXEC)); };
    const auto close = [&] { ::close(file); };
    fail_each_call("open " + path, plain, nothing, open, close);
    LongWord word{0};
    DataFile data;
    fill(data, word, 8);
    char text[4096] = "";
    fail_each_call(
        "read " + path, plain, [&] { expect(open(), path); },
        [&] { return Outcome::of(::read(file, text, sizeof(text))); },
        [&] {
            CHECK(std::string_view(text).starts_with("fill_"));
            close();
        });
}

TEST_CASE("Marks survive each injected failure, and each success is recorded") {
    Instance instance;
    REQUIRE(instance.enable(mark_text) == succeeds());
    REQUIRE(instance.enable(mark_data) == succeeds());
    PerfEvent text(perf_sampling(mark_text)), data(perf_sampling(mark_data));
    // 2000 bytes take what the CPU keeps, 8172 bytes new memory, and only perf holds them.
    const std::string marked(GENERATE(4, 2000, 8172), 'x');
    MarkFile file;
    std::size_t made = 0;
    const auto prepare = [&] { made = 0; };
    const auto count = [&](const Outcome& outcome) {
        made += outcome.ok();
        return outcome;
    };
    const auto check = [&] {
        CHECK(text.samples().size() + data.samples().size() == made);
        CHECK(instance.records().size() == (marked.size() < 4000 ? made : 0));
    };
    const std::string size = std::to_string(marked.size()) + " bytes";
    fail_each_call(
        "mark by write, " + size, plain, prepare, [&] { return count(file.write(marked)); }, check);
    for (std::uint32_t type : {USER_MARK_TEXT, 1U})
        fail_each_call(
            "mark by ioctl, " + size, plain, prepare,
            [&] { return count(file.mark(type, marked)); }, check);
    CHECK(instance.disable(mark_text) == succeeds());
    CHECK(instance.disable(mark_data) == succeeds());
}

TEST_CASE("Reading dynamic_events survives each injected failure") {
    Unchanged unchanged;
    LongWord word{0};
    DataFile file;
    fill(file, word, 8);
    const Descriptor reader = Descriptor::open(dynamic_events, O_RDONLY);
    char text[65536] = "";
    fail_each_call(
        "read dynamic_events", plain, nothing,
        [&] { return Outcome::of(pread(reader.number(), text, sizeof(text), 0)); }, nothing);
}

TEST_CASE("Registering survives each injected failure") {
    Unchanged unchanged;
    LongWord word{0}, words{0};
    std::optional<DataFile> file;
    std::string command;
    const OtherEnabled other;

    const auto new_file = [&] { file.emplace(); };
    const auto new_event = [&] {
        command = unique_name("fault") + " u32 a; char[20] b; __rel_loc char[] c; struct s d 9";
    };
    const auto undo = [&] {
        const Event event = event_of(command);
        unshare_page(word);
        CHECK(event.enable() == succeeds(1));
        CHECK(word == 1UL << 33);
        CHECK(event.disable() == succeeds(1));
        REQUIRE(file->unregister(&word, 33) == succeeds());
        REQUIRE(word == 0);
    };
    const auto registering = [&](unsigned flags) {
        return [&, flags] { return file->register_event(&word, 33, command, 8, flags); };
    };

    SECTION("a new event") {
        fail_each_call(
            "register a new event", plain,
            [&] {
                new_file();
                new_event();
            },
            registering(0), undo);
    }
    SECTION("the first event of a user") {
        std::optional<CountedFor> user;
        fail_each_call(
            "register the first event of a user", plain,
            [&] {
                new_file();
                new_event();
                user.emplace(unprivileged_uid);
            },
            registering(0),
            [&] {
                user.reset();
                undo();
            });
    }
    SECTION("a new event of many fields") {
        fail_each_call(
            "register a new event of many fields", plain,
            [&] {
                new_file();
                new_event();
                for (int i = 0; i < 8; i++)
                    command += "; u8 more" + std::to_string(i);
            },
            registering(0), undo);
    }
    SECTION("an event of several formats") {
        fail_each_call(
            "register an event of several formats", plain,
            [&] {
                new_file();
                new_event();
            },
            registering(USER_EVENT_REG_MULTI_FORMAT), undo);
    }
    SECTION("an event that exists") {
        DataFile other;
        new_event();
        other.must_register(&words, 0, command);
        fail_each_call("register an event that exists", plain, new_file, registering(0), undo);
    }
    SECTION("an event that needs a larger index table") {
        // The table is searched linearly at first, later by hashing.
        const unsigned before = GENERATE(2, 14);
        new_event();
        fail_each_call(
            "register an event after " + std::to_string(before), plain,
            [&] {
                new_file();
                fill(*file, words, before);
            },
            registering(0), undo);
    }
    SECTION("while a child shares the registrations") {
        DataFile other;
        fill(other, words, 3);
        new_event();
        // The copy counts for a user that has no other registration. The module warns if it frees
        // a user and the count is not 0.
        std::optional<Sharer> sharer;
        std::optional<CountedFor> user;
        fail_each_call(
            "register while a child shares the registrations", plain,
            [&] {
                new_file();
                sharer.emplace();
                user.emplace(unprivileged_uid);
            },
            registering(0),
            [&] {
                user.reset();
                undo();
            });
    }
    SECTION("as the first registration of a process and of a user") {
        new_event();
        DataFile other;
        other.must_register(&words, 0, command);
        REQUIRE(other.unregister(&words, 0) == succeeds());
        fail_each("register for the first time in a process", plain, [&](unsigned n) {
            Child child([&](Channel& channel) {
                Faults faults;
                new_file();
                const CountedFor user(unprivileged_uid);
                channel.send(faults.attempt(n, registering(0)));
                return file->unregister(&word, 33).error();
            });
            const Attempt result = child.channel().receive<Attempt>();
            CHECK(child.wait() == 0);
            return result;
        });
    }
    file.reset();
}

TEST_CASE("Unregistering survives each injected failure") {
    Unchanged unchanged;
    Word word{0};
    LongWord words{0};
    DataFile file;
    const std::string command = unique_name("fault") + " u32 a";
    const auto prepare = [&] { REQUIRE(file.register_event(&word, 3, command) == succeeds()); };
    const auto call = [&] { return file.unregister(&word, 3); };

    SECTION("alone") {
        fail_each_call("unregister", plain, prepare, call, [&] { CHECK(word == 0); });
    }
    SECTION("while a child shares the registrations") {
        fill(file, words, 3);
        std::optional<Sharer> sharer;
        fail_each_call(
            "unregister while a child shares the registrations", plain,
            [&] {
                prepare();
                sharer.emplace();
            },
            call, [&] { CHECK(word == 0); });
    }
    SECTION("in a page that has to be copied first") {
        Mapping memory(1);
        Word& copied = *memory.at<Word>();
        REQUIRE(file.register_event(&words, 0, command, 8) == succeeds());
        const Enabled enabled{event_of(command)};
        std::optional<Sharer> sharer;
        fail_each_call(
            "unregister in a page that has to be copied first", plain,
            [&] {
                REQUIRE(file.register_event(&copied, 3, command) == succeeds());
                REQUIRE(copied == 1U << 3);
                sharer.emplace();
            },
            [&] { return file.unregister(&copied, 3); }, [&] { CHECK(copied == 0); });
    }
}

TEST_CASE("Deleting survives each injected failure") {
    Unchanged unchanged;
    const std::string name = unique_name("fault");
    DataFile file;
    fail_each_call(
        "delete", plain,
        [&] { expect(write_text(dynamic_events, "u:" + name + " u32 a", O_APPEND), "create"); },
        [&] { return file.delete_event(name); }, [&] { CHECK(status_line(name).empty()); });
}

TEST_CASE("Writing survives each injected failure, and each success is recorded") {
    Unchanged unchanged;
    Registered registered(" u32 a");
    const Event& event = registered.event;
    Instance instance;
    // With a limit for each program, the first write of a process allocates.
    std::optional<Rule> rule;
    if (GENERATE(false, true))
        rule.emplace(event.name() + " instance=" + instance.name() + " limit=1000000000/s/program");
    else
        REQUIRE(instance.enable(event) == succeeds());
    PerfEvent perf(perf_attributes(event));

    const std::size_t size = GENERATE(4, 256, 300, 2000);
    std::size_t written = 0, recorded = 0;
    const auto count = [&](const Outcome& outcome) {
        written += outcome.ok();
        return outcome;
    };
    Bytes bytes = Payload().add(registered.index).bytes();
    bytes.resize(sizeof(registered.index) + size);
    const auto prepare = [&] { written = 0; };
    const auto check = [&] {
        recorded = instance.records().size();
        CHECK(recorded == written);
    };

    fail_each_call(
        "write " + std::to_string(size) + " bytes", plain, prepare,
        [&] { return count(registered.file.write(bytes)); }, check);
    fail_each_call(
        "writev " + std::to_string(size) + " bytes", plain, prepare,
        [&] {
            iovec parts[] = {{bytes.data(), 4}, {bytes.data() + 4, size}};
            return count(Outcome::of(writev(registered.file.descriptor(), parts, 2)));
        },
        check);
    CHECK((rule || instance.disable(event) == succeeds()));
}

TEST_CASE("Writing a payload that is too large for ftrace survives each injected failure") {
    Unchanged unchanged;
    Registered registered(" u32 a");
    PerfEvent perf(perf_sampling(registered.event));
    // 5000 bytes take what the CPU keeps, 8180 bytes new memory.
    const std::size_t size = GENERATE(5000, 8180);
    const Payload payload = Payload().add_bytes(Bytes(size));
    std::size_t written = 0;
    fail_each_call(
        "write " + std::to_string(size) + " bytes", plain, [&] { written = 0; },
        [&] {
            const Outcome outcome = registered.record(payload);
            written += outcome.ok();
            return outcome;
        },
        [&] { CHECK(perf.samples().size() == written); });
}

TEST_CASE("Creating and deleting through dynamic_events survives each injected failure") {
    Unchanged unchanged;
    const std::string name = unique_name("fault");
    const std::string create = "u:" + name + " u32 a; char[20] b; __rel_loc char[] c";
    std::optional<Descriptor> lines;
    const auto prepare = [&] { lines = Descriptor::open(dynamic_events, O_WRONLY | O_APPEND); };
    const auto write = [&](const std::string& text) {
        return Outcome::of(::write(lines->number(), text.data(), text.size()));
    };
    const auto remove = [&] {
        write_text(dynamic_events, "-:" + name, O_APPEND);
        REQUIRE(status_line(name).empty());
    };

    fail_each_call(
        "create by a line", plain, prepare, [&] { return write(create); }, remove);
    // If the module fails to compare an event with the line, it does not match: ENOENT.
    const Errors errors{ENOMEM, EFAULT, ENOENT};
    for (const std::string& line :
         {"-:" + name + " u32 a; char[20] b; __rel_loc char[] c", "!" + create})
        fail_each_call(
            "delete by " + line, errors,
            [&] {
                prepare();
                REQUIRE(write(create).ok());
            },
            [&] { return write(line); }, remove);
}

TEST_CASE("Enabling survives each injected failure") {
    Unchanged unchanged;
    const OtherEnabled other;
    Registered event(" u32 a");
    Instance instance;
    Descriptor control;
    const auto write = [&](const std::string& text) {
        return [&, text] {
            return Outcome::of(pwrite(control.number(), text.data(), text.size(), 0));
        };
    };
    for (const std::string& path :
         {event.event.path("enable"), instance.path(event.event, "enable")}) {
        control = Descriptor::open(path, O_WRONLY);
        fail_each_call("enable", plain, nothing, write("1"), [&] {
            CHECK(event.word == 1);
            REQUIRE(write("0")().ok());
        });
    }
}

TEST_CASE("Enabling an event with very many bits survives each injected failure") {
    Unchanged unchanged;
    const OtherEnabled other;
    // More than the kernel writes directly: it allocates memory to let a work item do the rest.
    constexpr unsigned count = 17000 / 32;
    Mapping memory(1);
    const std::span words(memory.at<Word>(), count);
    DataFile file;
    const Event event(unique_name("many"));
    for (Word& word : words)
        for (unsigned bit = 0; bit < 32; bit++)
            file.must_register(&word, bit, event.name());
    const auto all_become = [&](std::uint32_t value) {
        return eventually(
            [&] { return std::ranges::all_of(words, [&](Word& word) { return word == value; }); });
    };
    fail_each_call(
        "enable very many", plain, nothing, [&] { return event.enable(); },
        [&] {
            CHECK(all_become(~0u));
            REQUIRE(event.disable() == succeeds(1));
            CHECK(all_become(0));
        });
}

// If a trigger fails to enable the event, the kernel still counts it as a user of the enabled
// event. So each attempt uses a new event, and does not check the state after a failure.
TEST_CASE("Adding a trigger survives each injected failure") {
    Unchanged unchanged;
    const OtherEnabled other;
    Faults faults;
    fail_each("trigger", plain, [&](unsigned n) {
        Registered event("");
        const Descriptor file = Descriptor::open(event.event.path("trigger"), O_WRONLY);
        const auto write = [&](std::string_view text) {
            return Outcome::of(::write(file.number(), text.data(), text.size()));
        };
        const Attempt result = faults.attempt(n, [&] { return write("traceoff"); });
        if (result.error == 0)
            CHECK(event.word == 1);
        REQUIRE(write("!traceoff").ok());
        CHECK(event.word == 0);
        return result;
    });
}

TEST_CASE("Adding, changing and removing a group survive each injected failure") {
    Unchanged unchanged;
    const std::string name = unique_name("fault"), owner = " uid=7 mode=0640";
    const auto add = [&] { REQUIRE(change_group(name) == succeeds()); };
    const auto remove = [&] {
        const Outcome outcome = change_group("!" + name);
        CHECK((outcome.ok() || outcome == fails(ENOENT)));
        CHECK_FALSE(exists(group_device(name)));
    };
    fail_each_call(
        "add a group", plain, nothing, [&] { return change_group(name + owner); },
        [&] {
            CHECK(exists(group_device(name)) == !group_line(name).empty());
            remove();
        });
    fail_each_call(
        "change a group", plain, add, [&] { return change_group(name + owner + " max=9"); },
        [&] {
            // Completely or not at all.
            struct stat node;
            REQUIRE(stat(group_device(name).c_str(), &node) == 0);
            CHECK((node.st_uid == 7) == (group_line(name).find(" max=9 ") != std::string::npos));
            remove();
        });
    fail_each_call(
        "remove a group", plain,
        [&] {
            add();
            Word word{0};
            DataFile file = open_group(name);
            file.must_register(&word, 0, "event", 4, USER_EVENT_REG_PERSIST);
        },
        [&] { return change_group("!" + name); }, remove);
}

TEST_CASE("Registering the first event of a group survives each injected failure") {
    Unchanged unchanged;
    const Group group;
    Word word{0};
    std::optional<DataFile> file;
    fail_each_call(
        "open a device", plain, nothing,
        [&] {
            const int number = open(group.device().c_str(), O_RDWR | O_CLOEXEC);
            if (number >= 0)
                close(number);
            return number < 0 ? Outcome::of(-1) : succeeds();
        },
        nothing);
    fail_each_call(
        "register in a group", plain, [&] { file.emplace(group.open()); },
        [&] { return file->register_event(&word, 0, "event u32 a"); },
        [&] {
            file.reset();
            CHECK(group.event("event").wait_removed());
        });
    CHECK(group.line().find(" # events 0, busy 0, lost 0, suppressed 0, users 0") !=
          std::string::npos);
}

TEST_CASE("Adding a rule survives each injected failure; the event is enabled or left alone") {
    Unchanged unchanged;
    const OtherEnabled other;
    Instance instance;
    Registered event(" u32 a", "fault_rule");
    const std::string action =
        GENERATE(as<std::string>(), "", " if a > 5", " limit=9/s/program sample=1/2 if a > 5");
    const std::string text = "fault_rule_* instance=" + instance.name() + action;
    fail_each_call(
        "rule" + action, plain, nothing, [&] { return change_rule(text); },
        [&] {
            const std::string comment = rule_comment(text);
            CAPTURE(comment);
            CHECK(event.word == comment.starts_with("applied to 1"));
            REQUIRE(change_rule("!" + text) == succeeds());
            CHECK(event.word == 0);
            CHECK(read_text(instance.path(event.event, "filter")) == "none\n");
        });
}

// With a new event for each attempt; see above.
TEST_CASE("Adding a rule with a trigger survives each injected failure") {
    Unchanged unchanged;
    const OtherEnabled other;
    const std::string text = "fault_rule_* trigger stacktrace:2";
    Faults faults;
    fail_each("rule with a trigger", plain, [&](unsigned n) {
        Registered event(" u32 a", "fault_rule");
        const Attempt result = faults.attempt(n, [&] { return change_rule(text); });
        if (!result.injected)
            CHECK(rule_comment(text) == "applied to 1");
        if (rule_comment(text) == "applied to 1")
            CHECK(event.word == 1);
        REQUIRE(change_rule("!" + text) == succeeds());
        return result;
    });
}

// Not for a histogram: without memory for the trigger, the kernel follows a NULL pointer.
TEST_CASE("A rule whose trigger cannot be removed stays until it is removed again") {
    Unchanged unchanged;
    const OtherEnabled other_enabled;
    const Registered event(" u32 a", "fault_remove"), other(" u32 a", "fault_remove");
    const std::string without = read_text(event.event.path("trigger"));
    const std::string text = "fault_remove_* trigger stacktrace:2";
    fail_each_call(
        "remove a rule with a trigger", plain,
        [&] {
            REQUIRE(change_rule(text) == succeeds());
            CHECK(event.word + other.word == 2);
        },
        [&] { return change_rule("!" + text); },
        [&] {
            CHECK(read_text(rules_file()).empty());
            for (const Registered* one : {&event, &other}) {
                CHECK(one->word == 0);
                CHECK(read_text(one->event.path("trigger")) == without);
            }
        });
}

TEST_CASE("A rule that conflicts with another one is never added, whatever else fails") {
    Unchanged unchanged;
    Instance instance;
    const Registered event(" u32 a", "fault_rule");
    const std::string at = "fault_rule_* instance=" + instance.name();
    const Rule earlier(at + " if a > 5");
    const std::string rules = read_text(rules_file());
    Faults faults;
    fail_each("conflict", plain, [&](unsigned n) {
        Attempt result = faults.attempt(n, [&] { return change_rule(at + " uid=0"); });
        CHECK((result.error == EBUSY || result.injected));
        CHECK(result.retry_error == EBUSY);
        CHECK(read_text(rules_file()) == rules);
        CHECK(event.word == 1);
        if (result.error == EBUSY)
            result.error = 0;
        result.retry_error = 0;
        return result;
    });
}

TEST_CASE("Adding a rule fails if its instance cannot be created") {
    Unchanged unchanged;
    const std::string name = unique_name("fault_created");
    const std::string text = "fault_rule_* instance=" + name;
    Faults faults;
    // Each of the many events of the kernel needs memory in the instance. Without it, the kernel
    // creates the instance without the event.
    for (unsigned n = 1; n <= 60; n++) {
        CAPTURE(n);
        const Attempt result = faults.attempt(n, [&] { return change_rule(text); });
        CHECK(result.injected);
        CHECK((result.error == 0 || result.error == ENOMEM || result.error == EFAULT));
        CHECK(result.retry_error == 0);
        CHECK(change_rule("!" + text) == succeeds());
        CHECK(Outcome::of(rmdir(tracing_file("instances/" + name).c_str())) == succeeds());
    }
}

TEST_CASE("Registering an event that rules are for survives each injected failure") {
    Unchanged unchanged;
    const OtherEnabled other;
    Instance instance;
    const std::string at = "instance=" + instance.name();
    std::optional<Rule> filter, trigger;
    Word word{0};
    std::optional<DataFile> file;
    std::string name;
    fail_each_call(
        "register with rules", plain,
        [&] {
            name = unique_name("fault_reg");
            file.emplace();
            filter.emplace("fault_reg_* " + at + " if a > 5");
            trigger.emplace("fault_reg_* " + at + " trigger stacktrace:2");
        },
        [&] {
            const Outcome outcome = file->register_event(&word, 0, name + " u32 a");
            return outcome.ok() ? succeeds() : outcome;
        },
        [&] {
            CHECK(word == (status_line(name) == name ? 0 : 1));
            // If memory is short, the kernel creates an event without its files.
            if (exists(instance.path(Event(name), "enable"))) {
                const std::string enable = read_text(instance.path(Event(name), "enable"));
                CHECK(read_text(instance.path(Event(name), "filter")) ==
                      (enable.starts_with("1") ? "a > 5\n" : "none\n"));
            }
            trigger.reset();
            filter.reset();
            CHECK(word == 0);
            file.reset();
            CHECK(Event(name).wait_removed());
        });
}

TEST_CASE("Removing rules survives each injected failure") {
    Unchanged unchanged;
    const OtherEnabled other;
    Instance instance;
    const std::string at = " instance=" + instance.name();
    Registered event(" u32 a", "fault_remove");
    const std::string first = "fault_remove_*" + at + " if a > 5";
    const auto prepare = [&] {
        expect(change_rule(first), first);
        expect(change_rule("fault_remove*" + at + " if a > 6"), "second");
        CHECK(event.word == 1);
    };
    const auto check = [&] {
        CHECK(rule_line(first).empty());
        REQUIRE(write_text(rules_file(), "", O_TRUNC).ok());
        CHECK(event.word == 0);
        CHECK(read_text(instance.path(event.event, "filter")) == "none\n");
        CHECK(read_text(rules_file()).empty());
    };
    fail_each_call(
        "remove a rule", plain, prepare, [&] { return change_rule("!" + first); }, check);
    fail_each_call(
        "remove all rules", {ENOMEM, EFAULT, ENFILE}, prepare,
        [&] { return write_text(rules_file(), "", O_TRUNC); }, check);
    REQUIRE(change_rule(first).ok());
    fail_each_call(
        "read the rules", {ENOMEM, EFAULT, ENFILE}, nothing,
        [&] {
            try {
                const std::string rules = read_text(rules_file());
                CHECK_FALSE(rules.empty());
                return succeeds();
            } catch (const std::system_error& error) {
                return fails(error.code().value());
            }
        },
        nothing);
    REQUIRE(change_rule("!" + first).ok());
}

TEST_CASE("Opening a perf event survives each injected failure") {
    Unchanged unchanged;
    Registered registered(" u32 a");
    perf_event_attr attributes = perf_attributes(registered.event);
    const auto open_perf = [&] {
        return Outcome::of(
            syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    };
    Descriptor perf;

    fail_each_call(
        "open for perf", {ENOMEM, EFAULT, ENFILE}, nothing,
        [&] {
            const Outcome outcome = open_perf();
            perf = Descriptor(outcome.ok() ? static_cast<int>(outcome.value()) : -1);
            return outcome;
        },
        [&] {
            CHECK(registered.word == 1);
            CHECK(registered.record(Payload().add(1u)) == succeeds(8));
            perf.close();
            CHECK(registered.word == 0);
        });
}

TEST_CASE("A fork copies all registrations even if an allocation fails") {
    Unchanged unchanged;
    const OtherEnabled other;
    Registered event("");
    Faults faults;

    // Checks that the child has its parent's registration.
    const auto follows = [&](Forked& child) {
        CHECK(child.word() == 0);
        CHECK(event.event.enable() == succeeds(1));
        CHECK(child.word() == 1);
        CHECK(event.event.disable() == succeeds(1));
        CHECK(child.word() == 0);
    };

    // The child itself allocates nothing before its first instruction.
    fail_each("fork", {}, [&](unsigned n) {
        Forked child(event.word);
        const Attempt result = faults.attempt(n, [&] { return child.start(); });
        follows(child);
        return result;
    });
}

TEST_CASE("A fork that lacks memory leaves the registrations of its parent as they are") {
    Unchanged unchanged;
    const OtherEnabled other;
    Registered event("");
    FaultsBelow faults("copy_process");

    // With each allocation of the kernel failing in turn, before and after the memory is copied.
    fail_each("fork without the kernel's memory", {ENOMEM}, [&](unsigned n) {
        Forked child(event.word);
        const Attempt result = faults.attempt(n, [&] { return child.start(); });
        CHECK(event.event.enable() == succeeds(1));
        CHECK(event.word == 1);
        CHECK(child.word() == 1);
        CHECK(event.event.disable() == succeeds(1));
        CHECK(event.word == 0);
        CHECK(child.word() == 0);
        return result;
    });
}

// In-tree, such a child kept its parent's pointer (CVE-2026-89750).
TEST_CASE("A child that inherits nothing, for lack of memory, has nothing of its parent's") {
    Unchanged unchanged;
    const OtherEnabled other;
    Registered event("");
    Faults faults;
    const auto body = [&](Channel& channel) {
        for (;;) {
            switch (channel.receive<char>()) {
            case 'u':
                channel.send(event.file.unregister(&event.word, 0).error());
                break;
            case 'r':
                channel.send(event.file.register_event(&event.word, 0, event.event.name()).error());
                break;
            case 'w':
                unshare_page(event.word);
                channel.send(event.word.load());
                break;
            case 'f':
                channel.send(
                    in_child([&] { return event.file.unregister(&event.word, 0).error(); }));
                break;
            default:
                execl("/bin/true", "true", nullptr);
                return errno;
            }
        }
    };

    // The first allocation of the module in a fork is what the child needs. There is a reserve for
    // it, which lasts until these children exit.
    constexpr unsigned too_many = 200;
    std::vector<std::unique_ptr<Child>> inherited, deprived;
    KernelLog log;
    while (deprived.size() < 4 && inherited.size() < too_many) {
        faults.arm(1);
        auto child = std::make_unique<Child>(body);
        REQUIRE(faults.disarm());
        const int error = child->channel().ask<int>('u');
        CHECK((error == 0 || error == ENOENT));
        (error == 0 ? inherited : deprived).push_back(std::move(child));
    }
    REQUIRE(deprived.size() == 4);
    CHECK_THAT(log.read(), Catch::Contains("does not inherit its registrations"));

    const auto parent_follows = [&] {
        CHECK(event.event.enable() == succeeds(1));
        CHECK(event.word == 1);
        CHECK(event.event.disable() == succeeds(1));
        CHECK(event.word == 0);
    };
    // One exits, one calls exec, one forks, and one registers the same word for itself.
    deprived[0]->kill();
    parent_follows();
    deprived[1]->channel().send('x');
    CHECK(deprived[1]->wait() == 0);
    parent_follows();
    CHECK(deprived[2]->channel().ask<int>('f') == ENOENT);
    parent_follows();
    Channel& channel = deprived[3]->channel();
    CHECK(channel.ask<int>('r') == 0);
    CHECK(channel.ask<std::uint32_t>('w') == 0);
    CHECK(event.event.enable() == succeeds(1));
    CHECK(channel.ask<std::uint32_t>('w') == 1);
    CHECK(channel.ask<int>('u') == 0);
    CHECK(channel.ask<std::uint32_t>('w') == 0);
    CHECK(event.word == 1);
    CHECK(event.event.disable() == succeeds(1));
    parent_follows();
    CHECK(event.file.unregister(&event.word, 0) == succeeds());
    CHECK(event.file.unregister(&event.word, 0) == fails(ENOENT));
}

TEST_CASE("A bit is written later if its page cannot be allocated at first") {
    Unchanged unchanged;
    Mapping memory(1);
    Word& word = *memory.at<Word>();
    DataFile file;
    const Event event(unique_name("fault"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    REQUIRE(madvise(memory.at(), memory.size(), MADV_DONTNEED) == 0);
    {
        const PageAllocationFaults faults(3);
        REQUIRE(event.enable() == succeeds(1));
        CHECK(eventually([&] { return faults.remaining() == 0; }));
        CHECK(eventually([&] { return word == 1; }));
    }
    REQUIRE(event.disable() == succeeds(1));
    CHECK(word == 0);
}

TEST_CASE("Loading the module survives each injected failure") {
    const auto unload = [] { REQUIRE(eventually([] { return module::unload().ok(); })); };
    unload();
    // tracefs does not report why it cannot create a file: the module returns ENODEV.
    fail_each_call(
        "load the module", {ENOMEM, ENODEV}, nothing, [] { return module::load(); }, unload);
    REQUIRE(module::load() == succeeds());
}
