// SPDX-License-Identifier: MIT
// std::mutex, without the header <mutex>: that takes longer to compile than the rest of the
// library.
#pragma once

#include "version.h"

#include <pthread.h>

namespace USER_EVENTS_NAMESPACE::detail {

/// Initialized at compile time, and never destroyed.
class mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept { pthread_mutex_lock(&mutex_); }
    bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Holds a mutex as long as the object exists.
class [[nodiscard]] lock_guard {
public:
    explicit lock_guard(mutex& held) noexcept : mutex_(held) { mutex_.lock(); }
    /// The mutex is held already.
    struct adopt {};
    lock_guard(mutex& held, adopt) noexcept : mutex_(held) {}
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;
    [[gnu::visibility("hidden")]] ~lock_guard() { mutex_.unlock(); }

private:
    mutex& mutex_;
};

} // namespace USER_EVENTS_NAMESPACE::detail
