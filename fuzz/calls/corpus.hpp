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

/// The inputs that are worth something: each reached what none before it had.
class Corpus {
public:
    /// The features that no input kept has.
    Coverage::Features news(const Coverage::Features& features) const;
    void keep(const Input& input, Coverage::Features features, std::chrono::nanoseconds duration);

    bool empty() const { return kept_.empty(); }
    std::size_t size() const { return kept_.size(); }
    std::size_t nr_features() const { return seen_.size(); }

    /// Any; those kept last and those that take less time more often.
    const Input& any(Random& random) const;

    /// Few ones, and quick ones, that have all features there are.
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
