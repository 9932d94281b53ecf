// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cerrno>
#include <ostream>
#include <string>

namespace selftest {

/// What a system call answered: the value it returned, or the errno it failed with.
class Outcome {
public:
    /// From what a C library wrapper has just returned: -1 stands for errno.
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

/// The failure with an errno, to compare an outcome with: `CHECK(file.read() == fails(EINVAL))`.
inline Outcome fails(int error) {
    return Outcome::failure(error);
}

/// The success with a value, 0 if none is given.
inline Outcome succeeds(long value = 0) {
    return Outcome::success(value);
}

std::ostream& operator<<(std::ostream& stream, const Outcome& outcome);

/// Throws a std::system_error of the present errno.
[[noreturn]] void throw_errno(const std::string& what);

/// What an outcome's value is; a failure is thrown as std::system_error.
long expect(const Outcome& outcome, const std::string& what);

} // namespace selftest
