// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/tracefs.hpp"

#include "text/errors.hpp"
#include "tracing/libtracefs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace tool::tracing {

namespace {

/// Unlike access(), also counts the capabilities of a process that is not root's.
bool can(int mode, const std::string& path) {
    return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

/// libtracefs mounts tracefs if it is not mounted. It must not get that far.
void require_mount() {
    if (mount_point().empty())
        throw text::failure("tracefs is not mounted",
                            "mount it: mount -t tracefs tracefs /sys/kernel/tracing");
    if (!can(X_OK, mount_point()))
        throw text::file_failure(errno, "enter", mount_point());
}

void require_name(const std::string& name) {
    if (name == "." || name == ".." || name.find('/') != name.npos)
        throw text::usage_error(fmt::format("\"{}\" is no name of an instance", name));
}

} // namespace

const std::string& mount_point() {
    static const std::string result = [] {
        const char* path = nullptr;
        if (tracefs_tracing_dir_is_mounted(false, &path) != 1 || !path)
            return std::string();
        // A single file or an instance of tracefs may be mounted, as in a container.
        const bool is_whole =
            can(F_OK, std::string(path) + "/instances") || (errno != ENOENT && errno != ENOTDIR);
        return is_whole ? std::string(path) : std::string();
    }();
    return result;
}

void instance::release::operator()(tracefs_instance* handle) const noexcept {
    tracefs_instance_free(handle);
}

instance instance::top() {
    require_mount();
    return {nullptr, "", false};
}

instance instance::existing(const std::string& name) {
    require_mount();
    if (name.empty())
        return top();
    require_name(name);
    if (!tracefs_instance_exists(name.c_str()))
        throw text::failure(fmt::format("there is no instance {}", name),
                            fmt::format("create it: mkdir {}/instances/{}", mount_point(), name));
    tracefs_instance* const handle = tracefs_instance_alloc(nullptr, name.c_str());
    if (!handle)
        throw text::file_failure(errno, "use the instance", name);
    return {handle, name, false};
}

instance instance::kept(const std::string& name) {
    require_mount();
    if (name.empty())
        return top();
    require_name(name);
    tracefs_instance* const handle = tracefs_instance_create(name.c_str());
    if (!handle)
        throw text::file_failure(errno, "create", mount_point() + "/instances/" + name);
    return {handle, name, false};
}

instance instance::temporary() {
    require_mount();
    std::string name = fmt::format("{}{}", temporary_prefix, getpid());
    // One that a killed process with this number has left.
    while (tracefs_instance_exists(name.c_str()))
        name += '+';
    tracefs_instance* const handle = tracefs_instance_create(name.c_str());
    if (!handle)
        throw text::file_failure(errno, "create", mount_point() + "/instances/" + name);
    instance created(handle, name, true);
    created.write("tracing_on", "0");
    created.write("trace_clock", "mono");
    return created;
}

std::optional<instance> instance::adopted(const std::string& name) {
    require_mount();
    // After another boot, the number may be that of another process.
    if (!name.starts_with(temporary_prefix) || !tracefs_instance_exists(name.c_str()) ||
        is_in_use(name))
        return {};
    return instance(tracefs_instance_alloc(nullptr, name.c_str()), name, true);
}

instance::~instance() {
    if (!handle_ || !is_own_ || is_left_)
        return;
    // Events and triggers that are left do not keep the instance; an open file does.
    if (tracefs_instance_destroy(handle_.get()) != 0)
        text::warn(fmt::format("cannot remove the instance {0}: rmdir {1}/instances/{0}", name_,
                               mount_point()));
}

instance instance::mounted(const std::string& directory) {
    std::error_code error;
    const auto path = std::filesystem::canonical(directory, error);
    if (!error && !std::filesystem::is_directory(path, error) && !error)
        error = std::make_error_code(std::errc::not_a_directory);
    if (error)
        throw text::file_failure(error.value(), "enter", directory);
    tracefs_instance* const handle = tracefs_instance_alloc(path.c_str(), nullptr);
    if (!handle)
        throw text::file_failure(errno, "enter", directory);
    instance result(handle, path, false);
    result.is_mounted_ = true;
    return result;
}

instance instance::copy() const {
    return is_mounted_ ? mounted(name_) : existing(name_);
}

std::string instance::path(std::string_view file) const {
    if (is_mounted_)
        return name_ + "/" + std::string(file);
    return mount_point() + (name_.empty() ? "" : "/instances/" + name_) + "/" + std::string(file);
}

bool instance::has(std::string_view file) const {
    return can(F_OK, path(file));
}

std::optional<std::string> instance::try_read(const std::string& file) const {
    int size = 0;
    std::error_code error;
    // Anybody may have made a directory: a pipe would be waited for.
    if (is_mounted_ && !std::filesystem::is_regular_file(path(file), error)) {
        errno = error ? error.value() : EINVAL;
        return {};
    }
    errno = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        tracefs_instance_file_read(handle_.get(), file.c_str(), &size), std::free);
    // For libtracefs an empty file is a failure, without an errno.
    if (!text)
        return errno ? std::nullopt : std::optional<std::string>("");
    return std::string(text.get(), static_cast<std::size_t>(std::max(size, 0)));
}

std::string instance::read(const std::string& file) const {
    if (auto result = try_read(file))
        return *result;
    throw text::file_failure(errno, "read", path(file));
}

int instance::try_write(const std::string& file, const std::string& text) const {
    return tracefs_instance_file_write(handle_.get(), file.c_str(), text.c_str()) < 0 ? errno : 0;
}

int instance::try_append(const std::string& file, const std::string& text) const {
    return tracefs_instance_file_append(handle_.get(), file.c_str(), text.c_str()) < 0 ? errno : 0;
}

void instance::write(const std::string& file, const std::string& text) const {
    if (const int error = try_write(file, text))
        throw text::file_failure(error, "write to", path(file));
}

std::vector<std::string> directories(const std::string& path) {
    std::vector<std::string> result;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
        std::error_code ignored;
        if (entry->is_directory(ignored))
            result.push_back(entry->path().filename());
    }
    std::sort(result.begin(), result.end());
    return result;
}

std::vector<int> processes() {
    std::vector<int> result;
    for (const auto& name : directories("/proc"))
        if (const int number = std::atoi(name.c_str()); number > 0)
            result.push_back(number);
    std::sort(result.begin(), result.end());
    return result;
}

std::string first_line(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

void instance::remove_left(const std::string& name) {
    const instance left(tracefs_instance_alloc(nullptr, name.c_str()), name, true);
}

std::vector<std::string> instance_names() {
    return directories(mount_point() + "/instances");
}

bool is_in_use(const std::string& name) {
    const int id = std::atoi(name.c_str() + temporary_prefix.size());
    return id != getpid() &&
           first_line(fmt::format("/proc/{}/comm", id)) == first_line("/proc/self/comm");
}

std::vector<instance> all_instances() {
    std::vector<instance> result;
    result.push_back(instance::top());
    for (const auto& name : instance_names()) {
        try {
            result.push_back(instance::existing(name));
        } catch (const text::failure&) {
            // It was removed just now.
        }
    }
    return result;
}

} // namespace tool::tracing
