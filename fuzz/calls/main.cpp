// SPDX-License-Identifier: GPL-2.0-only
// Runs the inputs in files, and then, for so many seconds, what becomes of them by small changes;
// keeps those that reach something new in the module. With --replay it runs the inputs alone, and
// tells of each operation what it was answered.
//
// Each input is told to the host before it is run: where the kernel complains, it came from the
// last one. On stdout is a TAP of one test, with comments:
//	# kept INPUT		an input that has reached something new
//	# short INPUT		at the end: all that has to be kept
//	# place HEX...		what was reached, from the start of the module's code
//	#   TEXT		for people
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

/// No input takes so long, on an emulated machine with a kernel that checks itself: three times it
/// waits for the kernel, each for a minute at most.
constexpr unsigned patience = 240;

struct Options {
    unsigned seconds = 10;
    unsigned seed = 1;
    bool replay = false;
    std::vector<std::string> files;
};

void hangs(int) {
    static constexpr char text[] =
        "# wrong: the input does not end\n1..1\nnot ok 1 - nothing is found\n";
    [[maybe_unused]] const auto written = write(STDOUT_FILENO, text, sizeof(text) - 1);
    _exit(1);
}

/// A port of the emulated machine that takes a byte at a time for a file of the host's: what is
/// written there is there, whatever becomes of the kernel, and it takes no time.
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
        : options_(options), random_(options.seed), program_(coverage_, options.replay) {}

    /// Until the time is over. Returns what is wrong, or nothing.
    std::string run() {
        try {
            run_files();
            if (!options_.replay)
                run_changed();
        } catch (const std::exception& error) {
            report();
            return error.what();
        }
        return options_.replay || report() ? "" : "a kind of operation never succeeds";
    }

private:
    void run_files() {
        for (const std::string& file : options_.files)
            for (const Input& input : parse(selftest::read_text(file)))
                consider(input, false);
        from_files_ = corpus_.size();
    }

    void run_changed() {
        const auto end = Clock::now() + std::chrono::seconds(options_.seconds);
        while (Clock::now() < end) {
            Input input = corpus_.empty() ? Input{} : corpus_.any(random_);
            mutate(input, corpus_.empty() ? Input{} : corpus_.any(random_), random_);
            consider(input, true);
        }
    }

    /// Returns whether every kind of operation was done with success, but the ioctls that are none.
    bool report() const {
        constexpr auto never = static_cast<std::size_t>(Kind::control);
        bool complete = true;
        for (const Input& input : corpus_.shortest())
            std::cout << "# short " << print(input) << "\n";
        std::cout << "# place" << std::hex;
        for (const std::uint32_t place : coverage_.places())
            std::cout << " " << place;
        std::cout << std::dec << "\n#   executions: " << executions_
                  << ", inputs kept: " << corpus_.size() << ", " << from_files_
                  << " of them from files, features: " << corpus_.nr_features() << "\n";
        for (std::size_t kind = 0; kind < kinds; kind++)
            complete &= report_kind(static_cast<Kind>(kind)) || kind == never;
        return complete;
    }

    void consider(const Input& input, bool shorten) {
        const auto start = Clock::now();
        execute(input);
        const auto duration = Clock::now() - start;
        Coverage::Features features = coverage_.features();
        const Coverage::Features news = corpus_.news(features);
        if (news.empty())
            return;
        Input shorter = input;
        if (shorten)
            features = shortened(shorter, std::move(features), news);
        corpus_.keep(shorter, std::move(features), duration);
        if (shorten)
            std::cout << "# kept " << print(shorter) << std::endl;
    }

    /// Leaves out operations without which what is new is reached all the same: halves first, and
    /// not all that might be.
    Coverage::Features shortened(Input& input, Coverage::Features features,
                                 const Coverage::Features& news) {
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
                Coverage::Features less = coverage_.features();
                const std::set<std::uint32_t> has(less.begin(), less.end());
                if (std::ranges::all_of(news,
                                        [&](std::uint32_t one) { return has.contains(one); })) {
                    input = std::move(shorter);
                    features = std::move(less);
                }
            }
        return features;
    }

    void execute(const Input& input) {
        port_.write(print(input) + "\n\n");
        executions_++;
        alarm(patience);
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
    app.add_option("--seconds", options.seconds, "how long to change inputs");
    app.add_option("--seed", options.seed, "of the random numbers");
    app.add_flag("--replay", options.replay, "only run the inputs, and tell what comes of them");
    app.add_option("file", options.files, "inputs to begin with")->check(CLI::ExistingPath);
    CLI11_PARSE(app, argc, argv);

    std::signal(SIGALRM, hangs);
    // A child may have ended before it is told to.
    std::signal(SIGPIPE, SIG_IGN);
    const std::string wrong = Fuzzer(options).run();
    for (const std::string& line : selftest::lines_of(wrong))
        std::cout << "# wrong: " << line << "\n";
    std::cout << "1..1\n"
              << (wrong.empty() ? "ok" : "not ok") << " 1 - nothing is found" << std::endl;
    return wrong.empty() ? 0 : 1;
}
