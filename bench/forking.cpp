// SPDX-License-Identifier: GPL-2.0-only
// The cost of fork, depending on the number of registrations and mappings, and of the first REG.
#include "clock.hpp"
#include "groups.hpp"

#include "mapping.hpp"
#include "user_events.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

/// Forks a child that exits. Returns the cost of fork() in the parent.
double fork_once() {
    pid_t child = -1;
    const double cost = cost_once(
        [&] {
            child = fork();
            if (child == 0)
                _exit(0);
        },
        CLOCK_THREAD_CPUTIME_ID);
    if (child < 0 || waitpid(child, nullptr, 0) != child)
        throw std::runtime_error("fork");
    return cost;
}

/// Measures fork() in the parent, and fork(), exit and waitpid() together.
void measure(Report& report, std::size_t registrations) {
    std::vector<double> forks, wholes;
    for (int i = 0; i < 51; i++)
        wholes.push_back(cost_once([&] { forks.push_back(fork_once()); }));
    const std::string with = " with " + std::to_string(registrations) + " registrations";
    report.add("fork" + with, median(forks));
    report.add("fork, exit and wait" + with, median(wholes));
}

/// Private mappings of one page of a file each, which the kernel cannot merge.
class FileMappings {
public:
    explicit FileMappings(std::size_t count) : memory_(count, PROT_NONE) {
        const Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
        for (std::size_t i = 0; i < count; i++)
            if (mmap(memory_.at(i * page_size), page_size, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                     file.number(), 0) == MAP_FAILED)
                throw_errno("mmap");
    }

private:
    Mapping memory_;
};

/// Returns the cost of the first REG of a new child. Its file has registered the event before.
double first_registration(DataFile& file, Word& word, const std::string& command) {
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    double& cost = *shared.at<double>();
    const pid_t child = fork();
    if (child == 0) {
        user_reg reg = registration(&word, 0, command.c_str());
        word = 0;
        cost = cost_once([&] { expect(file.control(DIAG_IOCSREG, &reg), "register"); });
        _exit(0);
    }
    if (child < 0 || waitpid(child, nullptr, 0) != child)
        throw std::runtime_error("fork");
    return cost;
}

/// For a process with many mappings.
void measure_mappings(Report& report, std::size_t mappings, std::size_t registrations) {
    std::vector<double> wholes(mappings > 1000 ? 7 : 51);
    for (double& whole : wholes)
        whole = cost_once(fork_once);
    report.add("fork, exit and wait with " + std::to_string(mappings) + " mappings and " +
                   std::to_string(registrations) + " registrations",
               median(wholes));
}

/// Registers bits of `words` in turn.
class Registrations {
public:
    Registrations(DataFile& file, const std::string& command, std::size_t capacity)
        : file_(file), command_(command), words_(capacity) {}
    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;
    ~Registrations() {
        for (std::size_t n = 0; n < count_; n++) {
            user_unreg unreg = unregistration(&words_[n], 0);
            file_.control(DIAG_IOCSUNREG, &unreg);
        }
    }

    /// Not DataFile::register_event(): fork would also copy DataFile's list of registrations.
    void grow(std::size_t to) {
        for (; count_ < to; count_++) {
            user_reg reg = registration(&words_[count_], 0, command_.c_str());
            expect(file_.control(DIAG_IOCSREG, &reg), "register");
        }
    }

private:
    DataFile& file_;
    const std::string& command_;
    std::vector<Word> words_;
    std::size_t count_ = 0;
};

} // namespace

void forking(Report& report) {
    const std::string command = unique_name("forked") + " u32 a";
    DataFile file;
    {
        Registrations registrations(file, command, 10'000);
        for (std::size_t count : {0, 500, 10'000}) {
            registrations.grow(count);
            measure(report, count);
        }
    }
    for (std::size_t mappings : {10, 1000, 60'000}) {
        const FileMappings mapped(mappings);
        Registrations registrations(file, command, 10'000);
        std::vector<double> first(7);
        Word word{0};
        for (double& cost : first)
            cost = first_registration(file, word, command);
        report.add("first REG of a process with " + std::to_string(mappings) + " mappings",
                   median(first));
        for (std::size_t count : {0, 1, 10'000}) {
            registrations.grow(count);
            measure_mappings(report, mappings, count);
        }
    }
}

} // namespace bench
