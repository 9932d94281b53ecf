// SPDX-License-Identifier: GPL-2.0-only
// What the decoder finds in a payload, as one line of text.
#pragma once

#include "eventheader/walk.hpp"
#include "eventheader/words.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace eventheader_test {

using tool::eventheader::reason;

/// Writes ` a=1 b=[1,2] c={ d=1 }`. Text is as it is.
class lister final : public tool::eventheader::visitor {
public:
    using field = tool::eventheader::field;

    void take(const field& field, const tool::eventheader::value& value) override {
        begin(field);
        values++;
        if (value.meaning == tool::eventheader::meaning::null)
            text += "null";
        else
            append_words(text, value);
    }
    void begin_array(const field& field) override {
        begin(field);
        text += '[';
        open_ += '[';
    }
    void end_array(const field&) override {
        text += ']';
        open_.pop_back();
    }
    void begin_struct(const field& field) override {
        begin(field);
        text += '{';
        open_ += '{';
    }
    void end_struct(const field&) override {
        text += " }";
        open_.pop_back();
    }

    std::string text;
    unsigned values = 0;

private:
    void begin(const field& field) {
        if (open_.ends_with('[')) {
            open_.back() = ',';
            return;
        }
        if (open_.ends_with(',')) {
            text += ',';
            return;
        }
        text += ' ';
        text += field.name;
        if (field.has_tag)
            text += "#" + std::to_string(field.tag);
        text += '=';
    }

    /// `{` for a struct, `[` for an array, `,` for one that has elements.
    std::string open_;
};

struct decoded {
    std::string text; // without the first space
    unsigned values = 0;
    reason why = reason::none;
    std::string undecoded;
};

/// The payload is in memory of just its size, so that AddressSanitizer sees each access behind it.
class payload_copy {
public:
    explicit payload_copy(std::string_view payload)
        : data_(std::make_unique<std::byte[]>(payload.size())), size_(payload.size()) {
        std::memcpy(data_.get(), payload.data(), payload.size());
    }
    tool::eventheader::bytes bytes() const { return {data_.get(), size_}; }

private:
    std::unique_ptr<std::byte[]> data_;
    std::size_t size_;
};

inline decoded decode(std::string_view payload) {
    const payload_copy copy(payload);
    lister lister;
    const auto failure = walk(tool::eventheader::to_event(copy.bytes()), lister);
    const auto left = tool::eventheader::to_text(failure.undecoded);
    return {lister.text.substr(lister.text.empty() ? 0 : 1), lister.values, failure.why,
            std::string(left)};
}

} // namespace eventheader_test
