// SPDX-License-Identifier: GPL-2.0-or-later
// The dotted name of the field that is visited, such as `orders[2].item`.
#pragma once

#include "eventheader/field.hpp"
#include "eventheader/walk.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tool::eventheader {

class path {
public:
    /// Whether structs in arrays have their numbers.
    explicit path(bool is_numbered = true) : is_numbered_(is_numbered) {}

    /// The name of a value. Elements of an array of values have the name of the array.
    std::string of(const field& field) const {
        std::string result;
        append_name(result, field);
        return result;
    }
    /// Appends it to an empty text.
    void append_name(std::string& to, const field& field) const {
        to += text_;
        if (!is_in_array())
            append(to, field.name);
    }
    /// The name of the array or struct that was begun last.
    const std::string& text() const noexcept { return text_; }
    bool is_in_array() const noexcept { return !open_.empty() && open_.back().is_array; }
    /// Whether it is in the first element of each array.
    bool is_first() const noexcept {
        for (const level& each : open_)
            if (each.is_array && each.count > 1)
                return false;
        return true;
    }

    void begin_array(const field& field) {
        const std::size_t before = text_.size();
        append(text_, field.name);
        open_.push_back({before, true, 0});
    }
    void begin_struct(const field& field) {
        const std::size_t before = text_.size();
        if (!is_in_array())
            append(text_, field.name);
        else if (const unsigned number = open_.back().count++; is_numbered_)
            text_ += "[" + std::to_string(number) + "]";
        open_.push_back({before, false, 0});
    }
    void end() {
        text_.resize(open_.back().before);
        open_.pop_back();
    }

private:
    struct level {
        std::size_t before; // the size of the text
        bool is_array;
        unsigned count; // of structs
    };

    /// Long names of structs in structs are cut, too.
    void append(std::string& to, std::string_view name) const {
        if (open_.empty()) {
            to += name.substr(0, longest_name);
            return;
        }
        to += '.';
        to += name.substr(0, longest_name - std::min(longest_name, to.size()));
    }

    bool is_numbered_;
    std::string text_;
    std::vector<level> open_;
};

} // namespace tool::eventheader
