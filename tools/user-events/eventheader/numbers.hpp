// SPDX-License-Identifier: GPL-2.0-or-later
// A visitor that passes on only numbers, with their dotted names.
#pragma once

#include "eventheader/path.hpp"
#include "eventheader/walk.hpp"

namespace tool::eventheader {

/// Calls the function with the name and the number. Elements of an array have the array's name, and
/// structs in arrays have no numbers in their names.
template <typename Function>
class numbers final : public visitor {
public:
    explicit numbers(Function function) : function_(function) {}

    void take(const field& field, const value& value) override {
        if (const auto number = number_of(value))
            function_(path_.is_in_array() ? path_.text() : path_.of(field),
                      static_cast<double>(*number));
    }
    void begin_array(const field& field) override { path_.begin_array(field); }
    void end_array(const field&) override { path_.end(); }
    void begin_struct(const field& field) override { path_.begin_struct(field); }
    void end_struct(const field&) override { path_.end(); }

private:
    Function function_;
    path path_{false};
};

} // namespace tool::eventheader
