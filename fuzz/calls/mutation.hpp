// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "input.hpp"

#include <random>

namespace calls {

/// The same numbers from the same seed, on any machine.
class Random {
public:
    explicit Random(unsigned seed) : engine_(seed | 1U) {}

    /// A number below `limit`, which is not 0.
    unsigned below(std::size_t limit) { return static_cast<unsigned>((engine_() >> 8U) % limit); }
    template <typename Range>
    const auto& one_of(const Range& range) {
        return range[below(std::size(range))];
    }

private:
    std::minstd_rand engine_;
};

/// Changes an input in some places: operations come, go and change places, a part of `other` is put
/// in, an argument or a text changes. It has at least one operation afterwards.
void mutate(Input& input, const Input& other, Random& random);

} // namespace calls
