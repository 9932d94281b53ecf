// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/ring_buffer.hpp"

#include <algorithm>

namespace tool::recording {

namespace {

/// The page's header: a time, and a `long` with the size of what follows and two flags.
constexpr std::size_t time_size = 8;
constexpr std::uint64_t size_mask = (1 << 27) - 1;
constexpr std::uint64_t has_missing = 1U << 31;
constexpr std::uint64_t has_number_of_missing = 1U << 30;

/// What the head of a record says: its length in words, or one of these.
enum : unsigned { long_record = 0, padding = 29, time_extension = 30, time_stamp = 31 };
constexpr unsigned type_bits = 5;
constexpr unsigned delta_bits = 27;
constexpr std::size_t word = 4;
/// A time stamp in a page lacks these bits of the time.
constexpr std::uint64_t upper_bits = ~((std::uint64_t{1} << (delta_bits + 32)) - 1);

} // namespace

void page_records::load(bytes page) {
    page_ = page;
    data_ = {};
    missing_ = {};
    is_damaged_ = false;
    at_ = end_ = time_size + layout_.long_size;
    if (page.size() < at_) {
        damaged();
        return;
    }
    time_ = layout_.number(page.data(), time_size);
    const std::uint64_t commit = layout_.number(page.data() + time_size, layout_.long_size);
    const std::uint64_t size = commit & size_mask;
    if (size > page.size() - at_) {
        damaged();
        return;
    }
    end_ += static_cast<std::size_t>(size);
    if (commit & has_missing)
        missing_ = (commit & has_number_of_missing) && page.size() - end_ >= layout_.long_size
                       ? layout_.number(page.data() + end_, layout_.long_size)
                       : 0;
}

bool page_records::damaged() noexcept {
    is_damaged_ = true;
    at_ = end_;
    return false;
}

/// The record's bytes, behind its head.
bool page_records::take(std::size_t head, std::uint64_t size) {
    if (head > end_ - at_ || size > end_ - at_ - head)
        return damaged();
    data_ = page_.subspan(at_ + head, static_cast<std::size_t>(size));
    begin_ = at_;
    at_ += head + static_cast<std::size_t>((size + word - 1) / word * word);
    at_ = std::min(at_, end_);
    return true;
}

bool page_records::next() {
    while (end_ - at_ >= word) {
        const std::uint64_t head = layout_.number(page_.data() + at_, word);
        const auto type = static_cast<unsigned>(
            layout_.is_big_endian ? head >> delta_bits : head & ((1U << type_bits) - 1));
        const std::uint64_t delta =
            layout_.is_big_endian ? head & ((1U << delta_bits) - 1) : head >> type_bits;
        if (type != long_record && type < padding) {
            time_ += delta;
            return take(word, type * word);
        }
        if (end_ - at_ < 2 * word)
            return damaged();
        const std::uint64_t second = layout_.number(page_.data() + at_ + word, word);
        switch (type) {
        case long_record:
            time_ += delta;
            return second < word ? damaged() : take(2 * word, second - word);
        case padding:
            time_ += delta;
            // Without a time, the rest of the page is empty.
            if (!delta)
                at_ = end_;
            else if (!take(word, second))
                return false;
            break;
        case time_extension:
            time_ += delta | second << delta_bits;
            at_ += 2 * word;
            break;
        default:
            time_ = (time_ & upper_bits) | delta | second << delta_bits;
            at_ += 2 * word;
        }
    }
    return false;
}

void remove_older(std::span<std::byte> page, const page_layout& layout, std::uint64_t time) {
    page_records records(layout);
    records.load(page);
    while (records.next() && records.time() < time)
        ;
    const std::size_t start = time_size + layout.long_size;
    const std::size_t from = records.data().empty() ? start : records.begin();
    const auto put = [&](std::size_t at, std::uint64_t number, unsigned size) {
        write_number(page.subspan(at, size), number, layout.is_big_endian);
    };
    const std::uint64_t size =
        (layout.number(page.data() + time_size, layout.long_size) & size_mask) - (from - start);
    // The time is that of the page, so the record's distance from the one before is 0.
    put(0, records.time(), time_size);
    put(time_size, size, layout.long_size);
    std::copy(page.begin() + static_cast<std::ptrdiff_t>(from), page.end(),
              page.begin() + static_cast<std::ptrdiff_t>(start));
    const std::uint64_t head = layout.number(page.data() + start, word);
    put(start,
        layout.is_big_endian ? head >> delta_bits << delta_bits : head & ((1U << type_bits) - 1),
        word);
}

void ring_buffer::advance(bool take) {
    missing_ = {};
    while (!(has_record_ = records_.next())) {
        is_damaged_ |= records_.is_damaged();
        if (!take || !source_(page_))
            return;
        records_.load(page_);
        // Each of several pages without a record may have a number of missing records.
        if (const auto more = records_.missing())
            missing_ = missing_.value_or(0) + *more;
    }
}

/// Of the numbers of two buffers with records.
bool merged_buffers::is_later(std::size_t a, std::size_t b) const {
    const std::uint64_t time_of_a = buffers_[a]->time(), time_of_b = buffers_[b]->time();
    return time_of_a != time_of_b ? time_of_a > time_of_b : a > b;
}

void merged_buffers::refill() {
    waiting_.clear();
    for (std::size_t number = 0; number < buffers_.size(); number++) {
        if (!buffers_[number]->has_record())
            buffers_[number]->advance();
        if (buffers_[number]->has_record())
            waiting_.push_back(number);
    }
    std::make_heap(waiting_.begin(), waiting_.end(),
                   [this](std::size_t a, std::size_t b) { return is_later(a, b); });
}

std::optional<std::size_t> merged_buffers::first() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front());
}

void merged_buffers::advance_first(bool take) {
    const auto later = [this](std::size_t a, std::size_t b) { return is_later(a, b); };
    std::pop_heap(waiting_.begin(), waiting_.end(), later);
    buffers_[waiting_.back()]->advance(take);
    if (buffers_[waiting_.back()]->has_record())
        std::push_heap(waiting_.begin(), waiting_.end(), later);
    else
        waiting_.pop_back();
}

void merged_buffers::advance(std::size_t number) {
    buffers_[number]->advance();
    const auto later = [this](std::size_t a, std::size_t b) { return is_later(a, b); };
    if (!buffers_[number]->has_record())
        std::erase(waiting_, number);
    std::make_heap(waiting_.begin(), waiting_.end(), later);
}

bool merged_buffers::is_damaged() const {
    return std::any_of(buffers_.begin(), buffers_.end(),
                       [](const auto& buffer) { return buffer->is_damaged(); });
}

} // namespace tool::recording
