// SPDX-License-Identifier: GPL-2.0-only
// What the C++ library costs, compared with the bare system call that writes the same bytes.
#include "bare_syscall.hpp"
#include "clock.hpp"
#include "groups.hpp"
#include "program.hpp"

#include "tracing.hpp"
#include "user_events.hpp"

#include <user_events/user_events.hpp>

#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace selftest;
namespace ue = user_events;

namespace bench {

namespace {

ue::event<"library_number", ue::field<"value", std::uint64_t>> number;
ue::event<"library_text", ue::field<"number", std::uint32_t>, ue::field<"text", std::string_view>>
    text;

void require(std::error_code error) {
    if (error)
        throw std::system_error(error, "the library's events");
}

void not_recorded(Report& report) {
    const std::string string(40, 'x');
    const auto value = [] { return unknown<std::uint64_t>(1); };
    report.add("library, an event of 8 bytes that nothing records",
               cost([&] { number(value()); }) - cost([&] { value(); }));
    report.add("library, an event with a string that nothing records",
               cost([&] { text(1, unknown(&string)->c_str()); }) - cost([&] { unknown(&string); }));
}

/// Adds what an event costs more than the system call with the same bytes.
template <typename Record>
void add_above(Report& report, const std::string& what, const Event& event,
               const std::string& fields, const Payload& payload, Record record) {
    Word word{0};
    DataFile file;
    const std::uint32_t index = file.must_register(&word, 0, event.name() + fields);
    const Enabled enabled(event);
    const Bytes bytes = Payload().add(index).add_bytes(payload.bytes()).bytes();
    long wrong = 0;
    const double bare = cost([&] {
        wrong += bare_syscall(SYS_write, file.descriptor(), bytes.data(), bytes.size()) !=
                 static_cast<long>(bytes.size());
    });
    const double library = cost(record);
    if (wrong || number.lost() || text.lost() || text.cut())
        throw std::runtime_error("records were lost");
    report.add("library, " + what + ", ftrace", library);
    report.add("library, " + what + ", ftrace, above the bare write()", library - bare);
}

void recorded(Report& report) {
    add_above(report, "8 bytes", Event("library_number"), " u64 value",
              Payload().add<std::uint64_t>(1), [] { number(unknown<std::uint64_t>(1)); });
    for (const std::size_t size : {40u, 400u}) {
        const std::string string(size, 'x');
        add_above(report, "a string of " + std::to_string(size) + " bytes", Event("library_text"),
                  " u32 number; __rel_loc char[] text",
                  Payload()
                      .add<std::uint32_t>(1)
                      .add(location(0, static_cast<std::uint32_t>(size + 1)))
                      .add_string(string),
                  [&] { text(1, std::string_view(string.data(), unknown(size))); });
    }
}

/// The name many_NNN.
template <unsigned Number>
constexpr auto name_of() {
    const char characters[9] = {'m',
                                'a',
                                'n',
                                'y',
                                '_',
                                static_cast<char>('0' + Number / 100 % 10),
                                static_cast<char>('0' + Number / 10 % 10),
                                static_cast<char>('0' + Number % 10),
                                '\0'};
    return ue::literal(characters);
}

template <unsigned Number>
struct One {
    ue::event<name_of<Number>(), ue::field<"value", int>> event;
};

/// The events of a large program, each with a name of its own.
template <typename Numbers>
struct Many;
template <unsigned... Numbers>
struct Many<std::integer_sequence<unsigned, Numbers...>> : One<Numbers>... {
    std::error_code error() const {
        // Not a fold expression, which clang limits to 256 operands.
        for (const std::error_code& each : {One<Numbers>::event.error()...})
            if (each)
                return each;
        return {};
    }
};

/// What fork() costs more in a program with an event, if it may open many files.
void forking_with_event(Report& report) {
    rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit many = {std::min<rlim_t>(8192, before.rlim_max), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &many);
    const auto cost_of_forks = [] {
        std::vector<double> costs(51);
        for (double& each : costs)
            each = cost_once([] {
                const pid_t child = fork();
                if (child == 0)
                    _exit(0);
                waitpid(child, nullptr, 0);
            });
        return median(costs);
    };
    // Without the descriptor of the library, which is opened again after that.

    const double with = cost_of_forks();
    closefrom(100);
    const double without = cost_of_forks();
    require(ue::retry());
    report.add("library, fork, exit and wait with an event, above those without", with - without);
    setrlimit(RLIMIT_NOFILE, &before);
}

void start_up(Report& report) {
    constexpr unsigned count = 1000;
    using All = Many<std::make_integer_sequence<unsigned, count>>;
    std::unique_ptr<All> all;
    const double cost_of_all = cost_once([&] { all = std::make_unique<All>(); });
    require(all->error());
    report.add("library, registering each of 1000 events at start-up", cost_of_all / count);
}

} // namespace

void library(Report& report) {
    require(number.error());
    require(text.error());
    not_recorded(report);
    recorded(report);
    forking_with_event(report);
    start_up(report);
}

} // namespace bench
