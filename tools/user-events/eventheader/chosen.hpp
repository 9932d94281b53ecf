// SPDX-License-Identifier: GPL-2.0-or-later
// A visitor that passes on only some fields.
#pragma once

#include "eventheader/show.hpp"
#include "eventheader/walk.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tool::eventheader {

/// Passes on the event's own fields that have one of these names, with all that is in them.
class chosen_fields final : public visitor {
public:
    chosen_fields(visitor& to, const std::vector<std::string>& names) : to_(to), names_(names) {}

    void take(const field& field, const value& value) override {
        if (is_chosen(field))
            to_.take(field, value);
    }
    void begin_array(const field& field) override {
        if (enter(field))
            to_.begin_array(field);
    }
    void end_array(const field& field) override {
        depth_--;
        if (is_chosen(field))
            to_.end_array(field);
    }
    void begin_struct(const field& field) override {
        if (enter(field))
            to_.begin_struct(field);
    }
    void end_struct(const field& field) override {
        depth_--;
        if (is_chosen(field))
            to_.end_struct(field);
    }

private:
    bool is_chosen(const field& field) {
        if (depth_ == 0)
            is_chosen_ = std::find(names_.begin(), names_.end(), field.name) != names_.end();
        return is_chosen_;
    }
    bool enter(const field& field) {
        const bool result = is_chosen(field);
        depth_++;
        return result;
    }

    visitor& to_;
    const std::vector<std::string>& names_;
    unsigned depth_ = 0;
    bool is_chosen_ = false;
};

/// As walk(), for the fields that are shown.
inline failure walk_chosen(const shown_event& shown, visitor& visitor) {
    if (shown.chosen.empty())
        return walk(shown.event, visitor);
    chosen_fields chosen(visitor, shown.chosen);
    return walk(shown.event, chosen);
}

} // namespace tool::eventheader
