// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "outcome.hpp"
#include "payload.hpp"
#include "tracing.hpp"

#include <cstdint>
#include <fcntl.h>
#include <linux/user_mark.h>
#include <string>
#include <string_view>

namespace selftest {

/// The events that marks are recorded as.
inline constexpr const char* mark_names[] = {"text", "data"};
inline const Event mark_text(mark_names[0], USER_MARK_SYSTEM);
inline const Event mark_data(mark_names[1], USER_MARK_SYSTEM);

/// Returns the argument of USER_MARK. It points to `data`.
user_mark mark_of(std::uint32_t type, std::string_view data);

/// An open /dev/user_mark.
class MarkFile {
public:
    /// Opens the file. Throws std::system_error.
    explicit MarkFile(int flags = O_WRONLY) : file_(Descriptor::open(path, flags)) {}

    static constexpr const char* path = "/dev/user_mark";

    /// Calls write().
    Outcome write(std::string_view text);
    /// Calls the ioctls.
    Outcome mark(std::uint32_t type, std::string_view data);
    Outcome mark(const user_mark& mark) { return control(USER_MARK, &mark); }
    Outcome id(std::uint32_t type);
    Outcome control(unsigned long request, const void* argument);

    int descriptor() const { return file_.number(); }

private:
    Descriptor file_;
};

} // namespace selftest
