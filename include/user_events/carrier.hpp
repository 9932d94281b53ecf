// SPDX-License-Identifier: MIT
// How values are passed to functions that are not inline, so that the code around a disabled event
// needs no stack.
#pragma once

#include "version.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace USER_EVENTS_NAMESPACE::detail {

/// The type of a parameter: a value for which no general register is left is passed in a vector
/// register. On the stack it would cost a disabled event two instructions with clang 14, which
/// moves the stack pointer in the first instruction of a function, not where the stack is needed.
template <typename Value, bool InVector>
struct carrier {
    using type = Value;
};

#if defined __clang__ && defined __x86_64__ && defined __SSE2__

inline constexpr bool has_vectors = true;
typedef std::uint64_t two_words __attribute__((vector_size(16))); // NOLINT(modernize-use-using)

template <typename Value>
struct carrier<Value, true> {
    struct type {
        [[gnu::always_inline]] type(const Value& from) noexcept { // NOLINT(*-explicit-*)
            std::uint64_t words[2] = {};
            std::memcpy(words, &from, sizeof(from));
            both = two_words{words[0], words[1]};
        }
        [[gnu::always_inline]] operator Value() const noexcept { // NOLINT(*-explicit-*)
            struct bytes {
                std::byte of[sizeof(Value)];
            } copy;
            const std::uint64_t words[2] = {both[0], both[1]};
            std::memcpy(&copy, words, sizeof(copy));
            return __builtin_bit_cast(Value, copy);
        }

        two_words both;
    };
};

#else

inline constexpr bool has_vectors = false;

#endif

/// Tells which of some parameters go into vector registers, after others that take `used` of the
/// six general ones.
template <typename... Values>
constexpr auto in_vectors(std::size_t used) {
    struct {
        bool of[sizeof...(Values) + 1] = {};
    } result;
    [[maybe_unused]] std::size_t at = 0;
    [[maybe_unused]] const auto add = [&](std::size_t words, bool can_be) {
        result.of[at] = has_vectors && can_be && used + words > 6;
        used += can_be && !result.of[at] ? words : 0;
        at++;
    };
    (add((sizeof(Values) + 7) / 8, !std::is_floating_point_v<Values> &&
                                       std::is_trivially_copyable_v<Values> &&
                                       sizeof(Values) <= 16),
     ...);
    return result;
}

/// g++ needs no memory for what a function object captures, if the function is inline. clang does,
/// and reserves the memory also for an event that is not enabled. A small temporary function object
/// is passed in registers. A function object with a name is not copied, because its state may
/// change. One that makes numbers is inlined: clang then needs no memory for it, either.
template <typename Make>
inline constexpr bool is_passed_on =
#ifdef __clang__
    !std::is_reference_v<Make> && std::is_trivially_copyable_v<Make> && sizeof(Make) <= 16 &&
    !std::is_trivially_destructible_v<std::remove_cvref_t<decltype(std::declval<Make>()())>>;
#else
    false;
#endif

} // namespace USER_EVENTS_NAMESPACE::detail
