// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/reason.hpp"

#include "text/escape.hpp"

#include <iterator>

namespace tool::eventheader {

namespace {

/// In the order of the enumeration.
constexpr const char* words[] = {
    "",
    "its header is cut off",
    "its header has unknown flags",
    "an extension is cut off",
    "an extension has the kind 0",
    "it has metadata twice",
    "it has an activity twice",
    "its activity has neither 16 nor 32 bytes",
    "it has no metadata",
    "the event's name has no end",
    "it has more than 255 fields",
    "a field's name has no end",
    "the description of a field is cut off",
    "a field has an unknown encoding",
    "an array is both of constant and of variable length",
    "an array of constant length has no elements",
    "a struct has no fields",
    "structs are nested more than 8 deep",
    "a value is cut off",
    "a string has no end",
    "it has more than 4096 values",
    "bytes follow the last field",
    "its layout has an unknown version",
    "its extension is malformed",
    "its names are not known: the runtime of .NET sends them once in a session",
};
static_assert(std::size(words) == static_cast<std::size_t>(reason::names_not_known) + 1);

} // namespace

const char* words_of(reason reason) noexcept {
    return words[static_cast<std::size_t>(reason)];
}

std::string words_of(const failure& failure) {
    std::string result = words_of(failure.why);
    result += ": ";
    text::append_hexadecimal(result, failure.undecoded);
    return result;
}

} // namespace tool::eventheader
