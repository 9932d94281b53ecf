// SPDX-License-Identifier: GPL-2.0-only
#include "tool.hpp"

#include "deadline.hpp"
#include "text_file.hpp"

#include <cstdlib>
#include <future>
#include <stdexcept>

namespace selftest {

std::string output_of(const Folder& folder, const std::string& command) {
    const std::string out = folder.file("out"), err = folder.file("err");
    const int status = std::system(("(" + command + ") >" + out + " 2>" + err).c_str());
    if (status != 0)
        throw std::runtime_error(command + ": status " + std::to_string(status) + ": " +
                                 read_text(err));
    return read_text(out);
}

std::string record_with(const Folder& folder, const std::string& tool,
                        const std::function<void()>& body) {
    const std::string started = folder.file("started"), done = folder.file("done");
    const std::string script = folder.file("wait");
    for (const std::string& earlier : {started, done})
        std::filesystem::remove(earlier);
    expect(write_text(script,
                      "echo >" + started + "\nwhile [ ! -e " + done + " ]; do sleep 0.05; done\n",
                      O_CREAT),
           "write " + script);
    const std::string wait = "/bin/sh " + script;
    const std::size_t place = tool.find("WAIT");
    const std::string command =
        place == std::string::npos ? tool + " " + wait : std::string(tool).replace(place, 4, wait);
    auto output = std::async(std::launch::async, [&] { return output_of(folder, command); });
    const bool recording = eventually([&] {
        return exists(started) ||
               output.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    if (recording && exists(started))
        body();
    expect(write_text(done, "1", O_CREAT), "write " + done);
    std::string written = output.get();
    if (!recording)
        throw std::runtime_error("nothing was started by " + tool);
    return written;
}

ShellEvent::ShellEvent()
    : event(unique_name("shell")), index(file.index_of(&word, 0, event.name() + " u8 a")),
      inherited_(dup(file.descriptor())) {
    // All that the shell's language has a word for.
    if (index != 0 || inherited_.number() < 0 || inherited_.number() > 9)
        throw std::runtime_error("a file that a shell can't write to");
}

std::string ShellEvent::command(const Folder& folder) const {
    const auto write = [&](const char* a) {
        return "printf '\\000\\000\\000\\000\\" + std::string(a) + "' >&" +
               std::to_string(inherited_.number());
    };
    const std::string script = folder.file("writes");
    expect(write_text(script, write("001") + "\n(" + write("002") + ")\n:\n", O_CREAT), script);
    return "/bin/sh " + script;
}

std::vector<std::string> fields_in(const std::string& text, const Event& event) {
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

} // namespace selftest
