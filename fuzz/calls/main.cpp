// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes the system calls of user_events. Runs the inputs in files, and then, for --seconds,
// mutated inputs. Keeps inputs that have a new feature (see coverage.hpp). With --replay, it only
// runs the files' inputs, and prints the result of each operation.
//
// Each input is sent to the host before it runs: if the kernel reports a fault, the last input has
// caused it. stdout is the TAP of one test, with comments:
//	# kept INPUT		an input with a new feature
//	# short INPUT		at the end: a small set of inputs with all features
//	# place HEX...		the addresses executed, from the start of the module's code
//	#   TEXT		statistics for the reader
#include "corpus.hpp"
#include "program.hpp"
#include "text_file.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <sys/io.h>
#include <unistd.h>

using namespace calls;

namespace {

/// The time limit of an input in seconds. It is enough for a debug kernel on an emulated machine.
constexpr unsigned time_limit = 240;

struct Options {
    unsigned seconds = 10;
    unsigned seed = 1;
    bool replay = false;
    std::vector<std::string> files;
};

void report_timeout(int) {
    static constexpr char text[] =
        "# wrong: timeout: the input does not finish\n1..1\nnot ok 1 - no fault is found\n";
    [[maybe_unused]] const auto written = write(STDOUT_FILENO, text, sizeof(text) - 1);
    _exit(1);
}

/// An I/O port of the emulated machine that appends each byte to a file of the host. The data is
/// safe even if the kernel crashes right after the write.
class Port {
public:
    Port() {
        if (ioperm(number, 1, 1) != 0)
            selftest::throw_errno("ioperm");
    }
    void write(const std::string& text) const {
        for (const char c : text)
            outb(static_cast<unsigned char>(c), number);
    }

private:
    static constexpr unsigned short number = 0xe9;
};

class Fuzzer {
    using Clock = std::chrono::steady_clock;

public:
    explicit Fuzzer(const Options& options)
        : options_(options), random_(options.seed),
          program_(coverage_, options.replay ? Log::results : Log::nothing) {}

    /// Runs until the time limit. Returns a description of the first fault, or an empty string.
    std::string run() {
        try {
            run_files();
            if (!options_.replay)
                run_mutated();
        } catch (const std::exception& error) {
            report();
            return error.what();
        }
        return options_.replay || report() ? "" : "a kind of operation has never succeeded";
    }

private:
    void run_files() {
        for (const std::string& file : options_.files)
            for (const Input& input : parse(selftest::read_text(file)))
                evaluate(input, false);
        from_files_ = corpus_.size();
    }

    void run_mutated() {
        const auto end = Clock::now() + std::chrono::seconds(options_.seconds);
        while (Clock::now() < end) {
            Input input = corpus_.empty() ? Input{} : corpus_.any(random_);
            mutate(input, corpus_.empty() ? Input{} : corpus_.any(random_), random_);
            evaluate(input, true);
        }
    }

    /// Prints statistics. Returns whether every kind of operation has succeeded, except unknown
    /// ioctls.
    bool report() const {
        constexpr auto unknown_ioctl = static_cast<std::size_t>(Kind::control);
        bool complete = true;
        for (const Input& input : corpus_.shortest())
            std::cout << "# short " << print(input) << "\n";
        std::cout << "# place" << std::hex;
        for (const std::uint32_t address : coverage_.addresses())
            std::cout << " " << address;
        std::cout << std::dec << "\n#   executions: " << executions_
                  << ", inputs kept: " << corpus_.size() << ", " << from_files_
                  << " of them from files, features: " << corpus_.nr_features() << "\n";
        for (std::size_t kind = 0; kind < kinds; kind++)
            complete &= report_kind(static_cast<Kind>(kind)) || kind == unknown_ioctl;
        return complete;
    }

    /// Runs an input, and keeps it if it has a new feature.
    void evaluate(const Input& input, bool shorten) {
        const auto start = Clock::now();
        execute(input);
        const auto duration = Clock::now() - start;
        Coverage::Features features = coverage_.features();
        const Coverage::Features wanted = corpus_.new_features(features);
        if (wanted.empty())
            return;
        Input shorter = input;
        if (shorten)
            features = shortened(shorter, std::move(features), wanted);
        corpus_.keep(shorter, std::move(features), duration);
        if (shorten)
            std::cout << "# kept " << print(shorter) << std::endl;
    }

    /// Removes operations that the wanted features do not need: first halves of the input, then
    /// smaller parts, with a limited number of attempts. Returns the features of the result.
    Coverage::Features shortened(Input& input, Coverage::Features features,
                                 const Coverage::Features& wanted) {
        unsigned attempts = 12;
        for (std::size_t part = std::max<std::size_t>(input.size() / 2, 1); part > 0; part /= 2)
            for (std::size_t end = input.size(); end >= part && attempts > 0; end -= part) {
                if (input.size() == part)
                    break;
                const auto at = input.begin() + static_cast<std::ptrdiff_t>(end - part);
                Input shorter(input.begin(), at);
                shorter.insert(shorter.end(), at + static_cast<std::ptrdiff_t>(part), input.end());
                execute(shorter);
                attempts--;
                Coverage::Features rest = coverage_.features();
                const std::set<std::uint32_t> has(rest.begin(), rest.end());
                if (std::ranges::all_of(wanted,
                                        [&](std::uint32_t one) { return has.contains(one); })) {
                    input = std::move(shorter);
                    features = std::move(rest);
                }
            }
        return features;
    }

    void execute(const Input& input) {
        port_.write(print(input) + "\n\n");
        executions_++;
        alarm(time_limit);
        program_.run(input);
        alarm(0);
    }

    bool report_kind(Kind kind) const {
        unsigned long all = 0;
        for (int error = 0; error < Coverage::errors; error++)
            all += coverage_.outcomes(kind, error);
        const unsigned long successes = coverage_.outcomes(kind, 0);
        std::cout << "#   " << std::left << std::setw(13) << name_of(kind) << std::right
                  << std::setw(7) << all << std::setw(5) << (all ? 100 * successes / all : 0)
                  << " % success";
        for (int error = 1; error < Coverage::errors; error++)
            if (const unsigned long count = coverage_.outcomes(kind, error))
                std::cout << " " << strerrorname_np(error) << " " << count;
        std::cout << "\n";
        return successes > 0;
    }

    const Options options_;
    const Port port_;
    Random random_;
    Coverage coverage_;
    Program program_;
    Corpus corpus_;
    std::size_t from_files_ = 0;
    unsigned long executions_ = 0;
};

} // namespace

int main(int argc, char* argv[]) {
    Options options;
    CLI::App app("Fuzzes the system calls of user_events");
    app.add_option("--seconds", options.seconds, "how long to run mutated inputs");
    app.add_option("--seed", options.seed, "seed of the random numbers");
    app.add_flag("--replay", options.replay, "only run the inputs, and print each result");
    app.add_option("file", options.files, "files with initial inputs")->check(CLI::ExistingPath);
    CLI11_PARSE(app, argc, argv);

    std::signal(SIGALRM, report_timeout);
    // Writing to the pipe of a child that has exited already is not an error.
    std::signal(SIGPIPE, SIG_IGN);
    const std::string fault = Fuzzer(options).run();
    for (const std::string& line : selftest::lines_of(fault))
        std::cout << "# wrong: " << line << "\n";
    std::cout << "1..1\n"
              << (fault.empty() ? "ok" : "not ok") << " 1 - no fault is found" << std::endl;
    return fault.empty() ? 0 : 1;
}
