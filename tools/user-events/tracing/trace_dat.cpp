// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/trace_dat.hpp"

#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "text/new_file.hpp"
#include "tracing/libtracefs.hpp"
#include "tracing/live_reader.hpp"
#include "tracing/threads.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <list>
#include <memory>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

// libtracecmd exports what trace-cmd itself writes its files with, but has no public header for it.
// The prototypes are those of libtracecmd 1.x (trace-cmd 3.x).
extern "C" {
struct tracecmd_output;
struct tracecmd_option;
struct tracecmd_event_list {
    tracecmd_event_list* next;
    const char* glob;
};
tracecmd_output* tracecmd_output_create(const char* path);
int tracecmd_output_set_version(tracecmd_output* to, int version);
int tracecmd_output_set_compression(tracecmd_output* to, const char* compression);
int tracecmd_output_set_kallsyms(tracecmd_output* to, const char* path);
int tracecmd_output_write_headers(tracecmd_output* to, tracecmd_event_list* events);
int tracecmd_write_cmdlines(tracecmd_output* to);
tracecmd_option* tracecmd_add_option(tracecmd_output* to, unsigned short id, int size,
                                     const void* data);
int tracecmd_append_cpu_data(tracecmd_output* to, int cpus, char* const* files);
void tracecmd_set_loglevel(enum tep_loglevel level);
void tracecmd_set_quiet(tracecmd_output* to, bool quiet);
void tracecmd_set_out_clock(tracecmd_output* to, const char* clock);
void tracecmd_output_close(tracecmd_output* to);
}

namespace tool::tracing {

namespace {

enum option : unsigned short { date = 1, cpu_statistics = 2, trace_clock = 4, uname_text = 5 };

/// The oldest version that has all that is needed; every trace-cmd and KernelShark reads it.
constexpr int version = 6;

[[noreturn]] void cannot_write(const std::string& path) {
    throw text::file_failure(errno ? errno : EIO, "write", path);
}

/// How much space the disk of a file has; as much as there can be if it does not say that.
std::uint64_t free_space(const std::string& path) {
    struct statvfs disk {};
    if (statvfs(path.c_str(), &disk) != 0 || disk.f_blocks == 0)
        return ~std::uint64_t{0};
    return disk.f_frsize * (geteuid() == 0 ? disk.f_bfree : disk.f_bavail);
}

/// What to add to the clock "mono" to get the time of day, in microseconds.
std::string wall_clock_offset() {
    const auto microseconds = [](clockid_t clock) {
        timespec now{};
        clock_gettime(clock, &now);
        return static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
    };
    return fmt::format("{}", microseconds(CLOCK_REALTIME) - microseconds(CLOCK_MONOTONIC));
}

void add_text(tracecmd_output* to, option id, const std::string& text) {
    tracecmd_add_option(to, id, static_cast<int>(text.size()) + 1, text.c_str());
}

} // namespace

struct cpu_files::cpu {
    std::unique_ptr<tracefs_cpu, decltype(&tracefs_cpu_close)> pages;
    int file;
    std::string path;
};

cpu_files::cpu_files() = default;
cpu_files::cpu_files(cpu_files&&) noexcept = default;

void cpu_files::add(int number, tracefs_cpu* pages, const std::string& path, bool again) {
    cpu added{{pages, tracefs_cpu_close}, -1, fmt::format("{}.cpu{}", path, number)};
    if (!pages)
        throw text::failure(fmt::format("cannot read the buffer of CPU {}", number),
                            "run it as root");
    // What a recording that cannot be finished any more has left is replaced.
    if (!again)
        unlink(added.path.c_str());
    added.file = open(added.path.c_str(),
                      O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (again ? 0 : O_EXCL), 0600);
    if (added.file < 0)
        cannot_write(added.path);
    // It may end in the middle of a page if the process was killed.
    const off_t page = tracefs_cpu_read_size(pages);
    struct stat found {};
    if (fstat(added.file, &found) == 0 && found.st_size % page)
        (void)!ftruncate(added.file, found.st_size / page * page);
    lseek(added.file, 0, SEEK_END);
    cpus_.push_back(std::move(added));
}

cpu_files::cpu_files(const instance& from, const std::string& path, bool again)
    : from_(&from),
      capacity_(std::strtoull(from.read("buffer_total_size_kb").c_str(), nullptr, 10) << 10) {
    for (int number = 0; number < sysconf(_SC_NPROCESSORS_CONF); number++)
        if (from.has(fmt::format("per_cpu/cpu{}", number)))
            add(number, tracefs_cpu_open(from.get(), number, true), path, again);
}

cpu_files cpu_files::of_snapshot(const instance& from, const std::string& path) {
    cpu_files result;
    for (int number = 0; number < sysconf(_SC_NPROCESSORS_CONF); number++) {
        const std::string file = from.path(fmt::format("per_cpu/cpu{}/snapshot_raw", number));
        const int descriptor = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0)
            throw text::file_failure(errno, "read", file);
        result.add(number,
                   tracefs_cpu_alloc_fd(descriptor, static_cast<int>(sysconf(_SC_PAGESIZE)), true),
                   path, false);
    }
    return result;
}

cpu_files::~cpu_files() {
    for (const cpu& cpu : cpus_)
        close(cpu.file);
}

