// SPDX-License-Identifier: GPL-2.0-or-later
// How many files a process may have open.
#pragma once

namespace tool::tracing {

/// From now on, this process may have as many files open as it is permitted: the soft limit becomes
/// the hard one. A recording has several files open for each CPU that the machine can have.
void raise_file_limit() noexcept;

/// While the object exists, the limit is what it was before raise_file_limit().
class first_file_limit {
public:
    first_file_limit() noexcept;
    first_file_limit(const first_file_limit&) = delete;
    first_file_limit& operator=(const first_file_limit&) = delete;
    ~first_file_limit();
};

} // namespace tool::tracing
