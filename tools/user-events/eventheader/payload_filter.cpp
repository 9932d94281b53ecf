// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/payload_filter.hpp"

#include "eventheader/path.hpp"
#include "eventheader/walk.hpp"
#include "eventheader/words.hpp"
#include "text/glob.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace tool::eventheader {

namespace {

/// `404`, `-1`, `0x1f` or `1.5`.
std::optional<long double> to_number(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    std::string_view digits = text.substr(is_negative);
    const bool is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    digits.remove_prefix(is_hexadecimal ? 2 : 0);
    const auto signed_number = [&](long double number) { return is_negative ? -number : number; };
    if (const auto whole = text::to_number<std::uint64_t>(digits, is_hexadecimal ? 16 : 10))
        return signed_number(static_cast<long double>(*whole));
    if (is_hexadecimal || digits.starts_with('-'))
        return {};
    const auto real = text::to_number<double>(digits);
    return real ? std::optional(signed_number(*real)) : std::nullopt;
}

bool are_bits(long double number) {
    return number >= 0 && number < 0x1p64L && std::trunc(number) == number;
}

/// To the kernel, `[^` begins a set with this character; to libc, only `[!` has that.
std::string from_kernel_glob(std::string glob) {
    for (std::size_t at = 0; (at = glob.find("[^", at)) != glob.npos; at += 2)
        glob.insert(at + 1, "\\");
    return glob;
}

constexpr std::string_view origin_names[] = {"COMM", "CPU", "common_pid"};

} // namespace

void filter::release_expression::operator()(regex_t* expression) const noexcept {
    regfree(expression);
    delete expression;
}

bool filter::comparison::is_true_for(long double value) const {
    if (!number)
        return false;
    switch (relation) {
    case relation::equal:
        return value == *number;
    case relation::not_equal:
        return value != *number;
    case relation::less:
        return value < *number;
    case relation::less_or_equal:
        return value <= *number;
    case relation::greater:
        return value > *number;
    case relation::greater_or_equal:
        return value >= *number;
    case relation::has_bits:
        return are_bits(value) && are_bits(*number) &&
               (static_cast<std::uint64_t>(value) & static_cast<std::uint64_t>(*number));
    default:
        return false;
    }
}

bool filter::comparison::is_true_for(std::string_view value) const {
    switch (relation) {
    case relation::equal:
        return value == text;
    case relation::not_equal:
        return value != text;
    case relation::like:
        return text::is_glob_of(text, value);
    case relation::matches:
    case relation::does_not_match:
        return (regexec(expression.get(), std::string(value).c_str(), 0, nullptr, 0) == 0) ==
               (relation == relation::matches);
    default:
        return false;
    }
}

void filter::comparison::take(long double value) {
    is_found = is_known = true;
    is_true |= is_true_for(value);
}

void filter::comparison::take(std::string_view value) {
    is_found = is_known = true;
    is_true |= is_true_for(value);
}

/// Compares the fields that it visits.
class compared_fields final : public visitor {
public:
    explicit compared_fields(filter& filter) : filter_(filter) {}

    void take(const field& field, const value& value) override {
        for (const auto& each : filter_.comparisons_) {
            const std::string_view name = path_.is_in_array() ? array_ : field.name;
            if (name == each->last && is_named(path_.of(field), each->name))
                compare(*each, value);
        }
    }
    void begin_array(const field& field) override {
        path_.begin_array(field);
        array_ = field.name;
    }
    void end_array(const field&) override { path_.end(); }
    void begin_struct(const field& field) override { path_.begin_struct(field); }
    void end_struct(const field&) override { path_.end(); }

private:
    static bool is_named(const std::string& path, const std::string& name) {
        return path == name || (path.ends_with(name) && path[path.size() - name.size() - 1] == '.');
    }

    void compare(filter::comparison& with, const value& value) {
        const auto number = number_of(value);
        if (number && with.number && with.relation <= filter::relation::has_bits)
            return with.take(*number);
        words_.clear();
        if (value.meaning != meaning::null)
            append_words(words_, value);
        // The name of an errno is enough: "ENOENT" for "ENOENT(2)".
        std::string_view words = words_;
        if (value.meaning == meaning::error_number && with.text.find('(') == with.text.npos)
            words = words.substr(0, words.find('('));
        with.take(words);
    }

