// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "tracing/data_file.hpp"

#include <memory>

namespace tool {

action register_event(arguments& with) {
    const auto commands = std::make_shared<std::vector<std::string>>();
    with.required_positionals("COMMAND", *commands,
                              "events as 'NAME FIELDS', such as 'order u32 number; char[16] item'");
    return [commands] {
        for (const auto& command : *commands) {
            tracing::data_file file;
            file.add(command, true);
        }
    };
}

} // namespace tool
