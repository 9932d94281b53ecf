// SPDX-License-Identifier: GPL-2.0-or-later
// A filter such as `status >= 500 && http.path ~ "/tea*"`.
#pragma once

#include "eventheader/number.hpp"
#include "eventheader/show.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <regex.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool::eventheader {

/// What a filter compares of a record besides its payload: `comm`, `common_pid`, `cpu` and others.
struct origin {
    std::string_view task;
    int pid;
    int cpu;
    std::uint16_t type = 0;
    std::uint8_t flags = 0;
    std::uint8_t preempt_count = 0;
};

/// A comparison is true if it is true for one of the fields of this name, or one of the elements of
/// an array. A name is that of a field, or a dotted name from any struct on: `status` is
/// `PartC.status`, too. If no field has the name, it is that of the header.
class filter {
public:
    /// Returns nothing if the text is no filter.
    static std::optional<filter> parse(std::string_view text);

    /// The same filter as the kernel reads it: texts in quotes, one space between words. Empty if
    /// it has what the kernel cannot do: `=~`, `!~` and fractions.
    const std::string& kernel_text() const noexcept { return kernel_text_; }

    bool passes(const shown_event& shown, const origin& origin);

    /// The same for other fields: those that are taken between begin() and end().
    void begin();
    void take(std::string_view name, const number& value);
    void take(std::string_view name, std::string_view value);
    bool end(const origin& origin);

    /// Whether one of the comparisons is with this name.
    bool compares(std::string_view name) const noexcept;
    /// Whether a text, or a number, can be compared as this name is.
    bool suits(std::string_view name, bool is_text) const noexcept;
    /// The names that are compared, without those of an origin.
    std::vector<std::string> names() const;

    /// The names that none of the records so far has had; nothing if there was no record.
    std::vector<std::string> unknown_names() const;

private:
    friend class filter_parser;
    friend class compared_fields;

    enum class relation : std::uint8_t {
        equal,
        not_equal,
        less,
        less_or_equal,
        greater,
        greater_or_equal,
        has_bits,
        like,
        unlike,
        matches,
        does_not_match,
    };
    struct release_expression {
        void operator()(regex_t* expression) const noexcept;
    };
    struct comparison {
        std::string name;
        std::string_view last; // of the name; the text exists as long as the comparison
        filter::relation relation{};
        std::string text;
        /// What the text says as a number.
        std::optional<eventheader::number> number = {};
        /// The first and last numbers of the ranges in `CPUS{0-2,4}`.
        std::vector<std::pair<unsigned, unsigned>> cpus = {};
        std::unique_ptr<regex_t, release_expression> expression = {};
        // Of the record that is looked at.
        bool is_found = false;
        bool is_true = false;
        /// Of any record.
        bool is_known = false;

        bool is_true_for(const eventheader::number& value) const;
        bool is_true_for(std::string_view value) const;
        bool is_true_for_cpu(long double value) const;
        template <typename Number>
        bool holds(Number value, Number with) const;
        void take(const eventheader::number& value);
        void take(std::string_view value);
    };
    /// In postfix order: the number of a comparison, or an operator.
    enum : int { op_and = -1, op_or = -2, op_not = -3, op_open = -4 };

    filter() = default;
    void compare_header(const shown_event& shown);
    bool result() const;

    std::vector<std::unique_ptr<comparison>> comparisons_;
    bool has_records_ = false;
    std::vector<int> program_;
    std::string kernel_text_;
};

} // namespace tool::eventheader
