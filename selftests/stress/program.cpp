// SPDX-License-Identifier: GPL-2.0-only
#include "program.hpp"

#include "deadline.hpp"
#include "descriptor.hpp"
#include "group.hpp"
#include "mark.hpp"
#include "text_file.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

using namespace selftest;

namespace stress {

namespace {

constexpr unsigned files_of_program = 4;
constexpr unsigned threads_of_program = 2;

/// How a child exits that cannot execute its program.
constexpr int exec_failed = 2;

/// The open files that the threads of a program share; an unused slot is -1. A thread may close a
/// file while another thread uses it, as in a program with a bug.
using Files = std::array<std::atomic<int>, files_of_program>;

/// A message that sends or receives a file.
struct FileMessage {
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = "";
    msghdr message{};

    FileMessage() {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
    }
    cmsghdr& header() { return *reinterpret_cast<cmsghdr*>(control); }
};

/// A thread of a program, and the words that it registers. No other thread accesses them.
class ProgramThread {
public:
    ProgramThread(Shared& shared, Random random, Files& files, int socket)
        : shared_(shared), random_(random), files_(files), socket_(socket), memory_(pages) {
        std::memset(memory_.at(), 0, memory_.size());
    }

    void run() {
        while (shared_.phase == Phase::running)
            act();
    }

    /// Runs a few operations in a forked child. The shared files are as they were at the fork.
    void run_briefly() {
        for (unsigned left = random_.below(30); left > 0; left--)
            act();
    }

    void restore_memory() { memory_.protect(PROT_READ | PROT_WRITE); }

    /// Returns whether each registered bit has the state, and all others are 0.
    bool has_bits(bool state) const {
        return std::memcmp(expected(state).data(), memory_.at(), memory_.size()) == 0;
    }

    /// Prints the wrong words after a failure of has_bits().
    void print_bits(bool state) const {
        const std::vector<std::uint64_t> right = expected(state);
        std::ostringstream text;
        for (std::size_t i = 0; i < right.size(); i++)
            if (const std::uint64_t word = *memory_.at<std::uint64_t>(i * 8); word != right[i])
                text << "# process " << getpid() << ", byte " << i * 8 << std::hex << ": " << word
                     << " instead of " << right[i] << std::dec << "\n";
        std::cout << text.str() << std::flush;
    }

private:
    static constexpr unsigned pages = 3;

    struct Pair {
        std::size_t offset;
        unsigned bit, size;
    };

    std::vector<std::uint64_t> expected(bool state) const {
        std::vector<std::uint64_t> words(memory_.size() / 8);
        for (const Pair& pair : pairs_)
            words.at(pair.offset / 8) |= static_cast<std::uint64_t>(state)
                                         << (pair.offset % 8 * 8 + pair.bit);
        return words;
    }

    void act() {
        struct Choice {
            unsigned weight;
            void (ProgramThread::*act)();
        };
        static constexpr Choice choices[] = {
            {8, &ProgramThread::open_file},       {2, &ProgramThread::close_file},
            {25, &ProgramThread::register_event}, {18, &ProgramThread::unregister},
            {8, &ProgramThread::remove},          {30, &ProgramThread::write},
            {2, &ProgramThread::fork_child},      {3, &ProgramThread::pass_file},
            {2, &ProgramThread::change_group},    {3, &ProgramThread::take_file},
            {3, &ProgramThread::change_memory},   {10, &ProgramThread::mark},
            {6, &ProgramThread::share_indexes},
        };
        (this->*random_.one_by_weight(choices).act)();
    }

    std::atomic<int>& any_slot() { return files_.at(random_.below(files_of_program)); }

    void put_into_slot(int descriptor) {
        const int old = any_slot().exchange(descriptor);
        if (old >= 0)
            ::close(old);
    }

    void open_file() {
        const std::string devices[] = {group_device("default"), group_device(group_name)};
        const std::string& path = random_.chance(50) ? random_.one_of(devices) : path_;
        const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        shared_.count(Operation::open, Outcome::of(file));
        if (file >= 0)
            put_into_slot(file);
    }

    void close_file() {
        const int file = any_slot().exchange(-1);
        if (file >= 0)
            shared_.count(Operation::close, Outcome::of(::close(file)));
    }

