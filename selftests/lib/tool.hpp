// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "tracing.hpp"
#include "user_events.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace selftest {

/// A folder of the test's own, removed with the object.
class Folder {
public:
    Folder() : path_("/tmp/" + unique_name("tools")) { std::filesystem::create_directory(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

/// Runs a shell command and returns its standard output. Throws std::runtime_error, with what it
/// said, where it fails.
std::string output_of(const Folder& folder, const std::string& command);

/// Runs a tool around a command that says that the tool records by now, and waits until `body` has
/// run. The command takes the place of WAIT, or else the end. Returns what the tool wrote to its
/// standard output.
std::string record_with(const Folder& folder, const std::string& tool,
                        const std::function<void()>& body);

/// An event that a shell can record, too: it inherits the open file.
struct ShellEvent {
    ShellEvent();

    Outcome record(std::uint8_t a) { return file.record(index, Payload().add(a)); }
    /// Makes a shell command of which the shell writes a record with a=1 and a child of it one with
    /// a=2.
    std::string command(const Folder& folder) const;
    std::string full_name() const { return event.system() + ":" + event.name(); }

    Word word{0};
    DataFile file;
    const Event event;
    const std::uint32_t index;

private:
    /// The file once more, for commands to inherit.
    Descriptor inherited_;
};

/// What stands behind the event's name in each line about it.
std::vector<std::string> fields_in(const std::string& text, const Event& event);

} // namespace selftest
