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

/// The pages that the words of an input lie in, at the same address each time: some to write, one
/// to read, one of a file, then nothing. Knows which bits are registered.
class Memory {
public:
    Memory();

    /// Everything as at the start, with nothing registered.
    void reset();

    /// One of the addresses that mean something. Few of them are likely, so that operations meet.
    std::uint64_t address(unsigned code) const;

    /// Takes pages away, protects them, puts others in their place, and so on.
    int change(unsigned page, unsigned how, unsigned other_page);

    /// From now on the file's pages are those of the parent, too, with bits of its own.
    void in_child() { of_child_ = true; }

    using Bit = std::pair<std::uint64_t, unsigned>;
    bool registered(const Bit& bit) const { return bits_.contains(bit); }
    const std::map<Bit, unsigned>& bits() const { return bits_; }
    void add(const Bit& bit, unsigned size) { bits_.emplace(bit, size); }
    void remove(const Bit& bit) { bits_.erase(bit); }
    Bit nth_bit(unsigned n) const;

    /// Whether the word's page is one of the file, and so other processes' as well.
    bool is_of_file(const Bit& bit) const;

    /// The value of a bit, or nothing where the memory can't be read.
    static std::optional<bool> value(const Bit& bit);

    /// Makes every page writable, and maps new ones where there are none.
    void make_writable();

    using Contents = std::vector<std::uint8_t>;
    Contents contents() const;
    /// What is wrong, or nothing, when every bit registered is to be `state` and the others as
    /// they were before.
    std::string wrong(const Contents& before, bool state) const;

private:
    static constexpr unsigned pages = 6;

    std::uint8_t* page(unsigned number) const;
    int map_page(unsigned number, bool of_file);

    selftest::Descriptor file_;
    /// Which pages may be those of the file: what is written to one appears in another.
    std::array<bool, pages> of_file_{};
    bool of_child_ = false;
    /// The size of each bit's word.
    std::map<Bit, unsigned> bits_;
};

/// Bytes that end where no memory is: who reads beyond them is found out.
class Guarded {
public:
    explicit Guarded(std::size_t pages);

    /// Puts `bytes` there and returns their address, which is one that fits in 32 bits.
    std::uint64_t put(const void* bytes, std::size_t size);
    /// The same with `zeros` behind the bytes.
    std::uint64_t put(const void* bytes, std::size_t size, std::size_t zeros);
    std::uint64_t end() const { return reinterpret_cast<std::uint64_t>(memory_.at(size_)); }
    void protect(int protection);

private:
    std::size_t size_;
    selftest::Mapping memory_;
};

} // namespace calls
