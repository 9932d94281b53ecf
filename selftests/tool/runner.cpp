// SPDX-License-Identifier: GPL-2.0-only
// Runs the tests of the command line tool. The program tool_NAME runs those in /tool/NAME.test, and
// prints TAP. A test is a block of lines, which an empty line ends:
//
//	NAME		what the tool does, in the present tense
//	BEFORE		a shell command that prepares it; several lines are one script, as for RUN
//	RUN		the shell commands under test, with BEFORE in one shell
//	STATUS		their exit status, 0 if the line is missing
//	EXPECT		text that their output has; the next EXPECT is looked for behind it
//	EXPECT_REGEX	the same, as a regular expression (ECMAScript)
//	EXPECT_NONE	text that the output does not have
//	NEEDS		module or in-tree: the test is for this implementation of user_events only
//	AFTER		cleans up, whatever the result was
//	TIMEOUT		seconds for the test, and as many for AFTER; 400 if the line is missing
//
// Lines with a # at the beginning are comments. The output is that of stdout and stderr; escape
// sequences of the tests (\n, \e, \t, \xNN) are allowed in EXPECT. After each test,
// tracing has to be as it was before: its instances, its rules and the enabled events.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <poll.h>
#include <regex>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

/// What the scripts begin with.
constexpr char prelude[] = R"sh(
T=/sys/kernel/tracing
# Waits until a command succeeds; the time limit of the test ends it.
wait_for() { until eval "$1" >/dev/null 2>&1; do sleep 0.1; done; }
# Instances of the tool in which everything is in place. A new instance records, by its own
# clock: the tool sets tracing_on to 0, then the clock, and tracing_on to 1 at the end.
ready_instances() { for i in $T/instances/user-events.*; do grep -q "\[mono\]" $i/trace_clock && grep -q 1 $i/tracing_on && echo $i; done; }
# Waits until there are so many. The first one is $instance.
wait_for_instances() { wait_for '[ $(ready_instances | wc -l) = '$1' ]'; instance=$(ready_instances | head -n 1); }
wait_for_instance() { wait_for_instances 1; }
export LC_CTYPE=C.UTF-8
# A terminal of 80 columns and 24 lines, on which a command runs. It ends with the command.
terminal() { tmux kill-server 2>/dev/null; TERM=screen tmux -f /dev/null new-session -d -x 80 -y 24 -s t "export TERM=screen; $1"; }
screen() { tmux capture-pane -p -t t; }
keys() { tmux send-keys -t t "$@"; }
# Until the command has ended, the events cannot be deleted: it has enabled them.
quit() { keys q; wait_for '! tmux has-session -t t'; }
cd /tmp
)sh";

enum class found_by { text, regex, nothing };

struct expectation {
    found_by kind;
    std::string wanted;
};

struct test {
    std::string name, before, run, after, needs;
    std::vector<expectation> expected;
    int status = 0;
    int timeout = 400;
};

[[noreturn]] void die(const std::string& about, const std::string& reason) {
    std::cout << "Bail out! " << about << ": " << reason << std::endl;
    std::exit(1);
}

std::string unescaped(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); i++) {
        const char next = text[i] == '\\' && i + 1 < text.size() ? text[++i] : '\0';
        switch (next) {
        case '\0':
            result += text[i];
            break;
        case 'n':
            result += '\n';
            break;
        case 't':
            result += '\t';
            break;
        case 'e':
            result += '\x1b';
            break;
        case 'x':
            result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
            break;
        default:
            result += next;
        }
    }
    return result;
}

std::vector<test> read_tests(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        die(path, "cannot be read");
    std::vector<test> tests;
    bool open = false;
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) {
            open = false;
            continue;
        }
        if (line[0] == '#')
            continue;
        const auto space = line.find(' ');
        const std::string key = line.substr(0, space);
        const std::string text = space == line.npos ? "" : line.substr(space + 1);
        if (key == "NAME") {
            if (open)
                die(path, "an empty line is missing before " + line);
            tests.emplace_back().name = text;
            open = true;
            continue;
        }
        if (!open)
            die(path, "NAME is missing before " + line);
        test& current = tests.back();
        if (key == "BEFORE")
            (current.before += text) += '\n';
        else if (key == "RUN")
            (current.run += text) += '\n';
        else if (key == "AFTER")
            (current.after += text) += '\n';
        else if (key == "NEEDS" && (text == "module" || text == "in-tree"))
            current.needs = text;
        else if (key == "STATUS")
            current.status = std::stoi(text);
        else if (key == "TIMEOUT")
            current.timeout = std::stoi(text);
        else if (key == "EXPECT")
            current.expected.push_back({found_by::text, unescaped(text)});
        else if (key == "EXPECT_REGEX")
            current.expected.push_back({found_by::regex, text});
        else if (key == "EXPECT_NONE")
            current.expected.push_back({found_by::nothing, unescaped(text)});
        else
            die(path, "no such key: " + line);
    }
    return tests;
}

struct result {
    std::string output;
    int status = -1;
    bool timed_out = false;
};