    filter& filter_;
    path path_{false};
    std::string_view array_;
    std::string words_;
};

void filter::compare_header(const shown_event& shown) {
    if (std::all_of(comparisons_.begin(), comparisons_.end(),
                    [](const auto& each) { return each->is_found; }))
        return;
    const event& event = shown.event;
    const struct {
        std::string_view name;
        std::uint64_t number;
        std::string_view word;
    } numbers[] = {
        {"level", event.level, level_name(event.level)},
        {"opcode", event.opcode, opcode_name(event.opcode)},
        {"keyword", shown.name.keyword, {}},
        {"id", event.id, {}},
        {"version", event.version, {}},
        {"tag", event.tag, {}},
    };
    std::string name;
    append_unescaped(name, name_of(event));
    const std::string activity = activity_text(event.activity);
    const std::string related = activity_text(event.related_activity);
    const std::pair<std::string_view, std::string_view> texts[] = {
        {"provider", shown.name.provider},
        {"event", name},
        {"activity", activity},
        {"related_activity", related},
    };
    for (const auto& each : comparisons_) {
        if (each->is_found)
            continue;
        for (const auto& row : numbers)
            if (row.name == each->name) {
                if (each->number)
                    each->take(static_cast<long double>(row.number));
                else
                    each->take(row.word);
            }
        for (const auto& [header, text] : texts)
            if (header == each->name)
                each->take(text);
    }
}

bool filter::end(const origin& origin) {
    for (const auto& each : comparisons_) {
        if (each->is_found)
            continue;
        if (each->name == "COMM")
            each->take(origin.task);
        else if (each->name == "CPU")
            each->take(static_cast<long double>(origin.cpu));
        else if (each->name == "common_pid")
            each->take(static_cast<long double>(origin.pid));
    }
    return result();
}

bool filter::result() const {
    std::vector<bool> values;
    const auto pop = [&] {
        const bool value = values.back();
        values.pop_back();
        return value;
    };
    for (const int step : program_) {
        if (step >= 0) {
            values.push_back(comparisons_[static_cast<std::size_t>(step)]->is_true);
        } else if (step == op_not) {
            values.back() = !values.back();
        } else {
            const bool right = pop(), left = pop();
            values.push_back(step == op_and ? left && right : left || right);
        }
    }
    return values.back();
}

bool filter::passes(const shown_event& shown, const origin& origin) {
    begin();
    compared_fields fields(*this);
    walk(shown.event, fields);
    compare_header(shown);
    return end(origin);
}

void filter::begin() {
    has_records_ = true;
    for (const auto& each : comparisons_)
        each->is_found = each->is_true = false;
}

void filter::take(std::string_view name, long double value) {
    for (const auto& each : comparisons_)
        if (each->name == name)
            each->take(value);
}

void filter::take(std::string_view name, std::string_view value) {
    for (const auto& each : comparisons_)
        if (each->name == name)
            each->take(value);
}

bool filter::compares(std::string_view name) const noexcept {
    return std::any_of(comparisons_.begin(), comparisons_.end(),
                       [&](const auto& each) { return each->name == name; });
}

std::vector<std::string> filter::names() const {
    std::vector<std::string> result;
    for (const auto& each : comparisons_)
        if (std::find(std::begin(origin_names), std::end(origin_names), each->name) ==
            std::end(origin_names))
            result.push_back(each->name);
    return result;
}

std::vector<std::string> filter::unknown_names() const {
    std::vector<std::string> result;
    for (const auto& each : comparisons_)
        if (has_records_ && !each->is_known)
            result.push_back(each->name);
    return result;
}

/// Makes the program, by precedence: `!`, `&&`, `||`.
class filter_parser {
public:
    explicit filter_parser(std::string_view text) : rest_(text) {}

