// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/trace_dat.hpp"

#include "recording/event_type.hpp"
#include "recording/file_head.hpp"
#include "recording/machine.hpp"
#include "recording/ring_buffer.hpp"
#include "recording/stack.hpp"
#include "text/errors.hpp"
#include "text/new_file.hpp"
#include "tracing/buffers.hpp"
#include "tracing/events.hpp"
#include "tracing/libtracefs.hpp"
#include "tracing/rules.hpp"
#include "tracing/threads.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>

namespace tool::tracing {

namespace {

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

} // namespace

void require_space_for(const instance& from, const std::string& on_disk, const std::string& path,
                       std::uint64_t at_most, unsigned copies, std::uint64_t head) {
    const std::uint64_t free = free_space(on_disk);
    // Half a page may be empty if the next record did not fit, and all but a record of the last
    // one.
    const auto needed = [&](std::uint64_t size) {
        return head + (size ? copies * (2 * size + cpus(from).size() * page_size(from)) : 0);
    };
    if (free < needed(at_most) && free < needed(waiting_bytes(from)))
        throw text::file_failure(ENOSPC, "write", path);
}

struct cpu_files::cpu {
    std::unique_ptr<tracefs_cpu, void (*)(tracefs_cpu*)> pages;
    int file;
    std::string path;
};

/// The size of all buffers; more than any can have if it is not known.
static std::uint64_t capacity_of(const instance& from) {
    constexpr std::uint64_t unknown = std::uint64_t{1} << 50;
    const auto text = from.try_read("buffer_total_size_kb");
    return text ? std::strtoull(text->c_str(), nullptr, 10) << 10 : unknown;
}

cpu_files::cpu_files() = default;
cpu_files::cpu_files(cpu_files&&) noexcept = default;

void cpu_files::add(const instance& from, int number, const char* source, const std::string& path,
                    bool again) {
    cpu added{open_buffer(from, number, source), -1, fmt::format("{}.cpu{}", path, number)};
    // What is left of records was set aside. A link is replaced.
    if (!again)
        unlink(added.path.c_str());
    added.file = open(added.path.c_str(),
                      O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (again ? 0 : O_EXCL), 0600);
    if (added.file < 0)
        cannot_write(added.path);
    // It may end in the middle of a page if the process was killed.
    const off_t page = tracefs_cpu_read_size(added.pages.get());
    struct stat found {};
    if (fstat(added.file, &found) == 0 && found.st_size % page)
        (void)!ftruncate(added.file, found.st_size / page * page);
    lseek(added.file, 0, SEEK_END);
    cpus_.push_back(std::move(added));
}

cpu_files::cpu_files(const instance& from, const std::string& path, bool again)
    : from_(&from), capacity_(capacity_of(from)) {
    for (const int number : cpus(from))
        add(from, number, "trace_pipe_raw", path, again);
}

cpu_files cpu_files::of_snapshot(const instance& from, const std::string& path) {
    cpu_files result;
    try {
        for (const int number : cpus(from))
            result.add(from, number, "snapshot_raw", path, false);
    } catch (...) {
        result.remove();
        throw;
    }
    return result;
}

cpu_files::~cpu_files() {
    for (const cpu& cpu : cpus_)
        close(cpu.file);
}

/// A page that the library has taken and cannot write is lost.
void cpu_files::require_space() const {
    if (from_ && !cpus_.empty())
        require_space_for(*from_, fmt::format("/proc/self/fd/{}", cpus_[0].file), cpus_[0].path,
                          capacity_, 1, reserved_);
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

void cpu_files::take_rest(bool goes_on) {
    take();
    for (const cpu& cpu : cpus_) {
        int size = 0;
        while ((size = tracefs_cpu_flush_write(cpu.pages.get(), cpu.file)) > 0) {
            size_ += static_cast<std::uint64_t>(size);
            if (goes_on)
                break;
        }
        if (size < 0)
            cannot_write(cpu.path);
    }
}

namespace {

/// The pages of a CPU in its file.
class page_file {
public:
    page_file(int file, std::size_t page_size, const std::string& path)
        : file_(file), path_(path), page_(page_size), records_({.size = page_size}) {
        struct stat found {};
        if (fstat(file, &found) == 0)
            count_ = static_cast<std::uint64_t>(found.st_size) / page_size;
    }

    std::uint64_t count() const noexcept { return count_; }
    /// Of the first record in a page, and of the last one.
    std::uint64_t begin(std::uint64_t number) {
        read(number);
        return records_.next() ? records_.time() : 0;
    }
    std::uint64_t end(std::uint64_t number) {
        read(number);
        std::uint64_t time = 0;
        while (records_.next())
            time = records_.time();
        return time;
    }
    std::uint64_t records(std::uint64_t number) {
        read(number);
        std::uint64_t result = 0;
        while (records_.next())
            result++;
        return result;
    }
    /// Whether records are missing before the first page.
    bool was_overwritten() {
        if (count_ == 0)
            return false;
        read(0);
        return records_.missing().has_value();
    }
    /// Removes the records that are older.
    void remove_older(std::uint64_t time) {
        std::uint64_t old = 0;
        while (old < count_ && end(old) < time)
            old++;
        for (std::uint64_t to = 0; to + old < count_; to++) {
            read(to + old);
            if (to == 0)
                recording::remove_older(page_, {.size = page_.size()}, time);
            if (pwrite(file_, page_.data(), page_.size(), at(to)) !=
                static_cast<ssize_t>(page_.size()))
                cannot_write(path_);
        }
        count_ -= old;
        if (ftruncate(file_, at(count_)) != 0 || lseek(file_, 0, SEEK_END) < 0)
            cannot_write(path_);
    }

private:
    off_t at(std::uint64_t number) const noexcept {
        return static_cast<off_t>(number * page_.size());
    }
    void read(std::uint64_t number) {
        if (pread(file_, page_.data(), page_.size(), at(number)) !=
            static_cast<ssize_t>(page_.size()))
            throw text::file_failure(errno ? errno : EIO, "read", path_);
        records_.load(page_);
    }

    int file_;
    const std::string& path_;
    std::uint64_t count_ = 0;
    std::vector<std::byte> page_;
    recording::page_records records_;
};

} // namespace

std::uint64_t cpu_files::records() const {
    std::uint64_t result = 0;
    for (const cpu& cpu : cpus_) {
        page_file file(cpu.file, page_size(), cpu.path);
        for (std::uint64_t number = 0; number < file.count(); number++)
            result += file.records(number);
    }
    return result;
}

std::optional<std::uint64_t> cpu_files::keep_newest(std::uint64_t age) {
    std::vector<page_file> files;
    std::uint64_t newest = 0, oldest = ~std::uint64_t{0}, complete = 0;
    for (const cpu& cpu : cpus_) {
        page_file& added = files.emplace_back(cpu.file, page_size(), cpu.path);
        if (added.count() == 0)
            continue;
        newest = std::max(newest, added.end(added.count() - 1));
        oldest = std::min(oldest, added.begin(0));
        if (added.was_overwritten())
            complete = std::max(complete, added.begin(0));
    }
    size_ = 0;
    for (page_file& file : files) {
        // A page without a record ends at 0.
        file.remove_older(newest <= age ? 1 : newest - age);
        size_ += file.count() * page_size();
    }
    if (newest == 0)
        return std::nullopt;
    return std::min(age, newest - std::max(complete, std::min(oldest, newest)));
}

std::size_t cpu_files::page_size() const noexcept {
    return cpus_.empty() ? static_cast<std::size_t>(getpagesize())
                         : static_cast<std::size_t>(tracefs_cpu_read_size(cpus_[0].pages.get()));
}

std::vector<int> cpu_files::descriptors() const {
    std::vector<int> result;
    for (const cpu& cpu : cpus_)
        result.push_back(cpu.file);
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

namespace {

/// The options of the file that it may have.
enum option : std::uint16_t { date = 1, cpu_statistics = 2, trace_clock = 4, uname_text = 5 };

/// A file of version 6, the oldest that has all that is needed: every trace-cmd and KernelShark
/// reads it. trace-cmd.dat.v6(5) describes it. Numbers are those of this machine.
class trace_dat_writer {
public:
    explicit trace_dat_writer(const instance& from) : in_(from.with_names()) {}

    void add_formats(const std::map<std::string, std::vector<std::string>>& systems,
                     std::size_t page_size) {
        text_.append(recording::trace_dat_magic);
        text_.append("6\0", 2);
        add(static_cast<char>(std::endian::native == std::endian::big));
        add(static_cast<char>(sizeof(long)));
        add(static_cast<std::uint32_t>(page_size));
        for (const char* const name : {"header_page", "header_event"}) {
            add_text(name);
            add_sized<std::uint64_t>(in_.read(fmt::format("events/{}", name)));
        }
        add_system("ftrace", directories(in_.path("events/ftrace")));
        add(static_cast<std::uint32_t>(systems.size()));
        for (const auto& [system, events] : systems) {
            add_text(system);
            add_system(system, events);
        }
    }
    /// The text of the kernel's events can name its functions.
    void add_names(bool with_functions) {
        add_sized<std::uint32_t>(with_functions ? text::contents_of("/proc/kallsyms") : "");
        add_sized<std::uint32_t>(in_.try_read("printk_formats").value_or(""));
        add_sized<std::uint64_t>(in_.try_read("saved_cmdlines").value_or(""));
    }
    void begin_options(std::size_t cpus) {
        add(static_cast<std::uint32_t>(cpus));
        text_.append("options  \0", 10);
    }
    void add_option(option id, const std::string& text) {
        add(id);
        add_size<std::uint32_t>(text.size() + 1);
        add_text(text);
    }
    void end_options(const std::string& clocks) {
        // Its text is behind the table of the CPUs.
        add(trace_clock);
        add(std::uint32_t{0});
        add(std::uint16_t{0});
        clocks_ = clocks;
    }
    /// Of what was added so far.
    std::uint64_t size() const noexcept { return text_.size() + clocks_.size(); }
    /// Writes all that was added, and the records.
    void write_with_records(text::new_file& to, const std::vector<int>& files,
                            std::size_t page_size) {
        text_.append("flyrecord\0", 10);
        const std::uint64_t table = files.size() * 2 * sizeof(std::uint64_t);
        std::uint64_t offset = text_.size() + table + sizeof(std::uint64_t) + clocks_.size();
        std::vector<std::size_t> gaps;
        for (const int file : files) {
            struct stat found {};
            if (fstat(file, &found) != 0)
                cannot_write(to.path());
            gaps.push_back(static_cast<std::size_t>((page_size - offset % page_size) % page_size));
            offset += gaps.back();
            add(offset);
            add(static_cast<std::uint64_t>(found.st_size));
            offset += static_cast<std::uint64_t>(found.st_size);
        }
        add_sized<std::uint64_t>(clocks_);
        for (std::size_t i = 0; i < files.size(); i++) {
            text_.append(gaps[i], '\0');
            write(to);
            copy(to, files[i]);
        }
        write(to);
    }

private:
    template <typename Number>
    void add(Number number) {
        text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    void add_text(std::string_view text) {
        text_ += text;
        text_ += '\0';
    }
    /// A size that is cut would have readers take the text for something else.
    template <typename Size>
    void add_size(std::size_t size) {
        if (!std::in_range<Size>(size))
            throw text::failure("a list of the recording is too long for a file");
        add(static_cast<Size>(size));
    }
    template <typename Size>
    void add_sized(const std::string& text) {
        add_size<Size>(text.size());
        text_ += text;
    }
    /// An event may be removed at any moment.
    void add_system(const std::string& system, const std::vector<std::string>& events) {
        std::vector<std::string> formats;
        for (const auto& event : events)
            if (auto format = in_.try_read(fmt::format("events/{}/{}/format", system, event)))
                formats.push_back(std::move(*format));
        add(static_cast<std::uint32_t>(formats.size()));
        for (const auto& format : formats)
            add_sized<std::uint64_t>(format);
    }
    void write(text::new_file& to) {
        to.write(text_);
        text_.clear();
    }
    static void copy(text::new_file& to, int file) {
        std::array<char, 1 << 16> part;
        off_t at = 0;
        for (ssize_t size = 0; (size = pread(file, part.data(), part.size(), at)) != 0;) {
            if (size < 0)
                cannot_write(to.path());
            to.write({part.data(), static_cast<std::size_t>(size)});
            at += size;
        }
    }

    instance in_;
    std::string text_;
    std::string clocks_;
};

/// The events whose formats the file gets, by their systems.
std::map<std::string, std::vector<std::string>> described_events(const trace_dat& what,
                                                                 const instance& from) {
    std::map<std::string, std::vector<std::string>> result;
    for (auto& name : all_user_events(from))
        result[name.system].push_back(std::move(name.event));
    for (const auto& name : what.kernel_events) {
        const auto slash = name.find('/');
        auto& events = result[name.substr(0, slash)];
        if (std::find(events.begin(), events.end(), name.substr(slash + 1)) == events.end())
            events.push_back(name.substr(slash + 1));
    }
    return result;
}

/// All up to the records.
trace_dat_writer head_of(const trace_dat& what, const instance& from, std::size_t cpus,
                         std::size_t page_size, std::int64_t first_offset) {
    trace_dat_writer to(from);
    const auto described = described_events(what, from);
    to.add_formats(described, page_size);
    to.add_names(what.has_functions || !what.kernel_events.empty());
    to.begin_options(cpus);
    const std::string clocks = from.read("trace_clock");
    // What to add to get the time of day, in microseconds.
    const std::int64_t offset = wall_clock().offset();
    if (name_of_clock(from) == "mono")
        to.add_option(date, std::to_string(offset / 1000));
    utsname system{};
    uname(&system);
    to.add_option(uname_text, fmt::format("{} {} {} {}", system.sysname, system.nodename,
                                          system.release, system.machine));
    for (std::size_t i = 0; i < cpus; i++)
        to.add_option(
            cpu_statistics,
            fmt::format("CPU: {}\n{}", i,
                        from.try_read(fmt::format("per_cpu/cpu{}/stats", i)).value_or("")));
    const recording::machine machine{first_line("/proc/sys/kernel/random/boot_id"), first_offset,
                                     offset};
    to.add_option(cpu_statistics, recording::to_text(find_threads(from)) +
                                      recording::to_text(find_sampled(from, described)) +
                                      recording::to_text(machine) + what.frames);
    to.end_options(clocks);
    return to;
}

} // namespace

trace_dat describe(const std::string& path, const instance& in) {
    trace_dat result{path, {}};
    // '1' if all is on, X if a part is.
    const auto state = [&](const std::string& name) { return in.try_read(name).value_or("0")[0]; };
    for (const auto& system : directories(in.path("events"))) {
        if (recording::is_user_system(system))
            continue;
        if (const char some = state(fmt::format("events/{}/enable", system));
            some == '1' || some == 'X')
            for (const auto& event : directories(in.path(fmt::format("events/{}", system))))
                if (state(fmt::format("events/{}/{}/enable", system, event)) == '1')
                    result.kernel_events.push_back(fmt::format("{}/{}", system, event));
    }
    result.has_functions = state("options/stacktrace") == '1';
    // Without names, too, this list tells readers that there are stacks.
    if (result.has_functions || state("options/userstacktrace") == '1')
        result.frames = recording::to_text(recording::frame_list());
    return result;
}

std::uint64_t head_size(const trace_dat& what, const instance& from) {
    return head_of(what, from, cpus(from).size(), page_size(from), 0).size();
}

void write_trace_dat(const trace_dat& what, const instance& from, const cpu_files& files) {
    text::new_file file(what.path);
    head_of(what, from, files.descriptors().size(), files.page_size(), files.clock_offset())
        .write_with_records(file, files.descriptors(), files.page_size());
    file.keep_old();
    file.finish();
}

} // namespace tool::tracing
