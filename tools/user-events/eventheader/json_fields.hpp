// SPDX-License-Identifier: GPL-2.0-only
// A visitor that writes JSON.
#pragma once

#include "eventheader/walk.hpp"

#include <string>
#include <string_view>

namespace tool::eventheader {

/// Appends the name of a member of an object, after a comma if it is not the first member.
void begin_member(std::string& to, std::string_view name);

/// Appends members of an object for the fields, or elements of an array if the text ends with `[`
/// at first.
class json_fields final : public visitor {
public:
    explicit json_fields(std::string& to) : to_(to), is_array_(to.ends_with('[')) {}

    bool has_tags() const noexcept { return has_tags_; }

    void take(const field& field, const value& value) override;
    void begin_array(const field& field) override { open(field, '[', true); }
    void end_array(const field&) override { close(']'); }
    void begin_struct(const field& field) override { open(field, '{', false); }
    void end_struct(const field&) override { close('}'); }

private:
    void begin(const field& field);
    void open(const field& field, char bracket, bool is_array);
    void close(char bracket);

    std::string& to_;
    std::string words_;
    bool has_tags_ = false;
    /// A bit for each struct and array that is open; the last one is the lowest. Structs are nested
    /// up to 8 deep, and each may be in an array.
    std::uint32_t is_array_;
};

} // namespace tool::eventheader
