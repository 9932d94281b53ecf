// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
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
            if (const auto at = stats.find("\n" + std::string(name)); at != stats.npos)
                result += std::strtoull(stats.c_str() + at + 1 + name.size(), nullptr, 10);
    }
    return result;
}

} // namespace

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
    const auto kib = in.try_read("buffer_subbuf_size_kb");
    const std::size_t size = kib ? std::strtoul(kib->c_str(), nullptr, 10) << 10 : 0;
    return size ? size : static_cast<std::size_t>(getpagesize());
}

void set_buffer_size(const instance& in, std::uint64_t size) {
    in.write("buffer_size_kb", std::to_string(std::max<std::uint64_t>(size >> 10, 4)));
}

} // namespace tool::tracing
