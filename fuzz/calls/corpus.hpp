// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "coverage.hpp"
#include "input.hpp"
#include "mutation.hpp"

#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

namespace calls {

/// The inputs to keep: each had a feature that no earlier one had.
class Corpus {
public:
    /// Returns the features that no kept input has.
    Coverage::Features new_features(const Coverage::Features& features) const;
    void keep(const Input& input, Coverage::Features features, std::chrono::nanoseconds duration);

    bool empty() const { return kept_.empty(); }
    std::size_t size() const { return kept_.size(); }
    std::size_t nr_features() const { return seen_.size(); }

    /// Returns a random input. Prefers recent and fast ones.
    const Input& any(Random& random) const;

    /// Returns a small set of fast inputs that have all features together.
    std::vector<Input> shortest() const;

private:
    struct Kept {
        Input input;
        Coverage::Features features;
        std::chrono::nanoseconds duration;
    };
    const Kept& any_kept(Random& random) const;

    std::vector<Kept> kept_;
    std::set<std::uint32_t> seen_;
};

} // namespace calls
