// SPDX-License-Identifier: GPL-2.0-or-later
// tracefs and its instances, over libtracefs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct tracefs_instance;

namespace tool::tracing {

/// Where tracefs is mounted; empty if it is not. Does not mount it, as libtracefs would.
const std::string& mount_point();

/// An ftrace instance. Paths are relative to its directory. The functions throw text::failure,
/// with a remedy.
class instance {
public:
    /// The top-level instance.
    static instance top();
    /// Throws if it does not exist. An empty name means the top-level instance.
    static instance existing(const std::string& name);
    /// The same, but creates it if it does not exist.
    static instance kept(const std::string& name);
    /// An instance of this process, with the clock mono and tracing_on 0. It is removed at the end
    /// of the object's lifetime, so a program that waits has to end by returning: see stop_signals.
    static instance temporary();

    /// An instance that a killed process has left. It goes on recording. This process owns it from
    /// now on, as if it had made it with temporary(). Nothing if it does not exist.
    static std::optional<instance> adopted(const std::string& name);

    /// The instance whose files are in this directory, such as those that are bind-mounted into a
    /// container. Nothing is changed there. See open_mounted().
    static instance mounted(const std::string& directory);

    /// Removes an instance that a killed process has left. Remove the rules for the instance first.
    static void remove_left(const std::string& name);

    instance(instance&&) noexcept = default;
    instance& operator=(instance&&) = delete;
    ~instance();

    /// Leaves an instance that would be removed, for adopted() of another process.
    void leave() noexcept { is_left_ = true; }
    /// Undoes leave().
    void take_back() noexcept { is_left_ = false; }

    /// The same instance. It is not removed with the copy.
    instance copy() const;
    /// What has the names of threads: this instance if it is mounted, otherwise the top-level one.
    instance with_names() const { return is_mounted_ ? copy() : top(); }

    /// The name; empty for the top-level instance. Of one that is mounted, its directory.
    const std::string& name() const noexcept { return name_; }
    bool is_mounted() const noexcept { return is_mounted_; }
    std::string path(std::string_view file) const;

    bool has(std::string_view file) const;
    std::string read(const std::string& file) const;
    /// Returns nothing if it cannot be read.
    std::optional<std::string> try_read(const std::string& file) const;
    void write(const std::string& file, const std::string& text) const;
    /// Returns 0 or an errno.
    int try_append(const std::string& file, const std::string& text) const;
    int try_write(const std::string& file, const std::string& text) const;

private:
    struct release {
        void operator()(tracefs_instance* handle) const noexcept;
    };
    instance(tracefs_instance* handle, std::string name, bool is_own)
        : handle_(handle), name_(std::move(name)), is_own_(is_own) {}

    std::unique_ptr<tracefs_instance, release> handle_;
    std::string name_;
    /// Whether it is removed with the object, unless it is left.
    bool is_own_;
    bool is_left_ = false;
    bool is_mounted_ = false;
};

/// The names of all instances, without the top-level one.
std::vector<std::string> instance_names();

/// Whether a temporary() instance is of another process that still runs. The kernel reuses process
/// numbers. So a process with this number counts only if it has the same name as this process.
bool is_in_use(const std::string& name);

/// The top-level instance, and the others that exist.
std::vector<instance> all_instances();

/// The names of the directories in a directory of tracefs, sorted.
std::vector<std::string> directories(const std::string& path);

/// The numbers of all processes, sorted.
std::vector<int> processes();

/// The first line of a file; empty if it cannot be read.
std::string first_line(const std::string& path);

/// What the names of temporary() instances begin with; the number of the process follows.
inline constexpr std::string_view temporary_prefix = "user-events.";

} // namespace tool::tracing
