// SPDX-License-Identifier: GPL-2.0-only
#include "tool.hpp"

#include "deadline.hpp"
#include "text_file.hpp"

#include <cstdlib>
#include <future>
#include <stdexcept>

namespace selftest {

std::string output_of(const TemporaryDirectory& directory, const std::string& command) {
    const std::string out = directory.file("out"), err = directory.file("err");
    const int status = std::system(("(" + command + ") >" + out + " 2>" + err).c_str());
    if (status != 0)
        throw std::runtime_error(command + ": status " + std::to_string(status) + ": " +
                                 read_text(err));
    return read_text(out);
}

std::string record_with(const TemporaryDirectory& directory, const std::string& tool,
                        const std::function<void()>& body) {
    const std::string started = directory.file("started"), done = directory.file("done");
    const std::string script = directory.file("wait");
    for (const std::string& earlier : {started, done})
        std::filesystem::remove(earlier);
    expect(write_text(script,
                      "echo >" + started + "\nwhile [ ! -e " + done + " ]; do sleep 0.05; done\n",
                      O_CREAT),
           "write " + script);
    const std::string wait = "/bin/sh " + script;
    const std::size_t at = tool.find("WAIT");
    const std::string command =
        at == std::string::npos ? tool + " " + wait : std::string(tool).replace(at, 4, wait);
    auto output = std::async(std::launch::async, [&] { return output_of(directory, command); });
    const bool recording = eventually([&] {
        return exists(started) ||
               output.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (recording && exists(started))
        body();
    expect(write_text(done, "1", O_CREAT), "write " + done);
    std::string written = output.get();
    if (!recording)
        throw std::runtime_error("timeout: the tool has not started its command: " + tool);
    return written;
}

ShellEvent::ShellEvent() : Registered(" u8 a"), inherited_(dup(file.descriptor())) {
    // The shell's >&N takes one digit.
    if (index != 0 || inherited_.number() < 0 || inherited_.number() > 9)
        throw std::runtime_error("a shell cannot write to descriptor " +
                                 std::to_string(inherited_.number()));
}

std::string ShellEvent::command(const TemporaryDirectory& directory) const {
    const auto write = [&](const char* a) {
        return "printf '\\000\\000\\000\\000\\" + std::string(a) + "' >&" +
               std::to_string(inherited_.number());
    };
    const std::string script = directory.file("writes");
    expect(write_text(script, write("001") + "\n(" + write("002") + ")\n:\n", O_CREAT), script);
    return "/bin/sh " + script;
}

std::vector<std::string> printed_fields(const std::string& text, const Event& event) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(text)) {
        const std::size_t name = line.find(event.name() + ":");
        if (name == std::string::npos)
            continue;
        const std::string rest = line.substr(name + event.name().size() + 1);
        const std::size_t start = rest.find_first_not_of(' ');
        found.push_back(start == std::string::npos ? "" : rest.substr(start));
    }
    return found;
}

std::string ToolFile::record_command(const std::string& options) const {
    // perf takes half its time to record the BPF programs that are loaded, which is not tested.
    return (tool_ == perf ? "perf record -q --no-bpf-event --no-buildid "
                          : "trace-cmd record -q ") +
           options + " -o " + directory.file("recorded");
}

void ToolFile::record(const std::string& options, const std::function<void()>& body) const {
    record_with(directory, record_command(options), body);
}

std::string ToolFile::report(const std::string& command) const {
    return output_of(directory, (tool_ == perf ? "perf " : "trace-cmd ") + command + " -i " +
                                    directory.file("recorded") +
                                    (tool_ == perf ? " 2>/dev/null" : ""));
}

std::vector<std::string> ToolFile::fields(const Event& event) const {
    return printed_fields(report(tool_ == perf ? "script -F event,trace" : "report"), event);
}

} // namespace selftest
