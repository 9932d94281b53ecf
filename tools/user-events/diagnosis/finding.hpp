// SPDX-License-Identifier: GPL-2.0-or-later
// What a check of `doctor` has found.
#pragma once

#include <string>
#include <utility>

namespace tool::diagnosis {

enum class verdict { good, note, bad };

struct finding {
    diagnosis::verdict verdict;
    std::string found;
    /// The command that helps; empty if nothing is wrong.
    std::string remedy;
    /// Whether checks that need this one are left out, because what it looks for is not there.
    bool is_absent = false;
};

inline finding good(std::string found) {
    return {verdict::good, std::move(found), {}};
}

/// Something that is missing, but that not everybody needs.
inline finding note(std::string found, std::string remedy) {
    return {verdict::note, std::move(found), std::move(remedy)};
}

/// The same, for what other checks need.
inline finding absent(std::string found, std::string remedy) {
    return {verdict::note, std::move(found), std::move(remedy), true};
}

inline finding bad(std::string found, std::string remedy) {
    return {verdict::bad, std::move(found), std::move(remedy)};
}

} // namespace tool::diagnosis
