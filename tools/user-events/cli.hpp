// SPDX-License-Identifier: GPL-2.0-or-later
// The command line. Only cli.cpp includes CLI11, which takes long to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tool {

class arguments;

/// What runs a command after its arguments have been read. It returns if the command succeeded, and
/// throws text::failure, text::usage_error or text::silent_failure if not.
using action = std::function<void()>;

/// A command. `declare` declares its arguments; they have to live as long as the action. `declare`
/// is null for a command that another program has, see fleet.hpp.
struct command {
    const char* name;
    const char* summary;
    action (*declare)(arguments&);
};

/// An option in the file of --config. A list has several values, a Boolean is "true" or "false".
struct config_entry {
    std::string name;
    std::vector<std::string> values;
};

/// Reads what the file has for this command, one of those that may have a table there.
using config_reader = std::vector<config_entry> (*)(const std::string& path,
                                                    const std::string& command,
                                                    const std::vector<std::string>& commands);

/// Declares the arguments of a command. A value keeps what it had if the user does not give it.
class arguments {
public:
    explicit arguments(CLI::App& app) : app_(app) {}

    /// Arguments without a name; `name` is that of --help, a word without punctuation.
    void positional(const char* name, std::string& value, const char* help);
    void optional_positional(const char* name, std::string& value, const char* help);
    void positionals(const char* name, std::vector<std::string>& values, const char* help);
    void required_positionals(const char* name, std::vector<std::string>& values, const char* help);
    /// What follows `--`, a program and its arguments. Without it, `--` only ends the options.
    void program(std::vector<std::string>& values, const char* help);

    /// Options. The names are as in "-o,--output".
    void flag(const char* names, bool& value, const char* help);
    void option(const char* names, const char* type, std::string& value, const char* help);
    /// One of the words, which the help lists; others are a usage error. Has to be given if the
    /// value is empty. `name` is one name: "--format".
    void choice(const char* name, const char* type, std::string& value,
                const std::vector<std::string>& words, const std::string& help = {});
    /// The same, but it need not be given, and the action has to accept or refuse what is given.
    void open_choice(const char* name, const char* type, std::string& value,
                     const std::vector<std::string>& words, const std::string& help);
    void required_option(const char* names, const char* type, std::string& value, const char* help);
    void option(const char* names, const char* type, std::uint64_t& value, const char* help);
    /// May be given several times.
    void option(const char* names, const char* type, std::vector<std::string>& values,
                const char* help);
    /// A duration such as `90`, `1.5s`, `200ms`, `5m` or `1h`, in seconds.
    void duration(const char* names, double& seconds, const char* help);
    /// A size such as `64k`, `10M` or `2G`, in bytes.
    void size(const char* names, std::uint64_t& bytes, const char* help);

    /// Adds --config, the path of a file, and --check. The file has the other options, and with the
    /// name `pattern` the arguments without a name; an option on the command line replaces that of
    /// the file, patterns are added.
    void config(std::string& path, config_reader reader);

    /// A command of this command, such as `rules add`. One of them has to be given.
    void subcommand(const command& command);

private:
    CLI::App& app_;
};

/// Whether --check was given: the action only checks its arguments.
bool is_only_checked();

/// Thrown by an action that has ended so that the command begins again with what the file of
/// --config has now.
struct restart {};

/// Runs the command that the arguments name, one of these. Throws text::usage_error if the
/// arguments make no sense.
void run_command_line(std::span<const command> commands, int argc, char** argv);

} // namespace tool
