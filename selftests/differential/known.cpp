// SPDX-License-Identifier: GPL-2.0-only
#include "known.hpp"

#include <functional>

using namespace selftest;

namespace differential {

namespace {

using Answer = std::function<bool(const Outcome&)>;

Answer error(int number) {
    return [number](const Outcome& outcome) { return outcome == fails(number); };
}

bool success(const Outcome& outcome) {
    return outcome.ok();
}

/// Where the module's answer is to be another one than that of the kernel's own user_events.
const struct {
    const char* point;
    std::function<bool(const Call&)> applies;
    Answer in_tree, ours;
} points[] = {
    {"a word that can't be written is EFAULT",
     [](const Call& call) { return call.kind == Call::register_event && !call.writable; },
     error(ENOMEM), error(EFAULT)},
    {"a payload that no recorder can hold is E2BIG",
     [](const Call& call) { return call.kind == Call::write && call.size > 4000; }, success,
     error(E2BIG)},
    {"a size that does not fit is EINVAL",
     [](const Call& call) {
         return (call.kind == Call::register_event || call.kind == Call::line) &&
                call.command.find("99999999999") != std::string::npos;
     },
     error(ERANGE), error(EINVAL)},
};

} // namespace

const char* known_difference(const Call& call, const Outcome& outcome, bool in_tree) {
    for (const auto& point : points)
        if (point.applies(call) && (in_tree ? point.in_tree : point.ours)(outcome))
            return point.point;
    return nullptr;
}

} // namespace differential
