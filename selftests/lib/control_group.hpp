// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "deadline.hpp"
#include "outcome.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace selftest {

/// A control group with a controller, for the lifetime of the object.
class ControlGroup {
public:
    /// Mounts the hierarchy. All such mounts show the same groups, so the group has a name of its
    /// own. Throws std::system_error.
    explicit ControlGroup(const std::string& controller)
        : root_("/tmp/" + unique_name("cgroup")), path_(root_ + "/" + unique_name("group")) {
        if (mkdir(root_.c_str(), 0755) != 0 ||
            mount("none", root_.c_str(), "cgroup2", 0, nullptr) != 0)
            throw_errno("mount cgroup2");
        expect(write_text(root_ + "/cgroup.subtree_control", "+" + controller), controller);
        if (mkdir(path_.c_str(), 0755) != 0)
            throw_errno("mkdir " + path_);
    }
    ControlGroup(const ControlGroup&) = delete;
    ControlGroup& operator=(const ControlGroup&) = delete;
    ~ControlGroup() {
        eventually([&] { return rmdir(path_.c_str()) == 0; });
        umount(root_.c_str());
        rmdir(root_.c_str());
    }

    const std::string& path() const { return path_; }
    void set(const std::string& file, const std::string& value) const {
        expect(write_text(path_ + "/" + file, value), file);
    }
    std::string read(const std::string& file) const { return read_text(path_ + "/" + file); }
    /// Moves the calling process into the group.
    void enter() const { set("cgroup.procs", "0"); }

private:
    const std::string root_, path_;
};

} // namespace selftest
