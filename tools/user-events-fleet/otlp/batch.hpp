// SPDX-License-Identifier: GPL-2.0-or-later
// A request for log records or spans, while it is being made.
#pragma once

#include "otlp/resources.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tool::otlp {

class batch {
public:
    /// `known` has the resources of what is added.
    explicit batch(resources& known) : known_(known) {}

    /// Adds a serialized log record or span, which was made of this number of records.
    void add(const std::string& resource_key, std::string_view item, std::uint64_t records);

    bool is_empty() const noexcept { return scopes_.empty(); }
    std::uint64_t records() const noexcept { return records_; }
    /// Of all that was added.
    std::size_t size() const noexcept { return size_; }

    /// Returns the serialized request, and begins the next one.
    std::string take();

private:
    resources& known_;
    message::SerializedRequest request_;
    /// Of the request, by the resource's key.
    std::map<std::string, std::string*> scopes_;
    message::SerializedScope part_;
    std::uint64_t records_ = 0;
    std::size_t size_ = 0;
};

} // namespace tool::otlp
