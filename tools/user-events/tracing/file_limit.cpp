// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/file_limit.hpp"

#include <optional>
#include <sys/resource.h>

namespace tool::tracing {

namespace {

/// What was there before; nothing if it was not raised.
std::optional<rlimit> first;

} // namespace

void raise_file_limit() noexcept {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
        return;
    if (!first)
        first = limit;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

first_file_limit::first_file_limit() noexcept {
    if (first)
        setrlimit(RLIMIT_NOFILE, &*first);
}

first_file_limit::~first_file_limit() {
    if (first)
        raise_file_limit();
}

} // namespace tool::tracing
