// SPDX-License-Identifier: GPL-2.0-only
// How exact the quantiles of `report --stats` are: the number is that of the documentation.
#include "catch.hpp"
#include "recording/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

using tool::recording::distribution;

TEST_CASE("a quantile is exact to 1.6 %") {
    std::minstd_rand random(1);
    // Of all magnitudes, also negative ones and those below 1.
    std::uniform_real_distribution<> magnitude(-20, 60);
    for (const double sign : {1.0, -1.0})
        for (std::size_t count : {1, 2, 1000, 20'000}) {
            std::vector<double> numbers;
            distribution all;
            for (std::size_t i = 0; i < count; i++) {
                numbers.push_back(sign * std::exp2(magnitude(random)));
                all.add(numbers.back());
            }
            std::sort(numbers.begin(), numbers.end());
            for (const double part : {0.001, 0.5, 0.9, 0.99, 0.999, 1.0}) {
                const auto last = static_cast<std::size_t>(
                    std::max(std::ceil(part * static_cast<double>(count)) - 1, 0.0));
                CAPTURE(sign, count, part);
                CHECK(std::abs(all.quantile(part) / numbers[last] - 1) <= 0.016);
            }
        }
}

TEST_CASE("a quantile of integers below 128 is exact") {
    distribution all;
    for (int number = -127; number < 128; number++)
        all.add(number);
    for (int i = 1; i <= 255; i++)
        CHECK(all.quantile(i / 255.0) == i - 128);
}
