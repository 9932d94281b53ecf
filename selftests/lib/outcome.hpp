// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cerrno>
#include <ostream>
#include <string>

namespace selftest {

/// The result of a system call: its return value, or its errno.
class Outcome {
public:
    /// Returns the outcome of a C library call that has just returned `returned`. For -1, it is
    /// errno.
    static Outcome of(long returned) {
        return returned == -1 ? failure(errno) : Outcome(returned, 0);
    }
    static Outcome success(long value = 0) { return Outcome(value, 0); }
    static Outcome failure(int error) { return Outcome(-1, error); }

    bool operator==(const Outcome&) const = default;
    bool ok() const { return error_ == 0; }
    int error() const { return error_; }
    long value() const { return value_; }

private:
    Outcome(long value, int error) : value_(value), error_(error) {}

    long value_;
    int error_;
};

/// Returns a failure to compare with: `CHECK(file.read() == fails(EINVAL))`.
inline Outcome fails(int error) {
    return Outcome::failure(error);
}

/// Returns a success to compare with.
inline Outcome succeeds(long value = 0) {
    return Outcome::success(value);
}

/// Prints "success VALUE" or the name of the errno.
std::ostream& operator<<(std::ostream& stream, const Outcome& outcome);

/// Throws std::system_error with the current errno.
[[noreturn]] void throw_errno(const std::string& what);

/// Returns the value of a success. Throws std::system_error for a failure.
long expect(const Outcome& outcome, const std::string& what);

} // namespace selftest
