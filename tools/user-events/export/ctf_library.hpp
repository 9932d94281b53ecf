// SPDX-License-Identifier: GPL-2.0-or-later
// What the files of ctf.cpp share: libbabeltrace2 with exceptions and references.
#pragma once

#include <babeltrace2/babeltrace.h>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>

namespace tool::exporting {

/// Throws text::failure with the reason that libbabeltrace2 gives, as far as it does.
[[noreturn]] void fail(std::string_view doing);

template <typename Status>
void check(Status status, std::string_view doing) {
    if (static_cast<int>(status) != 0)
        fail(doing);
}

template <typename Object>
Object* made(Object* object) {
    if (!object)
        throw std::bad_alloc();
    return object;
}

/// A reference to an object of the library.
template <typename Object, auto put>
struct releaser {
    void operator()(Object* object) const noexcept { put(object); }
};
template <typename Object, auto put>
using owned = std::unique_ptr<Object, releaser<Object, put>>;

using field_class = owned<bt_field_class, bt_field_class_put_ref>;

/// Names of the format are identifiers. `taken` has those of the structure.
std::string identifier(std::string_view name, std::set<std::string>& taken);

/// A class of integers of so many bytes.
field_class integer_class(bt_trace_class* trace, bool is_signed, std::uint32_t size);
field_class string_class(bt_trace_class* trace);
field_class real_class(bt_trace_class* trace, std::uint32_t size);

/// Sets a string. What is not UTF-8 becomes U+FFFD.
void set_text(bt_field* to, std::string_view text);
void append_member(const field_class& to, const std::string& name, const field_class& member);

} // namespace tool::exporting