/// A page that the library has taken and cannot write is lost.
void cpu_files::require_space() const {
    if (!from_ || cpus_.empty())
        return;
    const std::uint64_t free = free_space(fmt::format("/proc/self/fd/{}", cpus_[0].file));
    // Half a page may be empty if the next record did not fit, and all but a record of the last
    // one.
    const auto needed = [&](std::uint64_t size) {
        return size ? 2 * size + cpus_.size() * static_cast<unsigned long>(getpagesize()) : 0;
    };
    if (free < needed(capacity_) && free < needed(waiting_bytes(*from_)))
        throw text::file_failure(ENOSPC, "write", cpus_[0].path);
}

void cpu_files::take() {
    require_space();
    for (const cpu& cpu : cpus_) {
        int size = 0;
        while ((size = tracefs_cpu_write(cpu.pages.get(), cpu.file, true)) > 0)
            size_ += static_cast<std::uint64_t>(size);
        if (size < 0 && errno != EAGAIN && errno != EINTR)
            cannot_write(cpu.path);
    }
}

void cpu_files::take_rest() {
    take();
    for (const cpu& cpu : cpus_) {
        int size = 0;
        while ((size = tracefs_cpu_flush_write(cpu.pages.get(), cpu.file)) > 0)
            size_ += static_cast<std::uint64_t>(size);
        if (size < 0)
            cannot_write(cpu.path);
    }
}

std::size_t cpu_files::count() const noexcept {
    return cpus_.size();
}

std::vector<std::string> cpu_files::names_for_library() const {
    std::vector<std::string> result;
    for (const cpu& cpu : cpus_)
        result.push_back(fmt::format("/proc/self/fd/{}", cpu.file));
    return result;
}

void cpu_files::remove() noexcept {
    for (const cpu& cpu : cpus_)
        unlink(cpu.path.c_str());
}

void require_output(const std::string& path) {
    const std::string old = path + ".old";
    struct stat found {};
    if (!text::is_output_as_it_is(path) && lstat(old.c_str(), &found) == 0 &&
        S_ISDIR(found.st_mode))
        throw text::usage_error(fmt::format("{} is a directory", old),
                                "choose another file with -o");
}

void write_trace_dat(const trace_dat& what, const instance& from, const cpu_files& files) {
    text::new_file file(what.path);
    errno = 0;
    std::unique_ptr<tracecmd_output, decltype(&tracecmd_output_close)> to(
        tracecmd_output_create(file.name_for_library().c_str()), tracecmd_output_close);
    if (!to)
        cannot_write(what.path);
    // The library need not keep the errno.
    const auto fail = [&] {
        if (free_space(file.name_for_library()) < static_cast<unsigned long>(getpagesize()))
            errno = ENOSPC;
        cannot_write(what.path);
    };
    std::vector<std::string> globs = what.kernel_events;
    for (const char* system : recording::user_systems)
        globs.push_back(fmt::format("{}/*", system));
    std::list<tracecmd_event_list> formats;
    for (const auto& glob : globs)
        formats.push_front({formats.empty() ? nullptr : &formats.front(), glob.c_str()});
    const std::string clock_file = from.read("trace_clock");
    const auto open_bracket = clock_file.find('['), close_bracket = clock_file.find(']');
    const std::string clock =
        open_bracket == clock_file.npos
            ? "local"
            : clock_file.substr(open_bracket + 1, close_bracket - open_bracket - 1);
    tracecmd_set_quiet(to.get(), true);
    // It warns that the top-level buffer of this version has no description, which is as it has to
    // be.
    tracecmd_set_loglevel(TEP_LOG_NONE);
    tracecmd_set_out_clock(to.get(), clock.c_str());
    if (tracecmd_output_set_version(to.get(), version) ||
        tracecmd_output_set_compression(to.get(), "none") ||
        // The text of the kernel's events can name its functions.
        (what.kernel_events.empty() && tracecmd_output_set_kallsyms(to.get(), "/dev/null")) ||
        tracecmd_output_write_headers(to.get(), &formats.front()) ||
        tracecmd_write_cmdlines(to.get()))
        fail();
    if (clock == "mono")
        add_text(to.get(), option::date, wall_clock_offset());
    tracecmd_add_option(to.get(), option::trace_clock, 0, nullptr);
    utsname system{};
    uname(&system);
    add_text(to.get(), option::uname_text,
             fmt::format("{} {} {} {}", system.sysname, system.nodename, system.release,
                         system.machine));
    for (std::size_t i = 0; i < files.count(); i++)
        add_text(to.get(), option::cpu_statistics,
                 fmt::format("CPU: {}\n{}", i,
                             from.try_read(fmt::format("per_cpu/cpu{}/stats", i)).value_or("")));
    add_text(to.get(), option::cpu_statistics, recording::to_text(find_threads()));
    auto names = files.names_for_library();
    std::vector<char*> paths;
    paths.reserve(names.size());
    for (auto& name : names)
        paths.push_back(name.data());
    if (tracecmd_append_cpu_data(to.get(), static_cast<int>(paths.size()), paths.data()))
        fail();
    to.reset();
    file.keep_old();
    file.finish();
}

} // namespace tool::tracing
