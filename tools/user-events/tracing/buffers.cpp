// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/buffers.hpp"

#include "text/errors.hpp"
#include "text/number.hpp"
#include "tracing/libtracefs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <initializer_list>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::tracing {

namespace {

/// Sums of the statistics of all CPUs. The names are as in "overrun: ".
std::uint64_t sum_of(const instance& in, std::initializer_list<std::string_view> names) {
    std::uint64_t result = 0;
    for (const auto& cpu : directories(in.path("per_cpu"))) {
        const std::string stats = "\n" + in.try_read("per_cpu/" + cpu + "/stats").value_or("");
        for (const auto name : names)
            // Not "commit overrun".
            result += text::number_behind(stats, "\n" + std::string(name));
    }
    return result;
}

} // namespace

std::vector<int> cpus(const instance& in) {
    constexpr std::string_view prefix = "cpu";
    std::vector<int> result;
    for (const auto& name : directories(in.path("per_cpu")))
        if (name.starts_with(prefix))
            result.push_back(std::atoi(name.c_str() + prefix.size()));
    std::sort(result.begin(), result.end());
    return result;
}

std::unique_ptr<tracefs_cpu, void (*)(tracefs_cpu*)> open_buffer(const instance& in, int cpu,
                                                                 std::string_view file) {
    // tracefs_cpu_open() needs files of the top-level instance.
    const std::string path = in.path(fmt::format("per_cpu/cpu{}/{}", cpu, file));
    const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat found {};
    if (descriptor < 0 || fstat(descriptor, &found) != 0)
        throw text::file_failure(errno, "read", path);
    if (!S_ISREG(found.st_mode)) {
        close(descriptor);
        throw text::failure(fmt::format("{} is no buffer of tracefs", path));
    }
    tracefs_cpu* const pages =
        tracefs_cpu_alloc_fd(descriptor, static_cast<int>(page_size(in)), true);
    if (!pages) {
        close(descriptor);
        throw text::file_failure(errno, "read", path);
    }
    return {pages, tracefs_cpu_close};
}

std::uint64_t lost_records(const instance& in) {
    return sum_of(in, {"overrun: ", "dropped events: "});
}

std::uint64_t read_records(const instance& in) {
    return sum_of(in, {"read events: "});
}

std::uint64_t made_records(const instance& in) {
    return sum_of(in, {"entries: ", "read events: "});
}

std::uint64_t waiting_bytes(const instance& in) {
    return sum_of(in, {"bytes: "});
}

std::size_t page_size(const instance& in) {
    // field: char data;	offset:16;	size:4080;	signed:1;
    const std::string text = in.try_read("events/header_page").value_or("");
    const auto data = std::string_view(text).substr(std::min(text.find("char data;"), text.size()));
    const std::size_t size =
        text::number_behind(data, "offset:") + text::number_behind(data, "size:");
    return size ? size : static_cast<std::size_t>(getpagesize());
}

void set_buffer_size(const instance& in, std::uint64_t size) {
    in.write("buffer_size_kb", std::to_string(std::max<std::uint64_t>(size >> 10, 4)));
}

} // namespace tool::tracing
