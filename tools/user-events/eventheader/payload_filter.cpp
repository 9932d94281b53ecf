// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/payload_filter.hpp"

#include "eventheader/path.hpp"
#include "eventheader/walk.hpp"
#include "eventheader/words.hpp"
#include "text/glob.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

namespace tool::eventheader {

namespace {

/// `404`, `-1`, `0x1f`, `017` or `1.5`. A negative integer is signed.
std::optional<number> to_number(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    std::string_view digits = text.substr(is_negative);
    const bool is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    const bool is_octal = !is_hexadecimal && digits.size() > 1 && digits.front() == '0' &&
                          digits.find('.') == digits.npos;
    digits.remove_prefix(is_hexadecimal ? 2 : 0);
    const int base = is_hexadecimal ? 16 : is_octal ? 8 : 10;
    constexpr std::uint64_t most_negative = std::uint64_t{1} << 63;
    if (const auto whole = text::to_number<std::uint64_t>(digits, base);
        whole && (!is_negative || *whole <= most_negative))
        return is_negative ? number::of_integer(static_cast<std::int64_t>(-*whole))
                           : number::of_natural(*whole);
    if (base != 10 || digits.starts_with('-'))
        return {};
    const auto real = text::to_number<double>(digits);
    return real ? std::optional(number::of_real(is_negative ? -*real : *real)) : std::nullopt;
}

/// To the kernel, `[^` begins a set with this character; to libc, only `[!` has that.
std::string from_kernel_glob(std::string glob) {
    for (std::size_t at = 0; (at = glob.find("[^", at)) != glob.npos; at += 2)
        glob.insert(at + 1, "\\");
    return glob;
}

constexpr std::string_view origin_names[] = {
    "COMM",        "comm",         "CPU",
    "cpu",         "common_cpu",   "common_pid",
    "common_type", "common_flags", "common_preempt_count",
};

} // namespace

void filter::release_expression::operator()(regex_t* expression) const noexcept {
    regfree(expression);
    delete expression;
}

template <typename Number>
bool filter::comparison::holds(Number value, Number with) const {
    switch (relation) {
    case relation::equal:
        return value == with;
    case relation::not_equal:
        return value != with;
    case relation::less:
        return value < with;
    case relation::less_or_equal:
        return value <= with;
    case relation::greater:
        return value > with;
    case relation::greater_or_equal:
        return value >= with;
    case relation::has_bits:
        if constexpr (std::is_integral_v<Number>)
            return (value & with) != 0;
        return false;
    default:
        return false;
    }
}

/// A number equals a set that has no other number, and has a bit of any set that it is in.
bool filter::comparison::is_true_for_cpu(long double value) const {
    const bool is_in = std::any_of(cpus.begin(), cpus.end(), [value](const auto& range) {
        return value >= range.first && value <= range.second;
    });
    const bool is_equal = is_in && cpus.size() == 1 && cpus[0].first == cpus[0].second;
    return relation == relation::has_bits ? is_in : is_equal == (relation == relation::equal);
}

/// As the kernel has it: an integer is compared as one of the field's type.
bool filter::comparison::is_true_for(const eventheader::number& value) const {
    if (!cpus.empty())
        return is_true_for_cpu(value.value());
    if (!number)
        return false;
    if (value.is_real() || number->is_real())
        return holds(value.value(), number->value());
    const unsigned unused = 64 - 8 * value.size;
    const std::uint64_t with = number->bits << unused;
    if (value.is_signed)
        return holds(static_cast<std::int64_t>(value.bits),
                     static_cast<std::int64_t>(with) >> unused);
    // A negative number, which the kernel refuses here, equals no value.
    if (number->is_signed && relation != relation::has_bits)
        return holds(value.value(), number->value());
    return holds(value.bits, with >> unused);
}

bool filter::comparison::is_true_for(std::string_view value) const {
    switch (relation) {
    case relation::equal:
        return value == text;
    case relation::not_equal:
        return value != text;
    case relation::like:
    case relation::unlike:
        return text::is_glob_of(text, value) == (relation == relation::like);
    case relation::matches:
    case relation::does_not_match:
        return (regexec(expression.get(), std::string(value).c_str(), 0, nullptr, 0) == 0) ==
               (relation == relation::matches);
    default:
        return false;
    }
}

void filter::comparison::take(const eventheader::number& value) {
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
                    each->take(number::of_natural(row.number));
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
        const std::string_view name = each->name;
        if (name == "COMM" || name == "comm")
            each->take(origin.task);
        else if (name == "CPU" || name == "cpu" || name == "common_cpu")
            each->take(number::of_integer(origin.cpu, 4));
        else if (name == "common_pid")
            each->take(number::of_integer(origin.pid, 4));
        else if (name == "common_type")
            each->take(number::of_natural(origin.type, 2));
        else if (name == "common_flags")
            each->take(number::of_natural(origin.flags, 1));
        else if (name == "common_preempt_count")
            each->take(number::of_natural(origin.preempt_count, 1));
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

void filter::take(std::string_view name, const number& value) {
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

bool filter::suits(std::string_view name, bool is_text) const noexcept {
    return std::all_of(comparisons_.begin(), comparisons_.end(), [&](const auto& each) {
        const bool is_of_numbers =
            each->relation >= relation::less && each->relation <= relation::has_bits;
        const bool is_of_texts = each->relation >= relation::like || !each->number;
        return each->name != name || !(is_text ? is_of_numbers : is_of_texts);
    });
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
            while (take("!") || take("(")) {
                operators_.push_back(taken_ == "!" ? filter::op_not : filter::op_open);
                made_.kernel_text_ += taken_;
            }
            if (!take_comparison())
                return {};
            apply_not();
            while (take(")")) {
                if (!close())
                    return {};
                apply_not();
                made_.kernel_text_ += taken_;
            }
        } while (take_operator());
        skip_spaces();
        while (!operators_.empty() && operators_.back() != filter::op_open)
            apply();
        if (!operators_.empty() || !rest_.empty())
            return {};
        if (!is_for_kernel_)
            made_.kernel_text_.clear();
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
                skip_spaces();
                const std::string_view begin = rest_;
                if (!(take("CPUS{") ? take_cpus(*made) : take_text(made->text)))
                    return false;
                const auto value = begin.substr(0, begin.size() - rest_.size());
                append_for_kernel(*made, row.token, value);
                return add(std::move(made));
            }
        return false;
    }

