// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli.hpp"

#include "completion.hpp"
#include "fleet.hpp"
#include "text/errors.hpp"
#include "text/nearest.hpp"
#include "text/output.hpp"
#include "text/quantity.hpp"
#include "text/table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>

namespace tool {

namespace {

using words = std::vector<std::string>;

/// The commands that run a program, and where its name and arguments go.
std::map<std::string, words*>& programs() {
    static std::map<std::string, words*> result;
    return result;
}

/// The commands that have --config, and what reads its file.
std::map<std::string, config_reader>& configs() {
    static std::map<std::string, config_reader> result;
    return result;
}

/// What a shell may offer for the value of an option.
std::map<const CLI::Option*, words>& choices() {
    static std::map<const CLI::Option*, words> result;
    return result;
}

bool& checked() {
    static bool result = false;
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

/// The option that a word of the command line names; null if it names none.
const CLI::Option* option_of(const CLI::App& command, const std::string& word) {
    return word.starts_with('-') ? command.get_option_no_throw(word.substr(0, word.find('=')))
                                 : nullptr;
}

/// The file of --config; empty if it is not given.
std::string config_of(const CLI::App& command, const words& given) {
    for (std::size_t i = 0; i < given.size(); i++) {
        const auto* const option = option_of(command, given[i]);
        if (!option || !option->check_lname("config"))
            continue;
        if (const auto equals = given[i].find('='); equals != given[i].npos)
            return given[i].substr(equals + 1);
        return i + 1 < given.size() ? given[i + 1] : "";
    }
    return {};
}

/// Appends what a file has and the command line has not.
void append_config(const CLI::App& command, const std::string& path, words& given) {
    words added;
    const words before = given;
    words tables;
    for (const auto& [name, reader] : configs())
        tables.push_back(name);
    for (const auto& [name, values] :
         configs().at(command.get_name())(path, command.get_name(), tables)) {
        if (name == "pattern") {
            added.insert(added.end(), values.begin(), values.end());
            continue;
        }
        const auto* const option = command.get_option_no_throw("--" + name);
        if (!option || name == "config" || name == "check" || name == "help")
            throw text::usage_error(
                fmt::format("{}: [{}] has no entry {}", path, command.get_name(), name),
                fmt::format("`user-events {} --help` lists the options", command.get_name()));
        if (std::any_of(before.begin(), before.end(), [&](const std::string& word) {
                return option_of(command, word) == option;
            }))
            continue;
        for (const auto& value : values)
            added.push_back(fmt::format("--{}={}", name, value));
    }
    // Behind `--` they would be arguments without a name.
    given.insert(std::find(given.begin(), given.end(), "--"), added.begin(), added.end());
}

/// Help of at most 100 columns.
class narrow_formatter : public CLI::Formatter {
public:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override {
        constexpr std::size_t most = 100, indent = 30;
        std::istringstream lines(CLI::Formatter::make_help(app, std::move(name), mode));
        std::string result;
        for (std::string line; std::getline(lines, line); result += line + "\n")
            for (std::size_t at = line.rfind(' ', most); line.size() > most && at > indent;
                 at = line.rfind(' ', most)) {
                result += line.substr(0, at) + "\n";
                line = std::string(indent, ' ') + line.substr(at + 1);
            }
        return result;
    }
};

void add(CLI::App& app, const command& row) {
    const bool is_missing = !row.declare && !has_fleet();
    CLI::App* const added = app.add_subcommand(
        row.name, std::string(row.summary) + (is_missing ? " (not installed)" : ""));
    if (!row.declare)
        return;
    arguments declared(*added);
    added->callback(row.declare(declared));
}

CLI::App* subcommand_of(CLI::App& app, const std::string& name) {
    for (CLI::App* const row : app.get_subcommands([](CLI::App*) { return true; }))
        if (row->get_name() == name)
            return row;
    return nullptr;
}

/// Where a command line has got to.
struct progress {
    CLI::App* command;
    /// The option whose value comes next.
    const CLI::Option* option = nullptr;
    words before;
    bool in_program = false;

    void pass(const std::string& word) {
        if (option) {
            option = nullptr;
        } else if (word == "--") {
            in_program = programs().count(command->get_name()) != 0;
        } else if (word.starts_with('-')) {
            option = command->get_option_no_throw(word);
            if (option && option->get_items_expected_min() == 0)
                option = nullptr;
        } else if (CLI::App* const next = subcommand_of(*command, word)) {
            command = next;
        } else {
            before.push_back(word);
        }
    }
};

words names_of_options(const CLI::App& command) {
    words result;
    for (const CLI::Option* const option : command.get_options())
        for (const auto& name : option->get_lnames())
            result.push_back("--" + name);
    return result;
}

words names_of_subcommands(CLI::App& command) {
    words result;
    for (const CLI::App* const row : command.get_subcommands([](CLI::App*) { return true; }))
        result.push_back(row->get_name());
    return result;
}

/// The argument without a name that comes next; null if there is none.
const CLI::Option* positional_of(const CLI::App& command, std::size_t number) {
    const auto all =
        command.get_options([](const CLI::Option* option) { return option->get_positional(); });
    if (number < all.size())
        return all[number];
    return all.empty() || all.back()->get_items_expected_max() < 2 ? nullptr : all.back();
}

words candidates_for(const CLI::Option& option, const progress& at, const std::string& word) {
    const auto found = choices().find(&option);
    return found == choices().end() ? candidates({option.get_type_name(), at.before}, word)
                                    : fitting(found->second, word);
}

words candidates_at(const progress& at, const std::string& word) {
    if (at.in_program)
        return candidates({"PROGRAM", {}}, word);
    if (at.option)
        return candidates_for(*at.option, at, word);
    if (const auto equals = word.find('='); word.starts_with("--") && equals != word.npos) {
        const auto* const option = at.command->get_option_no_throw(word.substr(0, equals));
        if (!option)
            return {};
        words values = candidates_for(*option, at, word.substr(equals + 1));
        for (auto& value : values)
            if (!value.starts_with(':'))
                value.insert(0, word, 0, equals + 1);
        return values;
    }
    if (word.starts_with('-'))
        return fitting(names_of_options(*at.command), word);
    if (words names = names_of_subcommands(*at.command); !names.empty())
        return fitting(std::move(names), word);
    const auto* const next = positional_of(*at.command, at.before.size());
    return next ? candidates({next->get_name(), at.before}, word) : words{};
}

/// CLI11 would take the next word for the value of `--filter=`, in which a variable was empty.
void split_empty_values(words& given) {
    for (std::size_t i = 0; i < given.size() && given[i] != "--"; i++)
        if (given[i].starts_with("--") && given[i].find('=') == given[i].size() - 1) {
            given[i].pop_back();
            given.insert(given.begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
        }
}

/// Prints what may be in the place of the last word.
void complete(CLI::App& app, const words& line) {
    progress at{&app, nullptr, {}};
    for (std::size_t i = 0; i + 1 < line.size(); i++)
        at.pass(line[i]);
    for (const auto& candidate : candidates_at(at, line.empty() ? "" : line.back()))
        text::print(candidate + "\n");
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

void arguments::open_choice(const char* name, const char* type, std::string& value,
                            const std::vector<std::string>& words, const std::string& help) {
    const std::string offered = text::joined(words);
    auto* const made =
        app_.add_option(name, value, help.empty() ? offered : fmt::format("{}: {}", help, offered));
    choices()[made->type_name(type)] = words;
}

void arguments::choice(const char* name, const char* type, std::string& value,
                       const std::vector<std::string>& words, const std::string& help) {
    const bool is_required = value.empty();
    open_choice(name, type, value, words, help);
    app_.get_option(name)->required(is_required)->check([=](const std::string& given) {
        const std::string what = std::string(name).substr(2);
        if (std::find(words.begin(), words.end(), given) == words.end())
            throw text::usage_error(
                fmt::format("there is no {} {}", what, given),
                text::did_you_mean(given, words,
                                   fmt::format("the {}s are {}", what, text::joined(words))));
        return std::string();
    });
}

void arguments::required_option(const char* names, const char* type, std::string& value,
                                const char* help) {
    app_.add_option(names, value, help)->type_name(type)->required();
}

void arguments::option(const char* names, const char* type, std::uint64_t& value,
                       const char* help) {
    read_with(app_, names, type, value, help, text::to_count);
}

void arguments::option(const char* names, const char* type, std::vector<std::string>& values,
                       const char* help) {
    app_.add_option(names, values, help)->type_name(type)->allow_extra_args(false);
}

void arguments::duration(const char* names, double& seconds, const char* help) {
    read_with(app_, names, "TIME", seconds, fmt::format("{}, such as 10s", help).c_str(),
              text::to_seconds);
}

void arguments::size(const char* names, std::uint64_t& bytes, const char* help) {
    read_with(app_, names, "SIZE", bytes, fmt::format("{}, such as 64k or 10M", help).c_str(),
              text::to_bytes);
}

void arguments::config(std::string& path, config_reader reader) {
    configs()[app_.get_name()] = reader;
    option("--config", "FILE", path, "a file with these options, in TOML");
    flag("--check", checked(), "only check the options and the file");
}

bool is_only_checked() {
    return checked();
}

void arguments::subcommand(const command& command) {
    app_.require_subcommand(1);
    add(app_, command);
}

void run_command_line(std::span<const command> commands, int argc, char** argv) {
    CLI::App app("See, record, keep and look at the events of user programs.", "user-events");
    app.require_subcommand(1);
    app.formatter(std::make_shared<narrow_formatter>());
    app.footer("`user-events help COMMAND` lists the options of a command.");
    app.set_version_flag("--version", "user-events " VERSION);
    for (const command& row : commands)
        add(app, row);
    words given(argv + 1, argv + argc);
    if (given.empty() || given.front() == "help") {
        given.erase(given.begin(), given.begin() + !given.empty());
        given.emplace_back("--help");
    }
    if (given.front() == "status")
        given.front() = "list";
    const bool completes = !given.empty() && given.front() == "--complete";
    // The word that is completed may yet become another command.
    if (given.size() > (completes ? 2 : 0))
        for (const command& row : commands)
            if (!row.declare && given[completes] == row.name)
                run_fleet(row.name, argv);
    if (completes) {
        complete(app, {given.begin() + 1, given.end()});
        return;
    }
    if (!given.empty() && !given.front().starts_with('-') && !subcommand_of(app, given.front()))
        throw text::usage_error(fmt::format("there is no command {}", given.front()),
                                text::did_you_mean(given.front(), names_of_subcommands(app),
                                                   "`user-events --help` lists the commands"));
    const auto dashes = std::find(given.begin(), given.end(), "--");
    if (dashes != given.end() && programs().count(given.front())) {
        programs()[given.front()]->assign(dashes + 1, given.end());
        given.erase(dashes, given.end());
    }
    if (!given.empty() && configs().count(given.front())) {
        const CLI::App& chosen = *subcommand_of(app, given.front());
        if (const auto path = config_of(chosen, given); !path.empty())
            append_config(chosen, path, given);
    }
    split_empty_values(given);
    // CLI11 wants it so.
    std::reverse(given.begin(), given.end());
    try {
        app.parse(std::move(given));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) { // --help
            app.exit(error);
            return;
        }
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
