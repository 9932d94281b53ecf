// SPDX-License-Identifier: GPL-2.0-or-later
// A filter that the user types on a terminal while records are printed.
#pragma once

#include "eventheader/payload_filter.hpp"
#include "recording/record.hpp"
#include "text/keyboard.hpp"
#include "text/line_editor.hpp"

#include <optional>
#include <string_view>

namespace tool {

/// `/` begins the filter, in the last line of the terminal, and Enter ends it.
class typed_filter {
public:
    /// Takes the keys that were pressed since the last call.
    void update();

    bool passes(const recording::record& record);

    /// Prints lines, and what was typed so far below them.
    void print_above(std::string_view lines);

    /// Warns about names in the filter that no record had.
    void finish();

private:
    void take(char key);
    void enter();
    /// Removes what was typed from the terminal.
    void erase();

    text::keyboard keyboard_;
    text::line_editor editor_;
    std::optional<eventheader::filter> filter_;
    bool is_typing_ = false;
    /// Whether the terminal does not yet show what was typed.
    bool is_changed_ = false;
};

} // namespace tool
