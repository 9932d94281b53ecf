// SPDX-License-Identifier: GPL-2.0-only
// Measures user_events on the running kernel, and prints the figures as JSON.
#include "groups.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>
#include <string>

int main(int argc, char* argv[]) {
    const std::map<std::string, void (*)(bench::Report&)> groups = {
        {"writing", bench::writing},
        {"marking", bench::marking},
        {"registering", bench::registering},
        {"forking", bench::forking},
        {"enabling", bench::enabling},
        {"memory", bench::memory},
        {"peers", bench::peers},
        {"library", bench::library},
        {"threads", bench::threads},
    };
    CLI::App app("Measures user_events on the running kernel");
    std::string group;
    app.add_option("group", group, "what to measure")->required()->check(CLI::IsMember(groups));
    CLI11_PARSE(app, argc, argv);

    bench::Report report;
    groups.at(group)(report);
    std::cout << report.rows().dump(1) << "\n";
}
