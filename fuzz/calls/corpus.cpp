// SPDX-License-Identifier: GPL-2.0-only
#include "corpus.hpp"

#include <algorithm>

namespace calls {

Coverage::Features Corpus::new_features(const Coverage::Features& features) const {
    Coverage::Features result;
    std::ranges::copy_if(features, std::back_inserter(result),
                         [&](std::uint32_t feature) { return !seen_.contains(feature); });
    return result;
}

void Corpus::keep(const Input& input, Coverage::Features features,
                  std::chrono::nanoseconds duration) {
    seen_.insert(features.begin(), features.end());
    kept_.push_back({input, std::move(features), duration});
}

const Corpus::Kept& Corpus::any_kept(Random& random) const {
    const std::size_t recent = std::min<std::size_t>(kept_.size(), 30);
    return random.below(3) == 0 ? kept_[kept_.size() - 1 - random.below(recent)]
                                : kept_[random.below(kept_.size())];
}

const Input& Corpus::any(Random& random) const {
    const Kept& one = any_kept(random);
    const Kept& another = any_kept(random);
    return one.duration < another.duration ? one.input : another.input;
}

std::vector<Input> Corpus::shortest() const {
    std::vector<const Kept*> by_duration;
    for (const Kept& kept : kept_)
        by_duration.push_back(&kept);
    std::ranges::stable_sort(by_duration, {}, [](const Kept* kept) { return kept->duration; });
    std::set<std::uint32_t> covered;
    std::vector<Input> inputs;
    for (const Kept* kept : by_duration) {
        const std::size_t before = covered.size();
        covered.insert(kept->features.begin(), kept->features.end());
        if (covered.size() > before)
            inputs.push_back(kept->input);
    }
    return inputs;
}

} // namespace calls
