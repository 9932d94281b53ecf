// SPDX-License-Identifier: GPL-2.0-only
// Measures the user_events of the kernel that it runs on, and prints the figures as JSON.
#include "groups.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

const std::map<std::string, void (*)(bench::Report&)> groups = {
    {"writing", bench::writing},
};

} // namespace

int main(int argc, char* argv[]) {
    CLI::App app("Measures the user_events of the running kernel");
    std::vector<std::string> chosen;
    app.add_option("group", chosen, "what to measure")->required()->check(CLI::IsMember(groups));
    CLI11_PARSE(app, argc, argv);

    bench::Report report;
    for (const std::string& group : chosen)
        groups.at(group)(report);
    std::cout << report.rows().dump(1) << "\n";
}
