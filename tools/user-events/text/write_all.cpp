// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/write_all.hpp"

#include <cerrno>
#include <unistd.h>

namespace tool::text {

bool write_all(int descriptor, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = write(descriptor, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return false;
        text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return true;
}

} // namespace tool::text
