// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/resources.hpp"

#include "text/errors.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <pwd.h>
#include <sys/utsname.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tool::otlp {

namespace {

/// More processes than this are not remembered.
constexpr std::size_t most = 10'000;

/// The name of the first thread, or of the command if that begins with the same 15 characters,
/// which are all that the kernel has of a thread's name.
std::string command_of(int process) {
    const std::string thread = tracing::first_line(fmt::format("/proc/{}/comm", process));
    std::ifstream file(fmt::format("/proc/{}/cmdline", process));
    std::string command;
    std::getline(file, command, '\0');
    command.erase(0, command.rfind('/') + 1);
    return thread.size() == 15 && command.starts_with(thread) ? command : thread;
}

/// The executable's name. Only its own user and root may know that: for others, that of the
/// command.
std::string executable_of(int process) {
    std::error_code error;
    std::string path =
        std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), error).string();
    static constexpr std::string_view removed = " (deleted)";
    if (path.ends_with(removed))
        path.resize(path.size() - removed.size());
    return error ? command_of(process) : path.substr(path.rfind('/') + 1);
}

/// The last 64 hexadecimal digits in the process's control group, as container engines name them.
std::string container_of(int process) {
    std::ifstream file(fmt::format("/proc/{}/cgroup", process));
    std::string found;
    for (std::string line; std::getline(file, line);) {
        std::size_t digits = 0;
        for (std::size_t i = 0; i <= line.size(); i++) {
            if (i < line.size() && std::isxdigit(static_cast<unsigned char>(line[i]))) {
                digits++;
                continue;
            }
            if (digits == 64)
                found = line.substr(i - digits, digits);
            digits = 0;
        }
    }
    return found;
}

/// The user of a process, by name if it has one; empty if the process has ended. Not the owner of
/// its folder in /proc, which is root for some programs.
std::string owner_of(int process) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Uid:")) {
            const auto user = static_cast<uid_t>(std::strtoul(line.c_str() + 4, nullptr, 10));
            // The names may be on another machine, which takes time.
            static std::map<uid_t, std::string> names;
            const auto [known, is_new] = names.try_emplace(user, std::to_string(user));
            if (const passwd* const entry = is_new ? getpwuid(user) : nullptr)
                known->second = entry->pw_name;
            return known->second;
        }
    return {};
}

/// Between the parts of a key, none of which has it.
constexpr char separator = '\0';

/// Takes what is in front of the separator, or all.
std::string_view take_part(std::string_view& from, char separator) {
    const std::string_view result = from.substr(0, from.find(separator));
    from.remove_prefix(std::min(result.size() + 1, from.size()));
    return result;
}

/// Of another machine, no more is known than its name. The empty name is that of this machine.
void add_machine(attributes& to, const std::string& host) {
    utsname system{};
    uname(&system);
    const bool is_this = host.empty() || host == system.nodename;
    to.add("host.name", is_this ? system.nodename : host);
    if (const auto id = tracing::first_line("/etc/machine-id"); is_this && !id.empty())
        to.add("host.id", id);
    to.add("os.type", "linux");
    if (is_this)
        to.add("os.version", system.release);
}

} // namespace

std::map<std::string, std::string> to_services(const std::vector<std::string>& texts) {
    std::map<std::string, std::string> result;
    for (const auto& text : texts) {
        const auto equals = text.find('=');
        if (equals == text.npos || equals == 0 || equals + 1 == text.size())
            throw text::usage_error(fmt::format("--service {} makes no sense", text),
                                    "write it as PROGRAM=SERVICE");
        result[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return result;
}

resources::resources(std::map<std::string, std::string> services, bool is_here, std::string host)
    : services_(std::move(services)), is_here_(is_here), host_(std::move(host)) {
    attributes to(*own_.mutable_attributes());
    add_machine(to, "");
    to.add("service.name", "user-events");
}

resources::standing resources::standing_of(int process) const {
    if (!is_here_)
        return {};
    // The owner last: a process that has one then had a control group before.
    std::string container = container_of(process);
    return {std::move(container), owner_of(process)};
}

message::Resource resources::describe(int process, const std::string& host,
                                      const std::string& program, const service& own,
                                      const standing& has) const {
    message::Resource result;
    attributes to(*result.mutable_attributes());
    add_machine(to, host);
    const auto mapped = services_.find(program);
    to.add("service.name", mapped != services_.end() ? mapped->second
                           : own.name.empty()        ? program
                                                     : own.name);
    if (!own.instance.empty())
        to.add("service.instance.id", own.instance);
    to.add("process.pid", static_cast<std::int64_t>(process));
    to.add("process.executable.name", program);
    if (!has.owner.empty())
        to.add("process.owner", has.owner);
    if (!has.container.empty())
        to.add("container.id", has.container);
    return result;
}

const std::string& resources::key_of(const recording::record& record) {
    const int process = record.process();
    if (const auto known = keys_.find(process); known != keys_.end())
        return known->second;
    std::string program = is_here_ ? executable_of(process) : "";
    if (program.empty())
        program = record.process_name.empty() ? record.task : record.program();
    const std::string_view host = record.host.empty() ? host_ : record.host;
    if (keys_.size() > most)
        keys_.clear();
    return keys_[process] =
               fmt::format("{} {}{}{}", process - record.distance, host, separator, program);
}

std::string resources::key_of(const recording::record& record, const service& own) {
    const std::string& key = key_of(record);
    if (own.name.empty() && own.instance.empty())
        return key;
    return key + separator + own.name + separator + own.instance;
}

const message::Resource& resources::find(const std::string& key) {
    if (key.empty())
        return own_;
    const auto known = found_.find(key);
    if (known != found_.end() && (!is_here_ || known->second.refreshes == refreshes_))
        return known->second.resource;
    std::string_view rest = key;
    const std::string_view process = take_part(rest, ' ');
    const std::string host(take_part(rest, separator));
    const std::string program(take_part(rest, separator));
    const std::string name(take_part(rest, separator));
    const int number = std::atoi(process.data());
    const standing has = standing_of(number);
    // What is known of a process is still right when it has ended.
    if (known != found_.end() && has.owner.empty()) {
        known->second.refreshes = refreshes_;
        return known->second.resource;
    }
    if (found_.size() > most)
        found_.clear();
    auto made = describe(number, host, program, {name, std::string(rest)}, has);
    return (found_[key] = {std::move(made), refreshes_}).resource;
}

} // namespace tool::otlp
