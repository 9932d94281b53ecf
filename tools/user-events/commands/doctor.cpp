// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"
#include "text/output.hpp"
#include "tracing/data_file.hpp"
#include "tracing/events.hpp"
#include "tracing/live_reader.hpp"
#include "tracing/tracefs.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

namespace tool {

namespace {

namespace fs = std::filesystem;

enum class verdict { good, note, bad };

struct finding {
    const char* about;
    tool::verdict verdict;
    std::string found;
    std::string remedy;
};

std::string first_line(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

std::string release() {
    utsname system{};
    uname(&system);
    return system.release;
}

bool is_loaded() {
    return fs::exists("/sys/module/user_events");
}

finding kernel() {
    const std::string headers = fmt::format("/lib/modules/{}/build", release());
    const bool has_headers = fs::exists(headers + "/Makefile");
    return {
        "kernel", verdict::good,
        fmt::format("{}, {}", release(), has_headers ? "headers are installed" : "without headers"),
        ""};
}

finding secure_boot() {
    std::string lockdown = first_line("/sys/kernel/security/lockdown");
    if (const auto open = lockdown.find('['), close = lockdown.find(']');
        open != lockdown.npos && close != lockdown.npos)
        lockdown = lockdown.substr(open + 1, close - open - 1);
    if (lockdown.empty() || lockdown == "none")
        return {"lockdown", verdict::good, "the kernel is not locked down", ""};
    if (lockdown == "confidentiality")
        return {"lockdown", verdict::bad, "confidentiality: tracefs and perf are closed",
                "boot without lockdown=confidentiality"};
    return {"lockdown", is_loaded() ? verdict::good : verdict::note,
            fmt::format("{}: only signed modules load", lockdown),
            "sign the module: see Secure Boot in the administrator guide"};
}

finding module() {
    if (is_loaded())
        return {"user_events", verdict::good, "the module is loaded", ""};
    const auto& tracing = tracing::mount_point();
    if (!tracing.empty() && access((tracing + "/user_events_data").c_str(), F_OK) == 0)
        return {"user_events", verdict::note, "the kernel's own: without rules and marks", ""};
    if (fs::exists(fmt::format("/lib/modules/{}/build/Makefile", release())))
        return {"user_events", verdict::bad, "the module is not loaded",
                "modprobe user_events; if it is not installed: make && insmod user_events.ko"};
    return {"user_events", verdict::bad, "the module is not loaded, and the headers are missing",
            fmt::format("apt install linux-headers-{}; make; insmod user_events.ko", release())};
}

finding tracefs() {
    const auto& tracing = tracing::mount_point();
    if (tracing.empty())
        return {"tracefs", verdict::bad, "it is not mounted",
                "mount -t tracefs tracefs /sys/kernel/tracing"};
    if (access(tracing.c_str(), X_OK) != 0)
        return {"tracefs", verdict::bad,
                fmt::format("this user may not enter {}: programs cannot find events there, "
                            "and records cannot be read",
                            tracing),
                text::remedy_for(EACCES, tracing)};
    return {"tracefs", verdict::good, fmt::format("mounted on {}", tracing), ""};
}

finding writing() {
    try {
        const tracing::data_file file;
        return {"registering", verdict::good, "this user may register and write events", ""};
    } catch (const text::failure& error) {
        return {"registering", verdict::bad, error.what(), error.remedy()};
    }
}

finding marks() {
    static constexpr char device[] = "/dev/user_mark";
    if (access(device, W_OK) == 0)
        return {"marks", verdict::good, "this user may make marks", ""};
    return {"marks", verdict::note, fmt::format("{}: {}", device, std::strerror(errno)),
            text::remedy_for(errno, device)};
}

finding perf() {
    const std::string paranoid = first_line("/proc/sys/kernel/perf_event_paranoid");
    const bool may_not = geteuid() != 0 && std::atoi(paranoid.c_str()) > -1;
    return {"perf", may_not ? verdict::note : verdict::good,
            fmt::format("kernel.perf_event_paranoid is {}{}", paranoid,
                        may_not ? ": this user may not record tracepoints" : ""),
            may_not ? "sysctl kernel.perf_event_paranoid=-1, or give perf CAP_PERFMON" : ""};
}

finding limits() {
    const std::string most = first_line("/proc/sys/kernel/user_events_max");
    std::size_t number = 0;
    try {
        number = tracing::status().size();
    } catch (const text::failure&) {
        return {"limits", verdict::note, "the events cannot be counted", ""};
    }
    const bool is_full = !most.empty() && number + 1 >= std::strtoull(most.c_str(), nullptr, 10);
    return {"limits", is_full ? verdict::bad : verdict::good,
            fmt::format("{} of {} events exist", number, most),
            is_full ? "sysctl kernel.user_events_max=65000, or `user-events delete`" : ""};
}

/// Instances of processes that were killed.
finding left_instances() {
    std::vector<std::string> left;
    for (const auto& name : tracing::instance_names())
        if (name.starts_with(tracing::temporary_prefix) &&
            kill(std::atoi(name.c_str() + tracing::temporary_prefix.size()), 0) != 0 &&
            errno == ESRCH)
            left.push_back(name);
    if (left.empty())
        return {"instances", verdict::good, "no killed user-events has left an instance", ""};
    std::string names, remedy;
    for (const auto& name : left) {
        names += (names.empty() ? "" : ", ") + name;
        remedy += fmt::format("{}user-events doctor --remove {}", remedy.empty() ? "" : "; ", name);
    }
    return {"instances", verdict::bad, fmt::format("a killed user-events has left: {}", names),
            fmt::format("if it was a recording: user-events record --recover -o FILE; else: {}",
                        remedy)};
}

/// Registers an event, records it, and reads the record.
finding round_trip() {
    try {
        const auto in = tracing::instance::temporary("mono");
        tracing::data_file file;
        const std::string name = fmt::format("user_events_doctor_{}", getpid());
        const auto index = file.add(name + " u32 number", false);
        const std::string enable = "events/user_events/" + name + "/enable";
        in.write("tracing_on", "1");
        in.write(enable, "1");
        const bool is_enabled = file.is_enabled();
        const std::array number{std::byte(1), std::byte(2), std::byte(3), std::byte(4)};
        file.write(index, number);
        bool is_there = false;
        tracing::live_reader(in).read([&](const tracing::live_record& record) {
            is_there = record.data.size() >= 12 &&
                       std::memcmp(record.data.data() + 8, number.data(), 4) == 0;
            return true;
        });
        in.write(enable, "0");
        if (is_enabled && is_there && !file.is_enabled())
            return {"round trip", verdict::good, "an event was registered, recorded and read", ""};
        return {"round trip", verdict::bad,
                is_enabled ? "the record is not there" : "the enable bit was not set",
                "the kernel log may say why; report it as a bug"};
    } catch (const text::failure& error) {
        return {"round trip", verdict::bad, error.what(), error.remedy()};
    }
}

/// "trace-cmd version 3.1.6", or nothing.
std::string version_of(const char* command) {
    const std::unique_ptr<FILE, decltype(&pclose)> pipe(
        popen(fmt::format("{} 2>/dev/null", command).c_str(), "re"), pclose);
    std::array<char, 256> line{};
    while (pipe && std::fgets(line.data(), line.size(), pipe.get())) {
        std::string text(line.data());
        if (text.find_first_of("0123456789") == text.npos)
            continue;
        text.resize(std::min(text.find('\n'), text.size()));
        const auto start = text.find_first_not_of(" \t");
        return text.substr(start == text.npos ? 0 : start);
    }
    return {};
}

finding tools() {
    std::string found;
    for (const char* const command :
         {"trace-cmd --version", "perf --version", "bpftrace --version"})
        if (const auto version = version_of(command); !version.empty())
            found += (found.empty() ? "" : ", ") + version;
    const auto at = found.find("bpftrace v0.");
    const bool is_old = at != found.npos && std::atoi(found.c_str() + at + 12) < 18;
    return {"tools", is_old ? verdict::note : verdict::good,
            found.empty() ? "no trace-cmd, perf or bpftrace" : found,
            is_old ? "this bpftrace does not read __rel_loc: see Known limits of tools in the "
                     "user guide"
                   : ""};
}

std::vector<finding> examine() {
    std::vector<finding> result{kernel(),  secure_boot(), module(), tracefs(),
                                writing(), marks(),       perf(),   tools()};
    if (result[3].verdict == verdict::good) {
        result.push_back(limits());
        result.push_back(left_instances());
        if (result[4].verdict == verdict::good)
            result.push_back(round_trip());
    }
    return result;
}

/// What /proc has about a program.
std::vector<finding> examine(int id) {
    const std::string process = fmt::format("/proc/{}", id);
    if (!fs::exists(process))
        throw text::failure(fmt::format("there is no process {}", id));
    const std::string name = first_line(process + "/comm");
    if (access((process + "/fd").c_str(), R_OK | X_OK) != 0)
        throw text::failure(fmt::format("this user may not look at the process {} ({})", id, name),
                            "run it as root, or as the user of the process");
    for (const auto& found : tracing::processes_with_events())
        if (found.id == id)
            return {{"program", verdict::good,
                     fmt::format("{} ({}) has the events' file open: it can register and write "
                                 "events",
                                 name, id),
                     ""}};
    std::ifstream environment(process + "/environ");
    std::ostringstream text;
    text << environment.rdbuf();
    const bool is_off =
        ('\0' + text.str()).find(std::string("\0USER_EVENTS=off", 16)) != std::string::npos;
    return {{"program", verdict::bad,
             fmt::format("{} ({}) does not have the events' file open{}", name, id,
                         is_off ? ": USER_EVENTS=off is in its environment" : ""),
             is_off ? "start it without USER_EVENTS"
                    : "either it has no events, or it could not open the file when it began: see "
                      "what `user-events doctor` finds as its user"}};
}

void print(const std::vector<finding>& findings, bool as_json) {
    static constexpr const char* words[] = {"ok", "note", "FAILED"};
    static constexpr text::style styles[] = {text::style::green, text::style::yellow,
                                             text::style::red};
    auto json = nlohmann::ordered_json::array();
    for (const finding& finding : findings) {
        const auto index = static_cast<std::size_t>(finding.verdict);
        if (as_json) {
            json.push_back({{"check", finding.about},
                            {"verdict", words[index]},
                            {"found", finding.found},
                            {"remedy", finding.remedy}});
            continue;
        }
        text::print(fmt::format("{}{:<7}{} {:<12} {}\n", text::code(styles[index]), words[index],
                                text::code(text::style::plain), finding.about,
                                text::escaped(finding.found)));
        if (!finding.remedy.empty() && finding.verdict != verdict::good)
            text::print(fmt::format("{:21}{}\n", "", text::escaped(finding.remedy)));
    }
    if (as_json)
        text::print_json(json);
}

} // namespace

action doctor(arguments& with) {
    struct options {
        std::string process;
        std::string remove;
        bool json = false;
    };
    const auto given = std::make_shared<options>();
    with.optional_positional("PID", given->process, "a program: whether it can have events");
    with.option("--remove", "INSTANCE", given->remove,
                "remove an instance that a killed user-events has left");
    with.flag("--json", given->json, "print JSON");
    return [given] {
        if (!given->remove.empty()) {
            if (!given->remove.starts_with(tracing::temporary_prefix))
                throw text::usage_error(
                    fmt::format("{} is no instance of user-events", given->remove));
            (void)tracing::instance::existing(given->remove);
            tracing::instance::remove_left(given->remove);
            return;
        }
        if (given->process.find_first_not_of("0123456789") != std::string::npos)
            throw text::usage_error(
                fmt::format("\"{}\" is no number of a process", given->process));
        const auto findings =
            given->process.empty() ? examine() : examine(std::atoi(given->process.c_str()));
        print(findings, given->json);
        for (const finding& finding : findings)
            if (finding.verdict == verdict::bad) {
                text::flush();
                throw text::silent_failure();
            }
    };
}

} // namespace tool
