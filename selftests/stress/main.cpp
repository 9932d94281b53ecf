// SPDX-License-Identifier: GPL-2.0-only
// Stress test: programs use user events concurrently and are killed at any time, while
// administrators enable, filter and trace the events. After each round, the bits of the running
// programs must be right, each record must be accounted for, and no event must be left.
// Then the module is unloaded and loaded again. All random numbers depend on the seed, which is
// printed; the scheduling of the processes does not.
#include "administrator.hpp"
#include "control_group.hpp"
#include "deadline.hpp"
#include "group.hpp"
#include "module.hpp"
#include "program.hpp"
#include "record_check.hpp"
#include "text_file.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <functional>
#include <iostream>
#include <linux/user_mark.h>
#include <new>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

using namespace selftest;
using namespace stress;

namespace {

constexpr unsigned programs = 4;
constexpr unsigned writers = 2;
constexpr unsigned administrators = 2;
constexpr std::chrono::seconds longest_round{20};

unsigned results = 0, failures = 0;

void report(bool good, const std::string& what) {
    failures += !good;
    std::cout << (good ? "ok " : "not ok ") << ++results << " - " << what << std::endl;
}

/// A process of the round. It is started again after it was killed.
struct Process {
    std::function<void(unsigned stream)> body;
    bool may_be_killed;
    pid_t pid = -1;
};

class Round {
public:
    Round(Shared& shared, unsigned seed, unsigned number)
        : shared_(shared), seed_(seed), random_(seed, number * 1000000), stream_(number * 1000000) {
        shared_.phase = Phase::running;
        shared_.checked = shared_.violations = 0;
        shared_.begun = 0;
        for (auto& written : shared_.written)
            written = false;
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets_) != 0)
            throw_errno("socketpair");
        for (unsigned i = 0; i < programs; i++)
            processes_.push_back({[this](unsigned stream) {
                                      run_program(shared_, seed_, stream, sockets_[stream % 2]);
                                  },
                                  true});
        for (unsigned i = 0; i < writers; i++)
            processes_.push_back({[this](unsigned stream) {
                                      run_writer(shared_, seed_, stream, record_check_.file(),
                                                 record_check_.index());
                                  },
                                  true});
        for (unsigned i = 0; i < administrators; i++)
            processes_.push_back(
                {[this](unsigned stream) { run_administrator(shared_, seed_, stream); }, false});
    }
    ~Round() {
        ::close(sockets_[0]);
        ::close(sockets_[1]);
    }
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

    void run(std::chrono::milliseconds duration) {
        const auto end = std::chrono::steady_clock::now() + duration;
        for (Process& process : processes_)
            start(process);
        while (std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50 + random_.below(200)));
            Process& process = processes_[random_.below(static_cast<unsigned>(processes_.size()))];
            if (process.may_be_killed) {
                shared_.count(Operation::kill, Outcome::of(kill(process.pid, SIGKILL)));
                waitpid(process.pid, nullptr, 0);
                start(process);
            }
        }
    }

    void check(const std::string& name) {
        // The writers and the administrators exit; the administrators remove their instances first.
        // The programs start no more operations.
        shared_.phase = Phase::stopping;
        for (unsigned i = programs; i < processes_.size(); i++)
            end(processes_[i], name);
        check_bits(Phase::writable, name + ": all memory is writable");
        // Bits that could not be written before are written at the next change.
        switch_all("1");
        switch_all("0");
        check_bits(Phase::disabled, name + ": every bit is 0 while all events are disabled");
        switch_all("1");
        check_bits(Phase::enabled, name + ": every bit is 1 while all events are enabled");
        switch_all("0");
        report(record_check_.passes(shared_), name + ": every record is accounted for");
        shared_.phase = Phase::end;
        for (unsigned i = 0; i < programs; i++)
            end(processes_[i], name);
        const std::string forbidden = shared_.count.forbidden();
        report(shared_.violations == 0 && forbidden.empty(),
               name + ": no operation has a forbidden result");
        if (!forbidden.empty())
            std::cout << "# forbidden: " << forbidden << "\n";
        shared_.count.print_and_clear();
    }

