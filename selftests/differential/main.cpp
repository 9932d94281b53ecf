// SPDX-License-Identifier: GPL-2.0-only
// differential SEED SEQUENCES
//
// Says what that many sequences of random operations come to, beginning with the one of that seed.
// The lines of a kernel that has user_events built in and of one that has the module are to be the
// same.
#include "deadline.hpp"
#include "sequence.hpp"
#include "text_file.hpp"

#include <iostream>
#include <sys/ioctl.h>
#include <sys/wait.h>

using namespace selftest;
using namespace differential;

namespace {

constexpr unsigned operations = 25;

/// In a process of its own, as an address space ends with its process.
void run_sequence(unsigned seed, bool in_tree) {
    std::cout << "sequence " << seed << std::endl;
    const pid_t child = fork();
    if (child < 0)
        throw_errno("fork");
    if (child == 0) {
        {
            Sequence sequence(seed, in_tree);
            sequence.run(operations);
        }
        std::cout << std::flush;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0)
        std::cout << "it ended with " << status << "\n";
}

/// What persists is deleted, so that the next sequence finds nothing.
void clean_up() {
    static constexpr const char* names[] = {"differ_a", "differ_b", "differ_c"};
    const DataFile file;
    const bool clean = eventually([&] {
        for (const char* name : names)
            ioctl(file.descriptor(), DIAG_IOCSDEL, name);
        return status_count("Active: ") == 0;
    });
    if (!clean)
        std::cout << "something is left: " << status() << "\n";
}

} // namespace

int main(int argc, char* argv[]) {
    if (argc != 3)
        return 2;
    const bool in_tree = !exists("/sys/module/user_events");
    const auto first = static_cast<unsigned>(std::stoul(argv[1]));
    const auto count = static_cast<unsigned>(std::stoul(argv[2]));
    for (unsigned seed = first; seed < first + count; seed++) {
        run_sequence(seed, in_tree);
        clean_up();
    }
    std::cout << "the end" << std::endl;
    return 0;
}
