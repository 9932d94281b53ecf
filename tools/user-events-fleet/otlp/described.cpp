// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/described.hpp"

#include "eventheader/path.hpp"
#include "eventheader/words.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tool::otlp {

namespace {

using eventheader::failure;
using eventheader::meaning;

void set_words(message::AnyValue& to, const eventheader::value& value) {
    std::string& words = *to.mutable_string_value();
    words.clear();
    append_words(words, value);
}

/// Numbers, truth values and bytes are that in OTLP, too; the rest is text. A program may write
/// other truth values than 0 and 1.
void set(message::AnyValue& to, const eventheader::value& value) {
    switch (value.meaning) {
    case meaning::null:
        return to.clear_value();
    case meaning::natural:
    case meaning::port:
        return set_natural(to, value.natural());
    case meaning::integer:
    case meaning::process:
        return to.set_int_value(value.integer());
    case meaning::real:
        return to.set_double_value(value.real());
    case meaning::bytes:
        return to.set_bytes_value(value.data.data(), value.data.size());
    case meaning::hexadecimal:
        if (value.data.size() <= sizeof(std::uint64_t))
            return set_natural(to, value.natural());
        return set_words(to, value);
    case meaning::truth:
        if (value.natural() <= 1)
            return to.set_bool_value(value.natural() == 1);
        return set_words(to, value);
    default:
        return set_words(to, value);
    }
}

/// Makes names unlike each other. Two of the same hash count as the same. A program may use one
/// name thousands of times.
class distinct_names {
public:
    distinct_names() { hashes_.reserve(usual_count); }

    std::string to_distinct(std::string_view name) {
        std::string result(name);
        if (add(result))
            return result;
        unsigned& last = last_numbers_.try_emplace(result, 1).first->second;
        do
            result = fmt::format("{}_{}", name, ++last);
        while (!add(result));
        return result;
    }

private:
    bool add(const std::string& name) {
        const std::size_t hash = std::hash<std::string>()(name);
        if (std::find(hashes_.begin(), hashes_.end(), hash) != hashes_.end())
            return false;
        hashes_.push_back(hash);
        return true;
    }

    static constexpr std::size_t usual_count = 16;

    std::vector<std::size_t> hashes_;
    std::map<std::string, unsigned> last_numbers_;
};

class attribute_fields final : public eventheader::visitor {
public:
    explicit attribute_fields(attributes& to) : to_(to) {}

    void take(const eventheader::field& field, const eventheader::value& value) override {
        set(open_.empty() ? attribute(path_.of(field)) : member(field), value);
    }
    void begin_array(const eventheader::field& field) override {
        if (open_.empty()) {
            path_.begin_array(field);
            open(attribute(path_.text()), true);
        } else {
            open(member(field), true);
        }
    }
    void end_array(const eventheader::field&) override {
        open_.pop_back();
        if (open_.empty())
            path_.end();
    }
    void begin_struct(const eventheader::field& field) override {
        if (open_.empty())
            path_.begin_struct(field);
        else
            open(member(field), false);
    }
    void end_struct(const eventheader::field&) override {
        if (open_.empty())
            path_.end();
        else
            open_.pop_back();
    }

private:
    /// An array, or a struct in one.
    struct container {
        message::AnyValue* value;
        bool is_array;
        distinct_names names = {};
    };

    message::AnyValue& attribute(const std::string& name) {
        return to_.next(names_.to_distinct(is_of_origin(name) ? "field." + name : name));
    }
    message::AnyValue& member(const eventheader::field& field) {
        container& in = open_.back();
        if (in.is_array)
            return *in.value->mutable_array_value()->add_values();
        message::KeyValue& added = *in.value->mutable_kvlist_value()->add_values();
        assign_utf8(*added.mutable_key(), in.names.to_distinct(field.name));
        return *added.mutable_value();
    }
    void open(message::AnyValue& value, bool is_array) {
        if (is_array)
            value.mutable_array_value()->clear_values();
        else
            value.mutable_kvlist_value()->clear_values();
        open_.push_back({&value, is_array});
    }

    attributes& to_;
    eventheader::path path_;
    distinct_names names_;
    std::vector<container> open_;
};

void add_bytes(attributes& to, std::string_view key, eventheader::bytes data) {
    to.next(key).set_bytes_value(data.data(), data.size());
}

void add_text(attributes& to, std::string_view key, std::string_view text) {
    if (!text.empty())
        to.add(key, text);
}

void add_number(attributes& to, std::string_view key, std::uint64_t number) {
    if (number)
        set_natural(to.next(key), number);
}

} // namespace

void add_described(attributes& to, const eventheader::shown_event& from) {
    attribute_fields fields(to);
    const failure failure = walk(from.event, fields);
    if (failure.why == eventheader::reason::none)
        return;
    to.add("user_events.error", words_of(failure.why));
    add_bytes(to, "user_events.undecoded", failure.undecoded);
}

void add_header(attributes& to, const eventheader::shown_event& shown) {
    const eventheader::event& event = shown.event;
    add_text(to, "user_events.tracepoint", shown.tracepoint);
    add_text(to, "user_events.provider", shown.name.provider);
    add_text(to, "user_events.group", group_of(shown.name));
    add_number(to, "user_events.keyword", shown.name.keyword);
    add_text(to, "user_events.opcode", event.opcode ? eventheader::opcode_text(event.opcode) : "");
    add_number(to, "user_events.id", event.id);
    add_number(to, "user_events.version", event.version);
    add_number(to, "user_events.tag", event.tag);
    add_text(to, "user_events.activity", eventheader::activity_text(event.activity));
    add_text(to, "user_events.related_activity",
             eventheader::activity_text(event.related_activity));
}

} // namespace tool::otlp
