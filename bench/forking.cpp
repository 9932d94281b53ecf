// SPDX-License-Identifier: GPL-2.0-only
// The cost of fork, depending on the number of registrations.
#include "clock.hpp"
#include "groups.hpp"

#include "user_events.hpp"

#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

/// Measures fork() in the parent, and fork(), exit and waitpid() together.
void measure(Report& report, std::size_t registrations) {
    std::vector<double> forks, wholes;
    for (int i = 0; i < 51; i++) {
        pid_t child = -1;
        wholes.push_back(cost_once([&] {
            forks.push_back(cost_once(
                [&] {
                    child = fork();
                    if (child == 0)
                        _exit(0);
                },
                CLOCK_THREAD_CPUTIME_ID));
            waitpid(child, nullptr, 0);
        }));
        if (child < 0)
            throw std::runtime_error("fork");
    }
    const std::string with = " with " + std::to_string(registrations) + " registrations";
    report.add("fork" + with, median(forks));
    report.add("fork, exit and wait" + with, median(wholes));
}

} // namespace

void forking(Report& report) {
    const std::string command = unique_name("forked") + " u32 a";
    std::vector<Word> words(10'000);
    DataFile file;
    std::size_t count = 0;
    for (std::size_t step : {0, 500, 10'000}) {
        // Not DataFile::register_event(): fork would also copy DataFile's list of registrations.
        for (; count < step; count++) {
            user_reg reg = registration(&words[count], 0, command.c_str());
            expect(file.control(DIAG_IOCSREG, &reg), "register");
        }
        measure(report, step);
    }
    for (std::size_t n = 0; n < count; n++) {
        user_unreg unreg = unregistration(&words[n], 0);
        expect(file.control(DIAG_IOCSUNREG, &unreg), "unregister");
    }
}

} // namespace bench