private:
    void start(Process& process) {
        const unsigned stream = ++stream_;
        process.pid = fork();
        if (process.pid < 0)
            throw_errno("fork");
        if (process.pid == 0) {
            process.body(stream);
            _exit(1);
        }
    }

    void end(Process& process, const std::string& name) {
        int status = 0;
        if (!eventually([&] { return waitpid(process.pid, &status, WNOHANG) != 0; }, wait_limit)) {
            report(false, name + ": a process does not exit");
            kill(process.pid, SIGKILL);
            waitpid(process.pid, nullptr, 0);
        } else if (status != 0) {
            report(false,
                   name + ": a process exited with the wait status " + std::to_string(status));
        }
    }

    static void switch_all(const char* state) {
        const auto switch_system = [&](const std::string& system) {
            const std::string path = tracing_file("events/" + system + "/enable");
            if (!exists(path))
                return;
            const Outcome outcome = write_text(path, state);
            if (!is_removed(system, path, outcome))
                expect(outcome, path);
        };
        for (const char* system : systems)
            switch_system(system);
        switch_system(USER_MARK_SYSTEM);
    }

    /// Returns whether the write has failed because the kernel was removing the last event of the
    /// system, of a killed program. One system always has the counted event, and marks exist.
    static bool is_removed(std::string_view system, const std::string& path,
                           const Outcome& outcome) {
        static const Outcome removed[] = {fails(ENOENT), fails(ENODEV), fails(EINVAL)};
        return system != USER_EVENTS_SYSTEM && system != USER_MARK_SYSTEM &&
               std::ranges::find(removed, outcome) != std::end(removed) && !exists(path);
    }

    void check_bits(Phase phase, const std::string& what) {
        shared_.checked = 0;
        const unsigned before = shared_.violations;
        shared_.phase = phase;
        const bool all = eventually([&] { return shared_.checked == programs; }, 2 * wait_limit);
        report(all && shared_.violations == before, what);
    }

    Shared& shared_;
    unsigned seed_;
    Random random_;
    unsigned stream_;
    int sockets_[2];
    RecordCheck record_check_;
    std::vector<Process> processes_;
};

/// Deletes the persistent events. The kernel must remove all others once the children of killed
/// programs have exited.
void clean_up(const std::string& name) {
    const bool clean = eventually([] {
        for (const char* group : {"default", group_name}) {
            DataFile file = open_group(group);
            for (const char* event : names)
                file.delete_event(event);
        }
        return status_count("Active: ") == 0 && status_count("Busy: ") == 0 &&
               group_status(group_name).find("Active: 0\n") != std::string::npos;
    });
    report(clean, name + ": no event is left");
    if (!clean)
        for (const std::string& line : lines_of(status()))
            std::cout << "# " << line << "\n";
}

void reload(const std::string& name) {
    report(eventually([] { return module::unload().ok(); }), name + ": the module unloads");
    report(module::load().ok() && change_group(group_name).ok(), name + ": the module loads again");
}

} // namespace

int main(int argc, char* argv[]) {
    bool briefly = false;
    unsigned seconds = 20;
    auto seed = static_cast<unsigned>(time(nullptr) % 1000000);
    CLI::App app("Performs random operations on user_events in several processes");
    app.add_flag("--briefly", briefly, "register an event, write one record, and exit");
    app.add_option("--seconds", seconds, "duration of the test");
    app.add_option("--seed", seed, "seed of the random numbers (default: derived from the time)");
    CLI11_PARSE(app, argc, argv);
    if (briefly)
        return run_briefly();
    const std::chrono::seconds duration(seconds);
    std::cout << "# seed " << seed << std::endl;

    const Mapping memory((sizeof(Shared) + page_size - 1) / page_size, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS);
    Shared& shared = *new (memory.at()) Shared{};
    const ControlGroup group("pids");
    control_group = group.path();
    control_group_path = control_group.substr(control_group.rfind('/'));
    expect(change_group(group_name), "add a group");
    const auto end = std::chrono::steady_clock::now() + duration;
    for (unsigned number = 1; std::chrono::steady_clock::now() < end; number++) {
        const std::string name = "round " + std::to_string(number);
        {
            Round round(shared, seed, number);
            round.run(std::min<std::chrono::milliseconds>(duration, longest_round));
            round.check(name);
        }
        clean_up(name);
        reload(name);
    }
    const std::string never = shared.count.never_succeeded();
    report(never.empty(), "each operation has succeeded at least once");
    if (!never.empty())
        std::cout << "# never: " << never << "\n";
    std::cout << "1.." << results << std::endl;
    return failures ? 1 : 0;
}
