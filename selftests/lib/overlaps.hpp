// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "mapping.hpp"

#include <atomic>
#include <sys/mman.h>
#include <utility>

namespace selftest {

/// Counts calls during which other tasks made calls, too. For processes, the object has to be in
/// memory that they share; memory that is all zeros is its first state.
class Overlaps {
public:
    /// Makes a call of one of the other tasks.
    template <typename Call>
    decltype(auto) theirs(Call&& call) {
        const Inside inside(*this);
        return std::forward<Call>(call)();
    }
    /// Makes a call that is counted if it overlaps with one of theirs.
    template <typename Call>
    decltype(auto) ours(Call&& call) {
        const Counting counting(*this);
        return std::forward<Call>(call)();
    }
    unsigned long count() const { return count_; }
    /// Returns how many calls the other tasks have begun.
    unsigned long begun() const { return begun_; }

private:
    struct Inside {
        explicit Inside(Overlaps& of) : overlaps(of) {
            overlaps.inside_++;
            overlaps.begun_++;
        }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;
        ~Inside() { overlaps.inside_--; }

        Overlaps& overlaps;
    };
    struct Counting {
        explicit Counting(Overlaps& of)
            : overlaps(of), begun(of.begun_), overlapped(of.inside_ > 0) {}
        Counting(const Counting&) = delete;
        Counting& operator=(const Counting&) = delete;
        ~Counting() { overlaps.count_ += overlapped || overlaps.begun_ != begun; }

        Overlaps& overlaps;
        const unsigned long begun;
        const bool overlapped;
    };

    std::atomic<unsigned long> inside_{0}, begun_{0}, count_{0};
};

/// Overlaps of the calls of the processes that fork while it exists.
class SharedOverlaps {
public:
    Overlaps* operator->() const { return memory_.at<Overlaps>(); }

private:
    Mapping memory_{1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
};

} // namespace selftest
