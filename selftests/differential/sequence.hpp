// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "known.hpp"
#include "mapping.hpp"
#include "user_events.hpp"

#include <array>
#include <cstdio>
#include <random>
#include <vector>

namespace differential {

/// A sequence of random operations. It says what each of them answered, and what is in its memory
/// afterwards, a line each: the same lines from the same seed, whoever serves the calls. What it
/// leaves behind goes with the object.
class Sequence {
public:
    Sequence(unsigned seed, bool in_tree);
    ~Sequence();
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;

    void run(unsigned operations);

private:
    struct Word {
        std::size_t offset;
        unsigned bit;
    };

    unsigned below(unsigned limit) { return static_cast<unsigned>(engine_() >> 8U) % limit; }
    template <typename Range>
    const auto& one_of(const Range& range) {
        return range[below(static_cast<unsigned>(std::size(range)))];
    }

    void act();
    void open_file();
    void close_file();
    void register_event();
    void unregister();
    void remove();
    void write();
    void enable();
    void line();
    void status();
    void fork_child();

    std::size_t any_offset();
    int any_file() { return files_[below(static_cast<unsigned>(files_.size()))]; }
    void say(const std::string& what, const Call& call, const selftest::Outcome& outcome);
    void say(const std::string& what, const std::string& answer);
    std::string memory() const;

    std::mt19937 engine_;
    bool in_tree_;
    bool parted_ = false;
    std::string prefix_;
    std::array<int, 3> files_;
    /// One page to write, one only to read, one that is not there.
    selftest::Mapping memory_{3};
    std::vector<Word> words_;
};

} // namespace differential
