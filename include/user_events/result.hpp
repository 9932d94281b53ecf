// SPDX-License-Identifier: MIT
#pragma once

#include "version.h"

#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace USER_EVENTS_NAMESPACE {

/// A value, or the reason why there is none: std::expected<T, std::error_code> of C++23, with the
/// same names of members.
template <typename T>
class [[nodiscard]] result {
public:
    // NOLINTBEGIN(google-explicit-constructor): functions return a value or an error.
    result(T value) noexcept : value_(std::move(value)) {}
    result(std::error_code error) noexcept : error_(error) {}
    // NOLINTEND(google-explicit-constructor)
    result(const result&) = default;
    result(result&&) = default;
    result& operator=(const result&) = default;
    result& operator=(result&&) = default;
    [[gnu::visibility("hidden")]] ~result() = default;

    bool has_value() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }

    /// The value. There must be one.
    T& operator*() noexcept { return *value_; }
    const T& operator*() const noexcept { return *value_; }
    T* operator->() noexcept { return &*value_; }
    const T* operator->() const noexcept { return &*value_; }

    /// The reason; no error if there is a value.
    std::error_code error() const noexcept { return error_; }

private:
    std::optional<T> value_;
    std::error_code error_;
};

} // namespace USER_EVENTS_NAMESPACE