    /// Often with a file that was just opened, as programs do it.
    void share_indexes() {
        if (random_.chance(70))
            open_file();
        const int from = any_slot();
        shared_.count(Operation::share,
                      Outcome::of(ioctl(any_slot(), USER_EVENTS_SHARE_INDEXES, from)));
    }

    void register_event() {
        static constexpr unsigned flags[] = {0, 0, 0, 2, 2, 1, 3};
        Pair pair{random_.below(pages * 8) * (page_size / 8), 0, random_.chance(50) ? 4U : 8U};
        pair.bit = random_.below(pair.size * 8);
        const std::string command = std::string(random_.one_of(names)) + random_.one_of(formats);
        user_reg reg = registration(memory_.at(pair.offset), pair.bit, command.c_str(), pair.size,
                                    random_.one_of(flags));
        const Outcome outcome = Outcome::of(ioctl(any_slot(), DIAG_IOCSREG, &reg));
        if (!shared_.count(Operation::register_event, outcome).ok())
            return;
        shared_.violations += is_registered(pair);
        pairs_.push_back(pair);
    }

    bool is_registered(const Pair& pair) const {
        return std::ranges::any_of(pairs_, [&](const Pair& other) {
            return other.offset == pair.offset && other.bit == pair.bit;
        });
    }

    void unregister() {
        if (pairs_.empty() || random_.chance(10)) {
            user_unreg absent = unregistration(memory_.at(8), random_.below(32));
            shared_.count(Operation::unregister,
                          Outcome::of(ioctl(any_slot(), DIAG_IOCSUNREG, &absent)));
            return;
        }
        const auto at = pairs_.begin() + random_.below(static_cast<unsigned>(pairs_.size()));
        user_unreg unreg = unregistration(memory_.at(at->offset), at->bit);
        const Outcome outcome = Outcome::of(ioctl(any_slot(), DIAG_IOCSUNREG, &unreg));
        shared_.count(Operation::unregister, outcome);
        // UNREG ends the registration even if it cannot clear the bit.
        if (outcome == fails(EFAULT))
            clear_after_failure(*at);
        if (outcome.ok() || outcome == fails(EFAULT))
            pairs_.erase(at);
    }

    void clear_after_failure(const Pair& pair) {
        restore_memory();
        auto word = std::atomic_ref(*memory_.at<std::uint32_t>(pair.offset + pair.bit / 32 * 4UL));
        word &= ~(1U << pair.bit % 32);
    }

    void remove() {
        shared_.count(Operation::remove,
                      Outcome::of(ioctl(any_slot(), DIAG_IOCSDEL, random_.one_of(names))));
    }

    void write() {
        static constexpr unsigned sizes[] = {0, 4, 20, 28, 60, 300, 4000, 9000};
        std::uint32_t index = random_.below(6);
        std::vector<char> payload(random_.one_of(sizes));
        iovec parts[] = {{&index, sizeof(index)}, {payload.data(), payload.size()}};
        shared_.count(Operation::write, Outcome::of(writev(any_slot(), parts, 2)));
    }

    void fork_child() {
        const pid_t child = fork();
        shared_.count(Operation::fork, Outcome::of(child));
        if (child == 0)
            live_as_child();
        if (child < 0)
            return;
        if (random_.chance(30))
            shared_.count(Operation::kill, Outcome::of(kill(child, SIGKILL)));
        int status = 0;
        waitpid(child, &status, 0);
        // A crash, or a failed exec.
        shared_.violations +=
            WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status) == exec_failed;
    }

    [[noreturn]] void live_as_child() {
        run_briefly();
        if (random_.chance(30)) {
            // Counted before: the new program does not have the shared memory.
            shared_.count(Operation::exec, succeeds());
            execl("/proc/self/exe", "stress", "--briefly", nullptr);
            shared_.count(Operation::exec, Outcome::of(-1));
            _exit(exec_failed);
        }
        _exit(0);
    }

    /// Moves the program into a control group, or out of it.
    void change_group() {
        const std::string directory =
            random_.chance(50) ? control_group : control_group.substr(0, control_group.rfind('/'));
        shared_.count(Operation::move, write_text(directory + "/cgroup.procs", "0"));
    }

    void pass_file() {
        const int file = any_slot();
        FileMessage passed;
        passed.header().cmsg_level = SOL_SOCKET;
        passed.header().cmsg_type = SCM_RIGHTS;
        passed.header().cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(&passed.header()), &file, sizeof(file));
        shared_.count(Operation::pass_file,
                      Outcome::of(sendmsg(socket_, &passed.message, MSG_DONTWAIT)));
    }

