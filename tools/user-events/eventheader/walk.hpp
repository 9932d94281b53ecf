// SPDX-License-Identifier: GPL-2.0-or-later
// Visits the fields of an event in their order.
#pragma once

#include "eventheader/event.hpp"
#include "eventheader/value.hpp"

namespace tool::eventheader {

/// At most so many values and structs of one event are visited.
inline constexpr unsigned most_items = 4096;

/// Gets what an event has. Each begin is followed by its end, also if decoding fails in between.
/// What the functions throw is passed on by walk().
class visitor {
public:
    virtual ~visitor() = default;
    /// A value, or an element of the array that has begun.
    virtual void take(const field& field, const value& value) = 0;
    /// Around the elements of an array, which may be structs.
    virtual void begin_array(const field& field) = 0;
    virtual void end_array(const field& field) = 0;
    /// Around the fields of a struct, which may be an element of the array that has begun.
    virtual void begin_struct(const field& field) = 0;
    virtual void end_struct(const field& field) = 0;
};

/// Visits the fields until their end, or until one that cannot be decoded. Of an event that
/// to_event() could not read, no field is visited.
failure walk(const event& event, visitor& visitor);

} // namespace tool::eventheader
