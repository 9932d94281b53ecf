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

Answer either(int one, int other) {
    return [=](const Outcome& outcome) { return outcome == fails(one) || outcome == fails(other); };
}

bool success(const Outcome& outcome) {
    return outcome.ok();
}

/// Where the module's answer is to be another one than that of the kernel's own user_events.
const struct {
    const char* point;
    std::function<bool(const Call&)> applies;
    Answer in_tree, ours;
    bool parts = false;
} points[] = {
    // In-tree the event stays as long as the file, and has an index.
    {"a word that can't be written is EFAULT, and nothing is left",
     [](const Call& call) { return call.kind == Call::register_event && !call.writable; },
     error(ENOMEM), error(EFAULT), true},
    // It is judged all the same, which in-tree it is not.
    {"a payload that no recorder can hold is E2BIG, or EFAULT",
     [](const Call& call) { return call.kind == Call::write && call.size > 4000; }, success,
     either(E2BIG, EFAULT)},
    // In-tree it is an error number by itself.
    {"a size that does not fit is EINVAL",
     [](const Call& call) {
         return (call.kind == Call::register_event || call.kind == Call::line) &&
                call.command.find("4294967294") != std::string::npos;
     },
     either(ENOENT, EINVAL), error(EINVAL)},
    // In-tree those of its events that come before the one in use are gone.
    {"a name of which an event is in use keeps all of its events",
     [](const Call& call) { return call.kind == Call::remove && call.several; }, error(EBUSY),
     error(EBUSY), true},
};

} // namespace

std::optional<Difference> known_difference(const Call& call, const Outcome& outcome, bool in_tree) {
    for (const auto& point : points)
        if (point.applies(call) && (in_tree ? point.in_tree : point.ours)(outcome))
            return Difference{point.point, point.parts};
    return std::nullopt;
}

} // namespace differential
