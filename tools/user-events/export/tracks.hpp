// SPDX-License-Identifier: GPL-2.0-or-later
// What records mean in a picture: slices of time on tracks, moments, and values of counters.
#pragma once

#include "export/exporter.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
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

/// What tells tracks of the convention apart.
struct track_key {
    int machine = 0; // the distance of its numbers
    int event = 0;
    std::string name; // empty if the record names no track
    /// Without a scope, slices are of the thread and counters of the process.
    std::uint64_t scope = 0;
    bool has_slices = false;

    auto operator<=>(const track_key&) const = default;
};
track_key track_key_of(const recording::record& record, const convention& fields);

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

/// Finds the tracks. Those of the convention are one for each track_key.
class track_table {
public:
    /// Returns the conventional fields of an event.
    const convention& convention_of(const recording::event_type& event);
    /// Returns the track of a record. `is_new` is set the first time.
    track of(const recording::record& record, const convention& fields);
    /// Returns a number that no other track has.
    std::size_t next() noexcept { return count_++; }

private:
    std::unordered_map<int, convention> conventions_;
    std::map<track_key, track> tracks_;
    std::unordered_map<int, bool> threads_with_slices_;
    std::size_t count_ = 0;
};

/// The pairs of --pair, `BEGIN,END,KEY`. Throws text::usage_error.
std::vector<pair> to_pairs(const std::vector<std::string>& texts);

/// What a record of the convention begins or ends: a slice of its track.
struct slice_mark {
    enum class role { moment, begin, end };

    slice_mark::role role;
    /// The event's, if the record names none.
    std::string_view name;
};
slice_mark slice_mark_of(const recording::record& record, const convention& fields);

/// What belongs together: the records of an activity of a provider; without activities, those of a
/// thread; or those of a pair of --pair with the same value in the field.
struct span_key {
    static constexpr auto no_pair = static_cast<std::size_t>(-1);

    std::size_t pair = no_pair;
    std::string group; // the provider, empty if the payload cannot be decoded; or the pair's name
    std::string id;    // the activity, or `thread 125`; or the value, as JSON

    bool is_pair() const noexcept { return pair != no_pair; }
    bool operator==(const span_key&) const = default;

    struct hash {
        std::size_t operator()(const span_key& key) const noexcept {
            const std::hash<std::string> of;
            return (of(key.group) * 31 + of(key.id)) * 31 + key.pair;
        }
    };
};

/// What a record begins or ends besides the slices of tracks: --pair or the payload says so.
struct span_mark {
    enum class role : std::uint8_t { none, begin, end };

    span_mark::role role = role::none;
    span_key key;
    std::string name; // `Provider:Event`, or the pair's name
};

/// Beginnings without an end, in their order. No end costs a walk over them: programs choose how
/// many there are. `Name` tells which ends are theirs.
template <typename Name, typename Begin>
class open_list {
public:
    using entry = std::pair<Name, Begin>;

    open_list() = default;
    // The index refers to the entries, which may be moved with it, but not copied.
    open_list(open_list&&) = default;
    open_list& operator=(open_list&&) = default;

    bool is_empty() const noexcept { return all_.empty(); }
    Begin& last() { return all_.back().second; }
    const Begin& last() const { return all_.back().second; }

    void add(Name name, Begin begin) {
        auto& same = index_[name];
        all_.emplace_back(std::move(name), std::move(begin));
        same.push_back(std::prev(all_.end()));
    }

    /// Removes the last one of this name, and returns it.
    std::optional<entry> take(const Name& name) {
        const auto found = index_.find(name);
        if (found == index_.end())
            return {};
        const auto at = found->second.back();
        found->second.pop_back();
        if (found->second.empty())
            index_.erase(found);
        entry result = std::move(*at);
        all_.erase(at);
        return result;
    }

    /// Removes the last one of all, and returns it.
    std::optional<entry> take_last() {
        const Name name = all_.back().first;
        return take(name);
    }

    auto begin() { return all_.begin(); }
    auto end() { return all_.end(); }

private:
    std::list<entry> all_;
    std::map<Name, std::vector<typename std::list<entry>::iterator>> index_;
};

/// Finds the beginnings that belong to ends. `Begin` is what the caller wants to know of a
/// beginning.
template <typename Begin>
class open_spans {
public:
    /// A pair has one beginning for each value. Returns the one that this one replaces, which had
    /// no end.
    std::optional<Begin> open(const span_mark& mark, Begin begin) {
        auto& all = open_[mark.key];
        if (mark.key.is_pair() && !all.is_empty())
            return std::exchange(all.last(), std::move(begin));
        all.add(mark.name, std::move(begin));
        return {};
    }

    /// The last beginning that has no end yet, or nullptr.
    const Begin* last(const span_key& key) const {
        const auto found = open_.find(key);
        return found == open_.end() ? nullptr : &found->second.last();
    }

    /// An end. Returns the name of the beginning and what is known of it: the last one of this
    /// name, or the last one if start and stop have different names.
    std::optional<std::pair<std::string, Begin>> close(const span_mark& mark) {
        const auto found = open_.find(mark.key);
        if (found == open_.end())
            return {};
        auto& all = found->second;
        auto result = all.take(mark.name);
        if (!result)
            result = all.take_last();
        if (all.is_empty())
            open_.erase(found);
        return result;
    }

    /// Calls the function with key, name and what is known, for the beginnings without an end.
    template <typename Function>
    void rest(Function function) {
        for (auto& [key, all] : open_)
            for (auto& [name, begin] : all)
                function(key, name, begin);
    }

    /// Removes all beginnings.
    void clear() { open_.clear(); }

private:
    std::unordered_map<span_key, open_list<std::string, Begin>, span_key::hash> open_;
};

/// Rows for spans, which may overlap: each pair or provider has one for each process, with lanes. A
/// span takes the first free lane.
class span_rows {
public:
    struct place {
        std::size_t row, lane;

        auto operator<=>(const place&) const = default;
    };

    place take(const span_key& key, int process);
    void free(const place& place) { taken_[place.row][place.lane] = false; }

private:
    std::map<std::tuple<std::size_t, std::string, int>, std::size_t> rows_;
    std::vector<std::vector<bool>> taken_; // the lanes of each row
};

/// Decides what a record means, and calls one of the functions.
class interpreter {
public:
    explicit interpreter(const std::vector<pair>& pairs);
    interpreter(interpreter&&) = default;
    interpreter& operator=(interpreter&&) = delete;
    virtual ~interpreter() = default;

protected:
    void interpret(const recording::record& record);

    virtual void begin_span(const recording::record& record, const span_mark& mark) = 0;
    virtual void end_span(const recording::record& record, const span_mark& mark) = 0;
    /// Of the convention.
    virtual void add_slice(const recording::record& record, const convention& fields) = 0;
    virtual void add_counter(const recording::record& /*record*/, const convention& /*fields*/) {}
    /// None of these. The mark says what the record belongs to.
    virtual void add_moment(const recording::record& /*record*/, const span_mark& /*mark*/) {}

    track_table& tracks() noexcept { return tracks_; }

private:
    /// Which side of which --pair an event is. `key` is nullptr if the event is in none.
    struct pair_side {
        std::size_t pair = 0;
        bool begins = false;
        const recording::field* key = nullptr;
    };

    pair_side side_of(const recording::event_type& event) const;
    span_mark mark_of(const recording::record& record);

    track_table tracks_;
    std::vector<pair> pairs_;
    std::vector<std::string> names_;
    std::unordered_map<int, pair_side> sides_; // of each event, if there are pairs
};

} // namespace tool::exporting