    std::optional<filter> parse() {
        do {
            while (take("!") || take("("))
                operators_.push_back(taken_ == "!" ? filter::op_not : filter::op_open);
            if (!take_comparison())
                return {};
            apply_not();
            while (take(")")) {
                if (!close())
                    return {};
                apply_not();
            }
        } while (take_operator());
        skip_spaces();
        while (!operators_.empty() && operators_.back() != filter::op_open)
            apply();
        if (!operators_.empty() || !rest_.empty())
            return {};
        return std::move(made_);
    }

private:
    static bool is_of_name(char c) {
        return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
    }

    void skip_spaces() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    }
    bool take(std::string_view token) {
        skip_spaces();
        if (!rest_.starts_with(token))
            return false;
        taken_ = token;
        rest_.remove_prefix(token.size());
        return true;
    }
    std::string_view take_word() {
        skip_spaces();
        std::size_t end = 0;
        while (end < rest_.size() && is_of_name(rest_[end]))
            end++;
        const std::string_view result = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return result;
    }
    /// A text in quotes, a number or a word.
    bool take_text(std::string& to) {
        skip_spaces();
        if (rest_.empty())
            return false;
        if (const char quote = rest_.front(); quote == '"' || quote == '\'') {
            const auto end = rest_.find(quote, 1);
            if (end == rest_.npos)
                return false;
            to = rest_.substr(1, end - 1);
            rest_.remove_prefix(end + 1);
            return true;
        }
        to = take("-") ? "-" : "";
        to += take_word();
        return !to.empty() && to != "-";
    }

    bool take_comparison() {
        static constexpr struct {
            std::string_view token;
            filter::relation relation;
        } relations[] = {
            {"==", filter::relation::equal},         {"!=", filter::relation::not_equal},
            {"<=", filter::relation::less_or_equal}, {">=", filter::relation::greater_or_equal},
            {"=~", filter::relation::matches},       {"!~", filter::relation::does_not_match},
            {"<", filter::relation::less},           {">", filter::relation::greater},
            {"~", filter::relation::like},           {"&", filter::relation::has_bits},
        };
        auto made = std::make_unique<filter::comparison>();
        made->name = take_word();
        if (made->name.empty() || rest_.starts_with("&&"))
            return false;
        made->last = std::string_view(made->name).substr(made->name.rfind('.') + 1);
        for (const auto& row : relations)
            if (take(row.token)) {
                made->relation = row.relation;
                return take_text(made->text) && add(std::move(made));
            }
        return false;
    }

    bool add(std::unique_ptr<filter::comparison> made) {
        made->number = to_number(made->text);
        if (made->relation == filter::relation::like)
            made->text = from_kernel_glob(std::move(made->text));
        const bool is_expression = made->relation == filter::relation::matches ||
                                   made->relation == filter::relation::does_not_match;
        if (is_expression) {
            auto expression = std::make_unique<regex_t>();
            if (regcomp(expression.get(), made->text.c_str(),
                        REG_EXTENDED | REG_NOSUB | REG_ICASE) != 0)
                return false;
            made->expression.reset(expression.release());
        }
        const bool needs_number = made->relation >= filter::relation::less &&
                                  made->relation <= filter::relation::has_bits;
        if (needs_number && !made->number)
            return false;
        made_.program_.push_back(static_cast<int>(made_.comparisons_.size()));
        made_.comparisons_.push_back(std::move(made));
        return true;
    }

    bool take_operator() {
        if (!take("&&") && !take("||"))
            return false;
        const int op = taken_ == "&&" ? filter::op_and : filter::op_or;
        while (!operators_.empty() &&
               (operators_.back() == filter::op_and || operators_.back() == op))
            apply();
        operators_.push_back(op);
        return true;
    }
    void apply() {
        made_.program_.push_back(operators_.back());
        operators_.pop_back();
    }
    void apply_not() {
        while (!operators_.empty() && operators_.back() == filter::op_not)
            apply();
    }
    bool close() {
        while (!operators_.empty() && operators_.back() != filter::op_open)
            apply();
        if (operators_.empty())
            return false;
        operators_.pop_back();
        return true;
    }

    std::string_view rest_;
    std::string_view taken_;
    std::vector<int> operators_;
    filter made_;
};

std::optional<filter> filter::parse(std::string_view text) {
    return filter_parser(text).parse();
}

} // namespace tool::eventheader