    /// The kernel wants all texts but the names of functions in quotes.
    void append_for_kernel(const filter::comparison& made, std::string_view relation,
                           std::string_view value) {
        const auto number = to_number(made.text);
        const bool is_plain = !made.cpus.empty() || number || value.front() == '"' ||
                              value.front() == '\'' || made.name.ends_with(".function");
        const std::string_view quote = is_plain ? "" : "\"";
        for (const std::string_view part : {std::string_view(made.name), std::string_view(" "),
                                            relation, std::string_view(" "), quote, value, quote})
            made_.kernel_text_ += part;
        is_for_kernel_ &= relation != "=~" && relation != "!~" && !(number && number->is_real());
    }

    bool take_cpus(filter::comparison& to) {
        do {
            const auto first = text::to_number<unsigned>(take_word());
            const auto last = first && take("-") ? text::to_number<unsigned>(take_word()) : first;
            if (!first || !last || *last < *first)
                return false;
            to.cpus.emplace_back(*first, *last);
        } while (take(","));
        to.number = number::of_natural(to.cpus[0].first);
        return take("}") && (to.relation == filter::relation::equal ||
                             to.relation == filter::relation::not_equal ||
                             to.relation == filter::relation::has_bits);
    }

    bool add(std::unique_ptr<filter::comparison> made) {
        if (made->cpus.empty())
            made->number = to_number(made->text);
        if (made->relation == filter::relation::like) {
            if (made->text.starts_with('!')) {
                made->relation = filter::relation::unlike;
                made->text.erase(0, 1);
            }
            made->text = from_kernel_glob(std::move(made->text));
        }
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
        const bool needs_integer = made->relation == filter::relation::has_bits;
        if ((needs_number && !made->number) || (needs_integer && made->number->is_real()))
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
        ((made_.kernel_text_ += ' ') += taken_) += ' ';
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
    bool is_for_kernel_ = true;
    filter made_;
};

std::optional<filter> filter::parse(std::string_view text) {
    return filter_parser(text).parse();
}

} // namespace tool::eventheader
