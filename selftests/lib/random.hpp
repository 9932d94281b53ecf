// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <concepts>
#include <iterator>
#include <random>

namespace selftest {

/// A generator of random numbers that depend on the seed and the stream only, not on the machine.
class Random {
public:
    explicit Random(unsigned seed, unsigned stream = 0) : engine_(seed * 1000003U + stream) {}

    /// Returns a number below `limit`, which must not be 0.
    unsigned below(std::integral auto limit) {
        return static_cast<unsigned>((engine_() >> 8U) % static_cast<unsigned>(limit));
    }
    bool chance(unsigned percent) { return below(100) < percent; }
    template <typename Range>
    const auto& one_of(const Range& range) {
        return *std::next(std::begin(range), below(std::size(range)));
    }
    /// Returns one of `choices`, each as often as its member `weight` says.
    template <typename Range>
    const auto& one_by_weight(const Range& choices) {
        unsigned total = 0;
        for (const auto& choice : choices)
            total += choice.weight;
        unsigned at = below(total);
        auto found = std::begin(choices);
        for (; at >= found->weight; ++found)
            at -= found->weight;
        return *found;
    }

private:
    std::mt19937 engine_;
};

} // namespace selftest
