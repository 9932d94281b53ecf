// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "registered.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace selftest {

/// A temporary directory, removed with its contents at the end of the object's lifetime.
class TemporaryDirectory {
public:
    TemporaryDirectory() : path_("/tmp/" + unique_name("tools")) {
        std::filesystem::create_directory(path_);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    /// Returns the path of a file in the directory.
    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

/// Runs a shell command and returns its standard output. Throws std::runtime_error, with its
/// standard error, if it fails.
std::string output_of(const TemporaryDirectory& directory, const std::string& command);

/// Runs `body` while a tool records, and returns the tool's standard output. `tool` is a command
/// line that records another command, which replaces WAIT or is appended. That other command starts
/// `body` and waits for its end. Throws std::runtime_error if the tool fails or does not start that
/// command.
std::string record_with(const TemporaryDirectory& directory, const std::string& tool,
                        const std::function<void()>& body);

/// An event with a field "u8 a" that a shell command can record: it inherits the open file.
struct ShellEvent : Registered {
    /// Throws std::runtime_error if the file's number has more than one digit.
    ShellEvent();

    /// Writes a record.
    Outcome record(std::uint8_t a) { return Registered::record(Payload().add(a)); }
    /// Returns a shell command. The shell writes a record with a=1, a child of the shell one with
    /// a=2.
    std::string command(const TemporaryDirectory& directory) const;

private:
    /// A duplicate of the file, without O_CLOEXEC.
    Descriptor inherited_;
};

/// Returns what follows "NAME:" in each line of a tool's output that contains it.
std::vector<std::string> printed_fields(const std::string& text, const Event& event);

/// A file that Debian's perf or trace-cmd records and reports.
class ToolFile {
public:
    enum Tool { perf, trace_cmd };
    explicit ToolFile(Tool tool) : tool_(tool) {}

    /// Returns the command that records with these options. The command to record may follow.
    std::string record_command(const std::string& options) const;
    /// Records with these options while `body` runs, as record_with() does.
    void record(const std::string& options, const std::function<void()>& body) const;
    /// Returns what the tool's command for it reports of the file: "script", "report". perf's
    /// warnings are left out.
    std::string report(const std::string& command) const;
    /// Returns the printed_fields() of an event in the report.
    std::vector<std::string> fields(const Event& event) const;

    const TemporaryDirectory directory;

private:
    Tool tool_;
};

} // namespace selftest
