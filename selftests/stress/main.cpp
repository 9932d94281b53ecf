// SPDX-License-Identifier: GPL-2.0-only
// Programs that use user events in every way side by side, killed at any time, while administrators
// switch, filter and trace the events; in rounds. After each the bits of those left must be right,
// every record accounted for, and nothing left but what can be deleted; then the module is unloaded
// and loaded again. Everything random comes from the seed, which is printed; in which order the
// kernel runs the processes does not.
#include "administrator.hpp"
#include "books.hpp"
#include "deadline.hpp"
#include "module.hpp"
#include "program.hpp"
#include "text_file.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <functional>
#include <iostream>
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
constexpr unsigned book_keepers = 2;
constexpr unsigned administrators = 2;
constexpr std::chrono::seconds longest_round{20};

unsigned verdicts = 0, failures = 0;

void verdict(bool good, const std::string& what) {
    failures += !good;
    std::cout << (good ? "ok " : "not ok ") << ++verdicts << " - " << what << std::endl;
}

/// One process of the round, which is started again when it has been killed.
struct Worker {
    std::function<void(unsigned stream)> body;
    bool may_be_killed;
    pid_t pid = -1;
};

class Round {
public:
    Round(World& world, unsigned seed, unsigned number)
        : world_(world), seed_(seed), random_(seed, number * 1000000), stream_(number * 1000000) {
        world_.phase = Phase::chaos;
        world_.looked = world_.wrong = 0;
        world_.begun = world_.succeeded = 0;
        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets_) != 0)
            throw_errno("socketpair");
        for (unsigned i = 0; i < programs; i++)
            workers_.push_back({[this](unsigned stream) {
                                    run_program(world_, seed_, stream, sockets_[stream % 2]);
                                },
                                true});
        for (unsigned i = 0; i < book_keepers; i++)
            workers_.push_back({[this](unsigned stream) {
                                    run_book_keeper(world_, seed_, stream, books_.file(),
                                                    books_.index());
                                },
                                true});
        for (unsigned i = 0; i < administrators; i++)
            workers_.push_back(
                {[this](unsigned stream) { run_administrator(world_, seed_, stream); }, false});
    }
    ~Round() {
        ::close(sockets_[0]);
        ::close(sockets_[1]);
    }
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

    void chaos(std::chrono::milliseconds duration) {
        const auto end = std::chrono::steady_clock::now() + duration;
        for (Worker& worker : workers_)
            start(worker);
        while (std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50 + random_.below(200)));
            Worker& worker = workers_[random_.below(static_cast<unsigned>(workers_.size()))];
            if (worker.may_be_killed) {
                kill(worker.pid, SIGKILL);
                world_.tally(Operation::kill, succeeds());
                waitpid(worker.pid, nullptr, 0);
                start(worker);
            }
        }
    }

    void settle(const std::string& name) {
        // From here on nobody writes, registers or switches but this process; the administrators
        // go, and take their instances with them.
        world_.phase = Phase::calm;
        for (unsigned i = programs; i < workers_.size(); i++)
            end(workers_[i], name);
        look(Phase::writable, name + ": all memory can be written");
        // A bit that could not be written is right after the next change.
        switch_all("1");
        switch_all("0");
        look(Phase::disabled, name + ": every bit is 0 while all events are disabled");
        switch_all("1");
        look(Phase::enabled, name + ": every bit is 1 while all events are enabled");
        switch_all("0");
        verdict(books_.balance(world_), name + ": every record is accounted for");
        world_.phase = Phase::end;
        for (unsigned i = 0; i < programs; i++)
            end(workers_[i], name);
        verdict(world_.wrong == 0, name + ": no operation did what it must not");
        world_.tally.print_and_clear();
    }

private:
    void start(Worker& worker) {
        const unsigned stream = ++stream_;
        worker.pid = fork();
        if (worker.pid < 0)
            throw_errno("fork");
        if (worker.pid == 0) {
            worker.body(stream);
            _exit(1);
        }
    }

    void end(Worker& worker, const std::string& name) {
        int status = 0;
        if (!eventually([&] { return waitpid(worker.pid, &status, WNOHANG) != 0; }, patience)) {
            verdict(false, name + ": a process does not end");
            kill(worker.pid, SIGKILL);
            waitpid(worker.pid, nullptr, 0);
        } else if (status != 0) {
            verdict(false, name + ": a process ended with " + std::to_string(status));
        }
    }

    static void switch_all(const char* state) {
        for (const char* system : {USER_EVENTS_SYSTEM, USER_EVENTS_MULTI_SYSTEM}) {
            const std::string path = tracing_file(std::string("events/") + system + "/enable");
            if (!exists(path))
                continue;
            const Outcome outcome = write_text(path, state);
            if (!went(system, path, outcome))
                expect(outcome, path);
        }
    }

    /// Whether that could not be written as the last event of several formats, of a program that
    /// was killed, went just then. Of the others one stays.
    static bool went(std::string_view system, const std::string& path, const Outcome& outcome) {
        static const Outcome gone[] = {fails(ENOENT), fails(ENODEV), fails(EINVAL)};
        return system == USER_EVENTS_MULTI_SYSTEM &&
               std::ranges::find(gone, outcome) != std::end(gone) && !exists(path);
    }

    void look(Phase phase, const std::string& what) {
        world_.looked = 0;
        const unsigned wrong = world_.wrong;
        world_.phase = phase;
        const bool all = eventually([&] { return world_.looked == programs; }, 2 * patience);
        verdict(all && world_.wrong == wrong, what);
    }

    World& world_;
    unsigned seed_;
    Random random_;
    unsigned stream_;
    int sockets_[2];
    Books books_;
    std::vector<Worker> workers_;
};

/// What persists is deleted; all else must be gone. The children of programs that were killed have
/// still to end, and with them what they use.
void clean_up(const std::string& name) {
    const bool clean = eventually([] {
        {
            DataFile file;
            for (const char* event : names)
                file.delete_event(event);
        }
        return status_count("Active: ") == 0 && status_count("Busy: ") == 0;
    });
    verdict(clean, name + ": nothing is left");
    if (!clean)
        for (const std::string& line : lines_of(status()))
            std::cout << "# " << line << "\n";
}

void reload(const std::string& name) {
    verdict(eventually([] { return module::unload().ok(); }), name + ": the module unloads");
    verdict(module::load().ok(), name + ": the module loads again");
}

} // namespace

int main(int argc, char* argv[]) {
    bool briefly = false;
    unsigned seconds = 20;
    auto seed = static_cast<unsigned>(time(nullptr) % 1000000);
    CLI::App app("Does everything at once that can be done with user_events");
    app.add_flag("--briefly", briefly, "register a few events, and end");
    app.add_option("--seconds", seconds, "how long");
    app.add_option("--seed", seed, "of the random numbers; otherwise it is the time's");
    CLI11_PARSE(app, argc, argv);
    if (briefly)
        return run_briefly();
    const std::chrono::seconds duration(seconds);
    std::cout << "# seed " << seed << std::endl;

    const Mapping shared((sizeof(World) + page_size - 1) / page_size, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS);
    World& world = *new (shared.at()) World{};
    const auto end = std::chrono::steady_clock::now() + duration;
    for (unsigned number = 1; std::chrono::steady_clock::now() < end; number++) {
        const std::string name = "round " + std::to_string(number);
        {
            Round round(world, seed, number);
            round.chaos(std::min<std::chrono::milliseconds>(duration, longest_round));
            round.settle(name);
        }
        clean_up(name);
        reload(name);
    }
    std::cout << "1.." << verdicts << std::endl;
    return failures ? 1 : 0;
}
