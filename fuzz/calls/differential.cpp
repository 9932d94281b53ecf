// SPDX-License-Identifier: GPL-2.0-only
// differential SEED COUNT FILE...
//
// Runs the inputs in the files, then COUNT mutations of them. Prints each input, and each operation
// with its result and with what has changed in memory and in user_events_status. The kernel's own
// user_events and the module must print the same lines, except for the differences in `compare`.
#include "mutation.hpp"
#include "program.hpp"
#include "text_file.hpp"

#include <csignal>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

using namespace calls;

namespace {

constexpr std::size_t operations_per_input = 30;
/// In seconds.
constexpr unsigned time_limit = 120;

/// Changes the arguments of an operation so that its results can be compared. Returns false if they
/// cannot.
bool make_comparable(Operation& operation) {
    auto& arguments = operation.arguments;
    // No 32-bit calls, and no arguments in read-only memory: their results differ.
    constexpr std::uint8_t passing = 0x2f;
    switch (operation.kind) {
    case Kind::open:
        // Not user_events_status, whose text differs.
        arguments[2] = 0;
        return true;
    case Kind::reg:
        // No command with 500 spaces at the end: the in-tree user_events rejects it.
        arguments[5] &= 0xbfU;
        [[fallthrough]];
    case Kind::unreg:
    case Kind::del:
        arguments[4] &= passing;
        return true;
    case Kind::write:
        arguments[2] = arguments[2] % 10 % 8;
        return true;
    case Kind::line:
        // Only "u:" lines: each other kind is accepted by one implementation only.
        arguments[0] = arguments[3] = 0;
        return true;
    case Kind::control:
        arguments[2] = 0;
        return true;
    case Kind::fork:
        // The parent waits for the child.
        arguments[1] &= 2U;
        return true;
    default:
        return operation.kind == Kind::close || operation.kind == Kind::duplicate ||
               operation.kind == Kind::event_file;
    }
}

/// Appends the operations of an input that can be compared.
void append_comparable(Input& to, const Input& input) {
    for (Operation operation : input)
        if (make_comparable(operation))
            to.push_back(std::move(operation));
}

/// Returns a mutated input of the corpus, followed by random operations.
Input random_input(const std::vector<Input>& corpus, Random& random) {
    Input input{{Kind::open, {0}, {}}, {Kind::open, {1}, {}}, {Kind::open, {2}, {}}};
    Input mutated = random.one_of(corpus);
    mutate(mutated, random.one_of(corpus), random);
    append_comparable(input, mutated);
    while (input.size() < operations_per_input)
        append_comparable(input, {any_operation(random)});
    return input;
}

/// Runs an input in a child, because a violation ends it before it has cleaned up. The parent then
/// removes the remaining events.
void run(Program& program, const Input& input) {
    std::cout << "# input: " << print(input) << std::endl;
    const pid_t child = fork();
    if (child < 0)
        selftest::throw_errno("fork");
    if (child == 0) {
        alarm(time_limit);
        try {
            program.run(input);
        } catch (const Violation& violation) {
            std::cout << "# violation: " << violation.what() << std::endl;
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0)
        std::cout << "# the input ends with the wait status " << status << std::endl;
    program.run({});
}

} // namespace

int main(int argc, char* argv[]) {
    if (argc < 3)
        return 2;
    std::signal(SIGPIPE, SIG_IGN);
    Coverage coverage(false);
    Program program(coverage, Log::state);
    Random random(static_cast<unsigned>(std::stoul(argv[1])));
    std::vector<Input> corpus;
    for (int i = 3; i < argc; i++)
        for (const Input& input : parse(selftest::read_text(argv[i])))
            append_comparable(corpus.emplace_back(), input);
    for (const Input& input : corpus)
        run(program, input);
    for (unsigned long left = std::stoul(argv[2]); left > 0; left--)
        run(program, random_input(corpus, random));
    std::cout << "1..1\nok 1 - all inputs have run" << std::endl;
    return 0;
}
