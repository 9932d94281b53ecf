// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "mapping.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace calls {

/// The pages that hold the words of an input, at a fixed address: four writable pages, one
/// read-only, one of a file, then no memory. Keeps a list of the registered bits.
class Memory {
public:
    Memory();

    /// Restores the initial state of the pages, with no registered bit.
    void reset();

    /// Maps `code` to an address. Few addresses are likely, so that operations often use the same
    /// ones.
    std::uint64_t address(unsigned code) const;

    /// Unmaps, maps, protects or moves a page, or gives the kernel advice on it. Returns 0, or -1
    /// with errno.
    int change(unsigned page, unsigned how, unsigned other_page);

    /// Called in a child: its parent may have registered other bits in the file's pages, which both
    /// share.
    void in_child() { is_child_ = true; }

    using Bit = std::pair<std::uint64_t, unsigned>;
    bool registered(const Bit& bit) const { return bits_.contains(bit); }
    const std::map<Bit, unsigned>& bits() const { return bits_; }
    void add(const Bit& bit, unsigned size) { bits_.emplace(bit, size); }
    void remove(const Bit& bit) { bits_.erase(bit); }
    Bit nth_bit(unsigned n) const;

    /// Returns whether the word is in a page of the file, which other processes share.
    bool is_of_file(const Bit& bit) const;

    /// Returns the value of a bit, or nothing if the memory cannot be read.
    static std::optional<bool> value(const Bit& bit);

    /// Makes every page writable. Maps a new page where there is none.
    void make_writable();

    using Contents = std::vector<std::uint8_t>;
    Contents contents() const;
    /// Checks that every registered bit is `state`, and that all other bits are as in `before`.
    /// Returns a description of the differences, or an empty string.
    std::string wrong(const Contents& before, bool state) const;

private:
    static constexpr unsigned pages = 6;

    std::uint8_t* page(unsigned number) const;
    int map_page(unsigned number, bool of_file);

    selftest::Descriptor file_;
    /// The pages that may be mappings of the file. They may share memory with each other.
    std::array<bool, pages> of_file_{};
    bool is_child_ = false;
    /// The registered bits, with the sizes of their words.
    std::map<Bit, unsigned> bits_;
};

/// Memory that is followed by an inaccessible page, so that an access beyond its end fails.
class Guarded {
public:
    explicit Guarded(std::size_t pages);

    /// Copies `bytes`, followed by `zeros` zero bytes, to the end of the memory. Returns their
    /// address, which fits in 32 bits.
    std::uint64_t put(const void* bytes, std::size_t size, std::size_t zeros = 0);
    std::uint64_t end() const { return reinterpret_cast<std::uint64_t>(memory_.at(size_)); }
    void protect(int protection);

private:
    std::size_t size_;
    selftest::Mapping memory_;
};

} // namespace calls
