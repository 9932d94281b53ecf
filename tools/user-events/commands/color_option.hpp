// SPDX-License-Identifier: GPL-2.0-or-later
// The option --color.
#pragma once

#include "cli.hpp"
#include "text/output.hpp"

#include <string>

namespace tool {

struct color_option {
    std::string when = "auto";

    void declare(arguments& with) {
        with.choice("--color", "WHEN", when, {"auto", "always", "never"},
                    "whether lines have colours by level (default: auto)");
    }
    /// To be called before anything is printed.
    void apply() const {
        if (when != "auto")
            text::set_colours(when == "always");
    }
};

} // namespace tool