    void take_file() {
        FileMessage taken;
        const Outcome outcome =
            Outcome::of(recvmsg(socket_, &taken.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
        shared_.count(Operation::take_file, outcome);
        int file = -1;
        if (!outcome.ok() || taken.header().cmsg_type != SCM_RIGHTS)
            return;
        std::memcpy(&file, CMSG_DATA(&taken.header()), sizeof(file));
        put_into_slot(file);
    }

    void change_memory() {
        std::byte* page = memory_.at(random_.below(pages) * page_size);
        int result = 0;
        switch (random_.below(3)) {
        case 0:
            // The words are 0 until the states of their events change.
            result = madvise(page, page_size, MADV_DONTNEED);
            break;
        case 1:
            result = mprotect(page, page_size, PROT_READ);
            break;
        default:
            restore_memory();
        }
        shared_.count(Operation::change_memory, Outcome::of(result));
    }

    /// Makes a mark of any size. Only one that is too large may fail.
    void mark() {
        static constexpr unsigned sizes[] = {0, 1, 20, 300, 4000, 9000, 70000};
        const std::string data(random_.one_of(sizes), 'x');
        MarkFile file;
        const Outcome outcome =
            random_.chance(50) ? file.write(data) : file.mark(random_.below(3), data);
        shared_.count(Operation::mark, outcome);
        shared_.violations += !outcome.ok() && outcome != fails(E2BIG);
    }

    /// Determined here: a child forked while another thread is in tracing_file() would deadlock.
    const std::string path_ = tracing_file("user_events_data");
    Shared& shared_;
    Random random_;
    Files& files_;
    int socket_;
    Mapping memory_;
    std::vector<Pair> pairs_;
};

void wait_for(const Shared& shared, Phase phase) {
    while (shared.phase < phase)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

/// Waits for a phase, and checks the bits of all threads.
void check_bits(Shared& shared, Phase phase, bool state,
                const std::vector<std::unique_ptr<ProgramThread>>& threads) {
    wait_for(shared, phase);
    if (shared.phase != phase)
        return;
    for (const auto& thread : threads) {
        if (eventually([&] { return thread->has_bits(state); }))
            continue;
        shared.violations++;
        thread->print_bits(state);
    }
    shared.checked++;
}

} // namespace

void run_program(Shared& shared, unsigned seed, unsigned stream, int socket) {
    Files files;
    for (auto& file : files)
        file = -1;
    std::vector<std::unique_ptr<ProgramThread>> threads;
    for (unsigned i = 0; i < threads_of_program; i++)
        threads.push_back(
            std::make_unique<ProgramThread>(shared, Random(seed, stream * 16 + i), files, socket));
    {
        std::vector<std::jthread> running;
        running.reserve(threads.size());
        for (auto& thread : threads)
            running.emplace_back([&thread] { thread->run(); });
    }
    wait_for(shared, Phase::writable);
    for (const auto& thread : threads)
        thread->restore_memory();
    shared.checked++;
    check_bits(shared, Phase::disabled, false, threads);
    check_bits(shared, Phase::enabled, true, threads);
    wait_for(shared, Phase::end);
    _exit(0);
}

void run_writer(Shared& shared, unsigned seed, unsigned stream, int file, std::uint32_t index) {
    Random random(seed, stream);
    while (shared.phase == Phase::running) {
        std::uint64_t number = shared.begun++;
        if (number >= counted_most) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            continue;
        }
        std::vector<char> more(random.below(200));
        iovec parts[] = {
            {&index, sizeof(index)}, {&number, sizeof(number)}, {more.data(), more.size()}};
        const Outcome outcome = Outcome::of(writev(file, parts, 3));
        if (shared.count(Operation::write_counted, outcome).ok())
            shared.written.at(number) = true;
        // Leaves CPU time to the other processes.
        if (random.chance(20))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    _exit(0);
}

int run_briefly() {
    Word word{0};
    DataFile file;
    user_reg reg = registration(&word, 0, "stress_a u32 a");
    if (!Outcome::of(ioctl(file.descriptor(), DIAG_IOCSREG, &reg)).ok())
        return 1;
    file.record(reg.write_index, Payload().add(1U));
    return 0;
}

} // namespace stress
