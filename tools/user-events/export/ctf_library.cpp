// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/ctf_library.hpp"

#include "export/output_file.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"

#include <cctype>
#include <fmt/format.h>

namespace tool::exporting {

void fail(std::string_view doing) {
    std::string reason;
    if (const bt_error* const error = bt_current_thread_take_error()) {
        // The first cause says most.
        if (bt_error_get_cause_count(error) > 0)
            reason = bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0));
        bt_error_release(error);
    }
    throw text::failure(
        fmt::format("libbabeltrace2 cannot {}{}{}", doing, reason.empty() ? "" : ": ", reason));
}

std::string identifier(std::string_view name, std::set<std::string>& taken) {
    std::string result(name.empty() || std::isdigit(static_cast<unsigned char>(name[0])), '_');
    for (const char c : name)
        result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    const std::string base = result;
    for (int i = 2; !taken.insert(result).second; i++)
        result = fmt::format("{}_{}", base, i);
    return result;
}

field_class integer_class(bt_trace_class* trace, bool is_signed, std::uint32_t size) {
    field_class result(made(is_signed ? bt_field_class_integer_signed_create(trace)
                                      : bt_field_class_integer_unsigned_create(trace)));
    bt_field_class_integer_set_field_value_range(result.get(), 8 * std::uint64_t{size});
    return result;
}

field_class string_class(bt_trace_class* trace) {
    return field_class(made(bt_field_class_string_create(trace)));
}

field_class real_class(bt_trace_class* trace, std::uint32_t size) {
    return field_class(made(size == 4 ? bt_field_class_real_single_precision_create(trace)
                                      : bt_field_class_real_double_precision_create(trace)));
}

void set_text(bt_field* to, std::string_view text) {
    std::string clean;
    text::append_utf8(clean, text);
    check(bt_field_string_set_value(to, clean.c_str()), "set a string");
}

void append_member(const field_class& to, const std::string& name, const field_class& member) {
    check(bt_field_class_structure_append_member(to.get(), name.c_str(), member.get()),
          "add a field");
}

} // namespace tool::exporting