/// Runs a script in a session of its own, which is killed at the end.
result run(const std::string& script, int timeout) {
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        die("pipe2", "fails");
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        dup2(pipes[1], 1);
        dup2(pipes[1], 2);
        const int none = open("/dev/null", O_RDONLY);
        dup2(none, 0);
        execl("/bin/sh", "sh", "-c", (prelude + script).c_str(), nullptr);
        _exit(127);
    }
    close(pipes[1]);
    result found;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(timeout);
    // Whatever the script has left running keeps the pipe open.
    for (bool exited = false;;) {
        pollfd file{pipes[0], POLLIN, 0};
        const bool readable = poll(&file, 1, exited ? 0 : 20) > 0;
        char buffer[4096];
        const ssize_t size = readable ? read(pipes[0], buffer, sizeof(buffer)) : 0;
        if (size > 0) {
            found.output.append(buffer, static_cast<std::size_t>(size));
            continue;
        }
        if (exited)
            break;
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child) {
            exited = true;
            found.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        } else if (std::chrono::steady_clock::now() > end) {
            found.timed_out = true;
            // So that the tool can put tracing back.
            kill(-child, SIGTERM);
            kill(-child, SIGCONT);
            usleep(2'000'000);
            kill(-child, SIGKILL);
            waitpid(child, &status, 0);
            break;
        }
    }
    kill(-child, SIGKILL);
    close(pipes[0]);
    return found;
}

std::string contents(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// What the tool has to leave as it was.
std::string state_of_tracing() {
    const std::string tracing = "/sys/kernel/tracing/";
    std::vector<std::string> instances;
    for (const auto& entry : std::filesystem::directory_iterator(tracing + "instances"))
        instances.push_back(entry.path().filename());
    std::sort(instances.begin(), instances.end());
    std::string state = "instances:";
    for (const auto& name : instances)
        (state += ' ') += name;
    return state + "\nrules:\n" + contents(tracing + "user_events_rules") + "enabled:\n" +
           contents(tracing + "set_event");
}

/// Returns what is wrong, or an empty text.
std::string problem_of(const test& test, const result& found) {
    if (found.timed_out)
        return "it runs for longer than " + std::to_string(test.timeout) + " s";
    if (found.status != test.status)
        return "the exit status is " + std::to_string(found.status) + " instead of " +
               std::to_string(test.status);
    std::size_t from = 0;
    for (const auto& expected : test.expected) {
        const std::string rest = found.output.substr(from);
        if (expected.kind == found_by::nothing) {
            if (found.output.find(expected.wanted) != std::string::npos)
                return "the output has: " + expected.wanted;
        } else if (expected.kind == found_by::regex) {
            std::smatch match;
            if (!std::regex_search(rest, match, std::regex(expected.wanted)))
                return "the output does not match: " + expected.wanted;
            from += static_cast<std::size_t>(match.position() + match.length());
        } else {
            const auto at = rest.find(expected.wanted);
            if (at == std::string::npos)
                return "the output lacks: " + expected.wanted;
            from += at + expected.wanted.size();
        }
    }
    return "";
}

void print_comment(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        // Control characters would confuse readers of TAP.
        for (char& character : line)
            if (static_cast<unsigned char>(character) < ' ')
                character = '?';
        std::cout << "# " << line << "\n";
    }
}

} // namespace

int main(int, char** argv) {
    std::string name = std::filesystem::path(argv[0]).filename();
    if (name.starts_with("tool_"))
        name.erase(0, 5);
    // For su.
    if (!std::filesystem::exists("/etc/passwd")) {
        std::filesystem::create_directory("/etc");
        std::ofstream("/etc/passwd") << "root:x:0:0:root:/root:/bin/sh\n"
                                        "guest:x:65534:65534:guest:/tmp:/bin/sh\n";
    }
    auto tests = read_tests("/tool/" + name + ".test");
    const std::string here =
        std::filesystem::exists("/sys/module/user_events") ? "module" : "in-tree";
    std::erase_if(tests,
                  [&](const test& test) { return !test.needs.empty() && test.needs != here; });
    std::cout << "1.." << tests.size() << std::endl;
    int number = 0, failures = 0;
    for (const test& test : tests) {
        const std::string before = state_of_tracing();
        const result found = run(test.before + test.run, test.timeout);
        std::string problem = problem_of(test, found);
        if (!test.after.empty()) {
            const result cleaned = run(test.after, test.timeout);
            if (problem.empty() && cleaned.timed_out)
                problem = "AFTER runs for longer than " + std::to_string(test.timeout) + " s";
            if (problem.empty() && cleaned.status != 0)
                problem = "AFTER fails: " + cleaned.output;
        }
        const std::string after = state_of_tracing();
        if (problem.empty() && after != before)
            problem.append("tracing is not as it was. Before:\n")
                .append(before)
                .append("After:\n")
                .append(after);
        std::cout << (problem.empty() ? "ok " : "not ok ") << ++number << " - " << test.name
                  << std::endl;
        if (!problem.empty()) {
            failures++;
            print_comment(problem);
            print_comment("RUN\n" + test.before + test.run + "printed:\n" + found.output);
            std::cout.flush();
        }
    }
    return failures == 0 ? 0 : 1;
}
