// SPDX-License-Identifier: GPL-2.0-or-later
// A visitor that writes JSON.
#pragma once

#include "eventheader/walk.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool::eventheader {

/// Appends the name of a member of an object, after a comma if it is not the first member. The name
/// needs no escapes.
void begin_member(std::string& to, std::string_view name);

/// Appends members of an object so that no name is there twice: the second `a` becomes `a_2`.
class member_names {
public:
    explicit member_names(std::string& to) : to_(to) {
        names_.reserve(usual_count);
        hashes_.reserve(usual_count);
    }

    /// Appends the name of the next member of the object that was opened last.
    void begin(std::string_view name);
    /// To be called before the members of a nested object, and close() after them.
    void open() {
        around_.push_back(first_);
        first_ = names_.size();
    }
    void close() {
        names_.resize(first_);
        hashes_.resize(first_);
        first_ = around_.back();
        around_.pop_back();
    }

private:
    static constexpr std::size_t usual_count = 16;
    /// Names are compared as they are in the text: what is no UTF-8 may look the same there.
    struct place {
        std::size_t begin;
        std::size_t size;
        /// Of the last name that was made of this one: a program may use one name thousands of
        /// times.
        unsigned last_number = 1;
    };
    std::string_view text_of(const place& name) const {
        return std::string_view(to_).substr(name.begin, name.size);
    }
    /// The place of this name in the object that was opened last; nullptr if there is none.
    place* find(std::string_view text, std::size_t hash);

    std::string& to_;
    std::vector<place> names_;
    /// Of the names, in the same order.
    std::vector<std::size_t> hashes_;
    /// Where the names of the object begin that was opened last, and of those around it.
    std::size_t first_ = 0;
    std::vector<std::size_t> around_;
};

/// Appends members of an object for the fields, or elements of an array if the text ends with `[`
/// at first.
class json_fields final : public visitor {
public:
    explicit json_fields(std::string& to) : to_(to), names_(to), is_array_(to.ends_with('[')) {}

    bool has_tags() const noexcept { return has_tags_; }

    void take(const field& field, const value& value) override;
    void begin_array(const field& field) override { open(field, '[', true); }
    void end_array(const field&) override { close(']'); }
    void begin_struct(const field& field) override {
        open(field, '{', false);
        names_.open();
    }
    void end_struct(const field&) override {
        names_.close();
        close('}');
    }
    /// Begins another member behind the fields.
    void begin_other(std::string_view name) { names_.begin(name); }

private:
    void begin(const field& field);
    void open(const field& field, char bracket, bool is_array);
    void close(char bracket);

    std::string& to_;
    member_names names_;
    std::string words_;
    bool has_tags_ = false;
    /// A bit for each struct and array that is open; the last one is the lowest. Structs are nested
    /// up to 8 deep, and each may be in an array.
    std::uint32_t is_array_;
};

} // namespace tool::eventheader
