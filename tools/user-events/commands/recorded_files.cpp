// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/recorded_files.hpp"

#include "tracing/buffers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tool {

recorded_files::recorded_files(const record_options& given, const tracing::instance& in,
                               tracing::trace_dat what, recording_note& note)
    : given_(given), in_(in), what_(std::move(what)), note_(note), kept_(given.kept_parts()),
      writer_(given.output, kept_) {
    if (given.has_parts()) {
        const auto parts = tracing::part_numbers(given.output);
        for (const auto left : tracing::part_numbers(given.output, ".cpu"))
            if (std::binary_search(parts.begin(), parts.end(), left))
                tracing::remove_unfinished(given.output, left);
            else
                tracing::set_aside_unfinished(tracing::part_name(given.output, left));
        first_ = number_ = parts.empty() ? 1 : parts.back() + 1;
        head_size_ = tracing::head_size(what_, in);
    } else {
        tracing::set_aside_unfinished(given.output);
    }
    if (const auto wanted = given.wanted_stacks(); wanted.is_any())
        stacks_.emplace(in, wanted);
    begin();
}

void recorded_files::begin() {
    files_.emplace(in_, path(), false);
    const auto length =
        std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(given_.time));
    end_ = std::max(end_, clock::now() - length) + length;
}

/// What the present file is made of.
tracing::trace_dat recorded_files::present() {
    tracing::trace_dat result = what_;
    result.path = path();
    if (stacks_) {
        result.has_functions = given_.wanted_stacks().is_kernel;
        result.frames = stacks_->names(*files_);
    }
    return result;
}

/// Has the present part written by the writer's thread.
void recorded_files::begin_next() {
    note_.begin_part(number_ + 1, tracing::read_records(in_));
    auto complete = present();
    writer_.start(std::move(complete), in_, std::move(*files_));
    number_++;
    begin();
}

bool recorded_files::take() {
    // A page that was taken and for which there is no space is lost.
    files_->reserve(writer_.is_busy() ? written_size_ : 0);
    files_->take();
    take_stacks();
    if (number_ == 0)
        return is_full();
    const bool is_late = given_.time > 0 && clock::now() >= end_;
    if ((!is_full() && !is_late) || writer_.is_busy())
        return false;
    files_->take_rest(true);
    size_ += files_->size();
    written_size_ =
        files_->size() + head_size_ + files_->page_size() * (1 + files_->descriptors().size());
    begin_next();
    return false;
}

std::optional<double> recorded_files::keep_newest(double seconds) {
    constexpr double most = 1e9;
    files_->take_rest(false);
    // What is left out is not lost.
    note_.begin_part(number_, tracing::read_records(in_));
    const auto kept = files_->keep_newest(
        static_cast<std::uint64_t>((seconds > 0 ? std::min(seconds, most) : most) * 1e9));
    if (!kept)
        return std::nullopt;
    return static_cast<double>(*kept) / 1e9;
}

std::string recorded_files::next() {
    std::string written = path();
    begin_next();
    writer_.finish();
    return written;
}

std::string recorded_files::finish() {
    files_->take_rest(in_.is_mounted());
    writer_.finish();
    write_trace_dat(present(), in_, *files_);
    if (number_ == 0)
        return path();
    tracing::keep_parts(given_.output, kept_);
    const auto first = std::max(first_, number_ - std::min(number_, kept_) + 1);
    return number_ == first_
               ? path()
               : fmt::format("{} to {}", tracing::part_name(given_.output, first), path());
}

} // namespace tool
