// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace bench {

/// The measured figures, one row each, in the order of add().
class Report {
public:
    /// `what` names the row; `unit` is "instructions", "bytes" or "per second". The table shows the
    /// note.
    void add(const std::string& what, double figure, const std::string& unit = "instructions",
             const std::string& note = {}) {
        rows_.push_back({{"what", what}, {"figure", figure}, {"unit", unit}});
        if (!note.empty())
            rows_.back()["note"] = note;
    }

    const nlohmann::ordered_json& rows() const { return rows_; }

private:
    nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

} // namespace bench
