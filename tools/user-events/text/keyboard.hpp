// SPDX-License-Identifier: GPL-2.0-or-later
// The keys that are pressed while a command prints lines.
#pragma once

#include <string>
#include <termios.h>

namespace tool::text {

/// While the object exists, keys are not shown, and can be read at once. Signals of keys, such as
/// Ctrl-C, stay. Works only if standard input and output are a capable terminal, and in the
/// foreground.
class keyboard {
public:
    keyboard();
    keyboard(const keyboard&) = delete;
    keyboard& operator=(const keyboard&) = delete;
    ~keyboard();

    /// The bytes of the keys that were pressed since the last call; without those of keys that send
    /// several, such as the arrows.
    std::string read();

private:
    /// Returns whether there are keys for this command.
    bool prepare();

    termios before_{};
    bool is_possible_;
};

} // namespace tool::text
