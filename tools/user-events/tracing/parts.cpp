// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/parts.hpp"

#include "text/errors.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tool::tracing {

namespace {

constexpr std::string_view old_suffix = ".old";

/// Calls the function with each name in the directory of PATH that begins with its last component
/// and a point: with what is behind that.
template <typename Function>
void for_each_suffix(const std::string& path, Function function) {
    const auto slash = path.rfind('/');
    const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
    const std::string prefix = path.substr(slash == path.npos ? 0 : slash + 1) + ".";
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error))
        if (const auto name = at->path().filename().string(); name.starts_with(prefix))
            function(std::string_view(name).substr(prefix.size()));
}

/// The files PATH.cpu0 and so on, without those that were set aside.
std::vector<std::string> cpu_names(const std::string& path) {
    constexpr std::string_view cpu = "cpu";
    std::vector<std::string> names;
    for_each_suffix(path, [&](std::string_view name) {
        if (name.starts_with(cpu) && name.size() > cpu.size() &&
            name.find_first_not_of("0123456789", cpu.size()) == name.npos)
            names.push_back(fmt::format("{}.{}", path, name));
    });
    return names;
}

} // namespace

std::string part_name(const std::string& path, std::uint64_t number) {
    return fmt::format("{}.{:06}", path, number);
}

std::vector<std::uint64_t> part_numbers(const std::string& path, std::string_view suffix) {
    constexpr std::size_t digits = 6;
    std::vector<std::uint64_t> result;
    for_each_suffix(path, [&](std::string_view name) {
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        const auto size = static_cast<std::size_t>(end - name.data());
        if (error == std::errc() && size >= digits && name.substr(size).starts_with(suffix) &&
            (suffix.empty() ? size == name.size() : !name.ends_with(old_suffix)))
            result.push_back(number);
    });
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

std::string restore_command(const std::string& path, std::string_view suffix) {
    const bool is_plain = std::all_of(path.begin(), path.end(), [](unsigned char letter) {
        return std::isalnum(letter) || letter > 0x7f || std::strchr("_-./+,:@%=", letter);
    });
    if (is_plain)
        return fmt::format("trace-cmd restore -o OTHER $(ls -v {}.cpu*{})", path, suffix);
    std::string quoted;
    for (const char letter : path)
        quoted += letter == '\'' ? R"('"'"')" : std::string(1, letter);
    return fmt::format("ls -v --zero '{}'.cpu*{} | xargs -0 trace-cmd restore -o OTHER", quoted,
                       suffix);
}

void remove_unfinished(const std::string& path, std::uint64_t number) {
    for (const auto& name : cpu_names(part_name(path, number)))
        unlink(name.c_str());
}

void set_aside_unfinished(const std::string& path) {
    bool has_records = false;
    auto names = cpu_names(path);
    std::erase_if(names, [&](const std::string& name) {
        struct stat found {};
        const bool is_file = lstat(name.c_str(), &found) == 0 && S_ISREG(found.st_mode);
        has_records |= is_file && found.st_size > 0;
        return !is_file;
    });
    if (!has_records)
        return;
    // Empty ones, too: trace-cmd restore counts the CPUs by their files.
    for (const auto& name : names)
        if (const std::string old = fmt::format("{}{}", name, old_suffix);
            rename(name.c_str(), old.c_str()) != 0)
            throw text::file_failure(errno, "write", old);
    text::warn(fmt::format("an earlier recording of {0} was not finished: its records are now in "
                           "{0}.cpu0.old and so on",
                           path),
               fmt::format("`{}` makes a file of them", restore_command(path, old_suffix)));
}

void keep_parts(const std::string& path, std::uint64_t most) {
    const auto numbers = part_numbers(path);
    for (std::size_t i = 0; i + most < numbers.size(); i++) {
        const std::string name = part_name(path, numbers[i]);
        struct stat found {};
        if (lstat(name.c_str(), &found) == 0 && S_ISREG(found.st_mode))
            unlink(name.c_str());
    }
}

struct part_writer::job {
    job(trace_dat what, const instance& from, cpu_files files, const std::string& path,
        std::uint64_t most)
        : what(std::move(what)), files(std::move(files)), run([&, path, most] {
              write_trace_dat(this->what, from, this->files);
              this->files.remove();
              keep_parts(path, most);
              is_done = true;
          }) {}

    trace_dat what;
    cpu_files files;
    std::atomic<bool> is_done = false;
    // The last one: its thread uses the others.
    worker run;
};

part_writer::part_writer(std::string path, std::uint64_t most)
    : path_(std::move(path)), most_(most) {}

part_writer::~part_writer() = default;

bool part_writer::is_busy() const noexcept {
    return job_ && !job_->is_done;
}

void part_writer::start(trace_dat what, const instance& from, cpu_files files) {
    finish();
    job_ = std::make_unique<job>(std::move(what), from, std::move(files), path_, most_);
}

void part_writer::finish() {
    if (job_)
        job_->run.join();
    job_.reset();
}

} // namespace tool::tracing
