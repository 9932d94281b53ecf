// SPDX-License-Identifier: GPL-2.0-or-later
// What records mean in a picture: slices of time on tracks, moments, and values of counters.
#pragma once

#include "export/exporter.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tool::exporting {

/// The fields of Perfetto's convention for kernel track events. nullptr for those that an event
/// lacks.
struct convention {
    explicit convention(const recording::event_type& event);

    bool is_slice() const noexcept { return type && slice_name; }
    bool is_counter() const noexcept { return counter_value; }
    /// Whether the field says only what the picture shows.
    bool has(const recording::field& field) const noexcept;

    const recording::field* type = nullptr;
    const recording::field* slice_name = nullptr;
    const recording::field* track_name = nullptr;
    const recording::field* counter_value = nullptr;
    const recording::field* scope = nullptr;
    /// Not of the convention: the library's option with_flow.
    const recording::field* flow = nullptr;
};

/// A row of slices, or a counter.
struct track {
    std::size_t number;
    std::string name;
    int process;
    int thread; // 0 if the track is not that of a thread
    /// Whether this is the thread's own row: that of the first event with slices in it.
    bool is_own;
    bool is_new;
};

/// Finds the tracks. Those of the convention are one for each event, name and scope. Without a
/// scope, slices are of the thread and counters of the process.
class track_table {
public:
    /// Returns the conventional fields of an event.
    const convention& convention_of(const recording::event_type& event);
    /// Returns the track of a record. `is_new` is set the first time.
    track of(const recording::record& record, const convention& fields);
    /// Returns a number that no other track has.
    std::size_t next() noexcept { return count_++; }

private:
    using key = std::tuple<int, std::string, std::uint64_t, bool>;

    std::unordered_map<int, convention> conventions_;
    std::map<key, track> tracks_;
    std::unordered_map<int, bool> threads_with_slices_;
    std::size_t count_ = 0;
};

/// Finds the ends that belong to the beginnings of --pair. `Begin` is what the caller wants to know
/// of a beginning.
template <typename Begin>
class pair_matcher {
public:
    enum class role { none, begin, end };
    struct match {
        pair_matcher::role role = role::none;
        std::size_t pair = 0;
        std::string key;
    };

    explicit pair_matcher(const std::vector<pair>& pairs) : pairs_(pairs), open_(pairs.size()) {}

    /// What a record is.
    match find(const recording::record& record) const {
        for (std::size_t i = 0; i < pairs_.size(); i++) {
            const auto is = [&](const std::string& name) {
                return record.event->name == name || record.event->registered_name() == name;
            };
            const bool begins = is(pairs_[i].begin);
            if (!begins && !is(pairs_[i].end))
                continue;
            if (const recording::field* const key = record.event->find(pairs_[i].key)) {
                match result{begins ? role::begin : role::end, i, {}};
                append_json(result.key, *key, read(*key, record.data));
                return result;
            }
        }
        return {};
    }

    /// A beginning. Returns the one that it replaces, which had no end.
    std::optional<Begin> open(const match& match, Begin begin) {
        const auto [at, is_new] = open_[match.pair].try_emplace(match.key, begin);
        if (is_new)
            return {};
        return std::exchange(at->second, std::move(begin));
    }

    /// An end. Returns its beginning, if there was one.
    std::optional<Begin> close(const match& match) {
        auto found = open_[match.pair].extract(match.key);
        if (found.empty())
            return {};
        return std::move(found.mapped());
    }

    /// Calls the function for the beginnings without an end.
    template <typename Function>
    void rest(Function function) {
        for (std::size_t i = 0; i < open_.size(); i++)
            for (auto& [key, begin] : open_[i])
                function(i, begin);
    }

    /// Removes all beginnings.
    void clear() {
        for (auto& begun : open_)
            begun.clear();
    }

    /// The name of what the match begins or ends: "request" for request_begin.
    std::string name_of(const match& match) const;

private:
    std::vector<pair> pairs_;
    std::vector<std::unordered_map<std::string, Begin>> open_;
};

/// The pairs of --pair, `BEGIN,END,KEY`. Throws text::usage_error.
std::vector<pair> to_pairs(const std::vector<std::string>& texts);

/// The name of what a pair of events begins and ends: "request" for request_begin.
std::string name_of(const pair& pair);

template <typename Begin>
std::string pair_matcher<Begin>::name_of(const match& match) const {
    return exporting::name_of(pairs_[match.pair]);
}

/// What a record of the convention begins or ends: a slice of its track.
struct slice_mark {
    enum class role { moment, begin, end };

    slice_mark::role role;
    /// The event's, if the record names none.
    std::string_view name;
};
slice_mark slice_mark_of(const recording::record& record, const convention& fields);

/// What a record whose payload describes itself begins or ends: its opcode says so. Records of one
/// activity belong together; without activities, those of one thread.
struct span_mark {
    enum class role { none, begin, end };

    span_mark::role role = role::none;
    // Empty if the payload cannot be decoded.
    std::string provider;
    /// The activity, or `thread 125`.
    std::string id;
    std::string name; // `Provider:Event`, of what begins or ends
};
span_mark span_mark_of(const recording::record& record);

/// Finds the beginnings that belong to ends. `Begin` is what the caller wants to know of a
/// beginning.
template <typename Begin>
class open_spans {
public:
    void open(const span_mark& mark, Begin begin) {
        open_[{mark.provider, mark.id}].push_back({mark.name, std::move(begin)});
    }

    /// The last beginning that has no end yet, or nullptr.
    const Begin* last(const span_mark& mark) const {
        const auto found = open_.find({mark.provider, mark.id});
        return found == open_.end() ? nullptr : &found->second.back().second;
    }

    /// An end. Returns the name of the beginning and what is known of it: the last one of this
    /// name, or the last one if start and stop have different names.
    std::optional<std::pair<std::string, Begin>> close(const span_mark& mark) {
        const auto found = open_.find({mark.provider, mark.id});
        if (found == open_.end())
            return {};
        auto& all = found->second;
        const auto same = std::find_if(all.rbegin(), all.rend(),
                                       [&](const auto& each) { return each.first == mark.name; });
        const auto at = same == all.rend() ? std::prev(all.end()) : std::prev(same.base());
        auto result = std::move(*at);
        all.erase(at);
        if (all.empty())
            open_.erase(found);
        return result;
    }

    /// Calls the function with provider, name and what is known, for the beginnings without an end.
    template <typename Function>
    void rest(Function function) {
        for (auto& [key, all] : open_)
            for (auto& [name, begin] : all)
                function(key.first, name, begin);
    }

    /// Removes all beginnings.
    void clear() { open_.clear(); }

private:
    std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::string, Begin>>> open_;
};

/// Lanes for slices that may overlap. Each takes the first free one.
class lanes {
public:
    std::size_t take();
    void free(std::size_t lane) { is_taken_[lane] = false; }

private:
    std::vector<bool> is_taken_;
};

} // namespace tool::exporting
