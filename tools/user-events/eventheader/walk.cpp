// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/walk.hpp"

#include <limits>

namespace tool::eventheader {

namespace {

class walker {
public:
    walker(const event& event, visitor& visitor)
        : event_(event), visitor_(visitor), descriptions_(event.descriptions),
          values_(event.values) {}

    failure walk() {
        const reason why = fields(std::numeric_limits<unsigned>::max(), 0);
        if (why != reason::none)
            return failed_;
        if (values_.rest().size() > event_.most_padding)
            return {reason::bytes_left, values_.rest()};
        return {};
    }

private:
    /// Remembers where decoding has ended: up to the end of the payload.
    reason fail(reason why, const cursor& at) {
        const auto offset = static_cast<std::size_t>(at.rest().data() - event_.payload.data());
        failed_ = {why, event_.payload.subspan(offset)};
        return why;
    }

    reason fields(unsigned count, unsigned depth) {
        reason why = reason::none;
        for (; count > 0 && !descriptions_.is_at_end() && why == reason::none; count--)
            why = one_field(depth);
        return why;
    }

    /// The same for a description, or where its value would be.
    reason fail(reason why, const descriptions& at) {
        return fail(why, at.rest().empty() ? values_ : cursor(at.rest(), false));
    }

    reason one_field(unsigned depth) {
        const descriptions begin = descriptions_;
        field field;
        reason why = descriptions_.take(field, steps_);
        if (why == reason::none && field.is_struct() && depth == most_nested)
            why = reason::too_deep;
        if (why != reason::none)
            return fail(why, begin);
        if (field.is_array())
            return elements(field, depth);
        return element(field, depth);
    }

    reason elements(const field& field, unsigned depth) {
        std::uint16_t length = field.length;
        if (field.array == array::variable && !values_.take(length))
            return fail(reason::value_cut_off, values_);
        visitor_.begin_array(field);
        const descriptions of_element = descriptions_;
        reason why = reason::none;
        for (unsigned i = 0; i < length && why == reason::none; i++) {
            descriptions_ = of_element;
            why = element(field, depth);
        }
        visitor_.end_array(field);
        return length == 0 && field.is_struct() ? skip(field, depth) : why;
    }

    /// The metadata have the fields of a struct also if there is none.
    reason skip(const field& field, unsigned depth) {
        const descriptions begin = descriptions_;
        const reason why = skip_fields(descriptions_, field.format, depth + 1, steps_);
        return why == reason::none ? why : fail(why, begin);
    }

    reason element(const field& field, unsigned depth) {
        if (items_++ == most_items)
            return fail(reason::too_many_items, values_);
        if (!field.is_struct())
            return one_value(field);
        visitor_.begin_struct(field);
        const reason why = fields(field.format, depth + 1);
        visitor_.end_struct(field);
        return why;
    }

    reason one_value(const field& field) {
        value value;
        const reason why = take_value(values_, field, value);
        if (why != reason::none)
            return fail(why, values_);
        visitor_.take(field, value);
        return why;
    }

    const event& event_;
    visitor& visitor_;
    descriptions descriptions_;
    cursor values_;
    unsigned items_ = 0;
    unsigned steps_ = most_descriptions;
    failure failed_;
};

} // namespace

failure walk(const event& event, visitor& visitor) {
    if (event.why_not.why != reason::none)
        return event.why_not;
    return walker(event, visitor).walk();
}

} // namespace tool::eventheader
