// SPDX-License-Identifier: GPL-2.0-or-later
// The options --level and --keyword.
#pragma once

#include "cli.hpp"
#include "eventheader/choice.hpp"

#include <string>

namespace tool {

struct choice_options {
    std::string level;
    std::string keyword;

    void declare(arguments& with) {
        with.open_choice("--level", "LEVEL", level, eventheader::level_names(),
                         "only events of this level and more severe ones");
        with.option("--keyword", "BITS", keyword,
                    "only events of these categories, each a bit of a number: 0x4");
    }

    /// Throws text::usage_error for what is no level or no keyword.
    eventheader::choice read() const {
        eventheader::choice result;
        if (!level.empty())
            result.level = eventheader::to_level(level);
        if (!keyword.empty())
            result.keyword = eventheader::to_keyword(keyword);
        return result;
    }
};

} // namespace tool
