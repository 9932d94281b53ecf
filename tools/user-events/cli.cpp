// SPDX-License-Identifier: GPL-2.0-only
#include "cli.hpp"

#include "commands/commands.hpp"
#include "text/errors.hpp"
#include "text/quantity.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string_view>

namespace tool {

namespace {

/// The commands that run a program, and where its name and arguments go.
std::map<std::string, std::vector<std::string>*>& programs() {
    static std::map<std::string, std::vector<std::string>*> result;
    return result;
}

/// Has the function read the option's value. What it says about a bad one becomes the message.
template <typename Value>
void read_with(CLI::App& app, const char* names, const char* type, Value& value, const char* help,
               Value (*read)(std::string_view)) {
    app.add_option_function<std::string>(
           names,
           [&value, read, names](const std::string& text) {
               try {
                   value = read(text);
               } catch (const text::usage_error& error) {
                   throw CLI::ValidationError(names, error.what());
               }
           },
           help)
        ->type_name(type);
}

void add(CLI::App& app, const command& row) {
    CLI::App* const added = app.add_subcommand(row.name, row.summary);
    arguments declared(*added);
    added->callback(row.declare(declared));
}

} // namespace

void arguments::positional(const char* name, std::string& value, const char* help) {
    app_.add_option(name, value, help)->required()->type_name("");
}

void arguments::optional_positional(const char* name, std::string& value, const char* help) {
    app_.add_option(name, value, help)->type_name("");
}

void arguments::positionals(const char* name, std::vector<std::string>& values, const char* help) {
    app_.add_option(name, values, help)->type_name("");
}

void arguments::required_positionals(const char* name, std::vector<std::string>& values,
                                     const char* help) {
    app_.add_option(name, values, help)->required()->type_name("");
}

void arguments::program(std::vector<std::string>& values, const char* help) {
    programs()[app_.get_name()] = &values;
    app_.footer(fmt::format("-- PROGRAM [ARGUMENT]...\n                              {}", help));
}

void arguments::flag(const char* names, bool& value, const char* help) {
    app_.add_flag(names, value, help);
}

void arguments::option(const char* names, const char* type, std::string& value, const char* help) {
    app_.add_option(names, value, help)->type_name(type);
}

void arguments::required_option(const char* names, const char* type, std::string& value,
                                const char* help) {
    app_.add_option(names, value, help)->type_name(type)->required();
}

void arguments::option(const char* names, const char* type, std::uint64_t& value,
                       const char* help) {
    app_.add_option(names, value, help)->type_name(type);
}

void arguments::option(const char* names, const char* type, std::vector<std::string>& values,
                       const char* help) {
    app_.add_option(names, values, help)->type_name(type)->allow_extra_args(false);
}

void arguments::duration(const char* names, double& seconds, const char* help) {
    read_with(app_, names, "TIME", seconds, help, text::to_seconds);
}

void arguments::size(const char* names, std::uint64_t& bytes, const char* help) {
    read_with(app_, names, "SIZE", bytes, help, text::to_bytes);
}

void arguments::subcommand(const command& command) {
    app_.require_subcommand(1);
    add(app_, command);
}

int run_command_line(int argc, char** argv) {
    CLI::App app("See, record, keep and look at the events of user programs.", "user-events");
    app.require_subcommand(1);
    for (const command& row : commands)
        add(app, row);
    std::vector<std::string> given(argv + 1, argv + argc);
    const auto dashes = std::find(given.begin(), given.end(), "--");
    if (dashes != given.end() && programs().count(given.front())) {
        programs()[given.front()]->assign(dashes + 1, given.end());
        given.erase(dashes, given.end());
    }
    // CLI11 wants it so.
    std::reverse(given.begin(), given.end());
    try {
        app.parse(std::move(given));
        return 0;
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) // --help
            return app.exit(error);
        std::string name;
        for (const CLI::App* chosen = &app; !chosen->get_subcommands().empty();) {
            chosen = chosen->get_subcommands().front();
            name += chosen->get_name() + " ";
        }
        throw text::usage_error(error.what(),
                                fmt::format("`user-events {}--help` lists the options", name));
    }
}

} // namespace tool
