// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "text/errors.hpp"

#include <memory>
#include <user_events/mark.hpp>

namespace tool {

action mark(arguments& with) {
    const auto text = std::make_shared<std::string>();
    with.positional("TEXT", *text, "what the mark says");
    return [text] {
        static constexpr char device[] = "/dev/user_mark";
        const user_events::marker make_mark(device);
        if (const std::error_code error = make_mark(*text))
            throw text::file_failure(error.value(), "make a mark in", device);
    };
}

} // namespace tool
