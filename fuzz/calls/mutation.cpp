// SPDX-License-Identifier: GPL-2.0-only
#include "mutation.hpp"

#include "dictionary.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace calls {

namespace {

/// Nothing is inserted into an input of this many operations: it would be slow, and hard to
/// analyse.
constexpr std::size_t operations_max = 20;
constexpr std::size_t text_max = 120;

/// The relative frequency of each kind among new random operations.
constexpr auto weights = std::to_array<unsigned>({
    3,  // open
    2,  // close
    1,  // duplicate
    16, // reg
    8,  // unreg
    4,  // del
    1,  // control
    14, // write
    6,  // line
    10, // event_file
    6,  // read
    4,  // perf
    4,  // perf_control
    3,  // fork
    3,  // reap
    5,  // map
    1,  // limit
    4,  // rule
    5,  // mark
    3,  // share
});
static_assert(weights.size() == kinds);

Kind any_kind(Random& random) {
    unsigned at = random.below(std::accumulate(weights.begin(), weights.end(), 0U));
    std::size_t kind = 0;
    for (; at >= weights.at(kind); kind++)
        at -= weights.at(kind);
    return static_cast<Kind>(kind);
}

/// Prefers small values, so that operations often use the same objects.
std::uint8_t any_argument(Random& random) {
    switch (random.below(8)) {
    case 0:
        return static_cast<std::uint8_t>(random.below(256));
    case 1:
        return static_cast<std::uint8_t>(random.below(16) * 16 + random.below(3));
    case 2:
        return static_cast<std::uint8_t>(random.below(20));
    case 3:
        return 0;
    default:
        return static_cast<std::uint8_t>(random.below(4));
    }
}

using Dictionary = std::span<const std::string_view>;

Dictionary dictionary_of(const Operation& operation, Random& random) {
    switch (operation.kind) {
    case Kind::write:
    case Kind::mark:
        return payloads;
    case Kind::perf_control:
        return filters;
    case Kind::rule:
        if (random.below(2))
            return rule_options;
        [[fallthrough]];
    case Kind::event_file:
        return random.below(2) ? Dictionary(filters) : Dictionary(triggers);
    default:
        return random.below(2) ? Dictionary(formats) : Dictionary(words);
    }
}

std::string any_text(const Operation& operation, Random& random) {
    std::string text(random.one_of(dictionary_of(operation, random)));
    if (operation.kind == Kind::write)
        for (unsigned more = random.below(5); more > 0; more--)
            text += random.one_of(payloads);
    return text;
}

void change_text(Operation& operation, Random& random) {
    std::string& text = operation.text;
    const std::size_t at = random.below(text.size() + 1);
    const std::size_t length = std::min<std::size_t>(random.below(8), text.size() - at);
    switch (random.below(5)) {
    case 0:
        text = any_text(operation, random);
        break;
    case 1:
        text.insert(at, random.one_of(dictionary_of(operation, random)));
        break;
    case 2:
        text.erase(at, length);
        break;
    case 3:
        text.insert(at, text.substr(at, length));
        break;
    default:
        if (at < text.size())
            text[at] = static_cast<char>(text[at] ^ (1U << random.below(8)));
    }
    if (text.size() > text_max)
        text.resize(text_max);
}

bool has_text(Kind kind) {
    return kind == Kind::reg || kind == Kind::line || kind == Kind::write ||
           kind == Kind::event_file || kind == Kind::perf_control || kind == Kind::rule ||
           kind == Kind::mark;
}

void change(Operation& operation, Random& random) {
    if (has_text(operation.kind) && random.below(3) == 0)
        return change_text(operation, random);
    operation.arguments.at(random.below(Operation::arguments_max)) = any_argument(random);
}

/// Returns a part of another input: its end, or any other part, with equal probability.
Input part_of(const Input& other, Random& random) {
    const std::size_t start = random.below(other.size());
    const std::size_t length =
        random.below(2) ? other.size() - start : 1 + random.below(other.size() - start);
    const auto from = other.begin() + static_cast<std::ptrdiff_t>(start);
    return {from, from + static_cast<std::ptrdiff_t>(length)};
}

void change_one(Input& input, const Input& other, Random& random) {
    const auto at = static_cast<std::ptrdiff_t>(random.below(input.size()));
    const bool full = input.size() >= operations_max;
    const unsigned choice = random.below(16);
    if (choice < 4 && !full) {
        input.insert(input.begin() + at + random.below(2), any_operation(random));
    } else if (choice < 5 && !full) {
        input.insert(input.begin() + at, Operation(input[random.below(input.size())]));
    } else if (choice < 7 && !full && !other.empty()) {
        const Input part = part_of(other, random);
        input.insert(input.begin() + at + random.below(2), part.begin(), part.end());
    } else if (choice < 9 && input.size() > 1) {
        input.erase(input.begin() + at);
    } else if (choice < 10) {
        std::swap(input[at], input[random.below(input.size())]);
    } else {
        change(input[at], random);
    }
}

} // namespace

Operation any_operation(Random& random) {
    Operation operation{any_kind(random), {}, {}};
    // Small arguments, so that operations often succeed and use the same objects.
    for (std::uint8_t& argument : operation.arguments)
        argument = static_cast<std::uint8_t>(random.below(1 + random.below(4)));
    switch (operation.kind) {
    case Kind::reg:
    case Kind::line:
        operation.text = random.one_of(formats);
        break;
    case Kind::write:
    case Kind::event_file:
    case Kind::perf_control:
    case Kind::rule:
    case Kind::mark:
        operation.text = any_text(operation, random);
        break;
    default:
        break;
    }
    if (random.below(2) == 0)
        change(operation, random);
    return operation;
}

void mutate(Input& input, const Input& other, Random& random) {
    if (input.empty())
        input.push_back(any_operation(random));
    for (unsigned changes = 1U << random.below(4); changes > 0; changes--)
        change_one(input, other, random);
}

} // namespace calls
