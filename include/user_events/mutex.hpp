// SPDX-License-Identifier: MIT
// std::mutex, without the header <mutex>: that takes longer to compile than the rest of the
// library.
#pragma once

#include "system_call.h"
#include "version.h"

#include <atomic>
#include <pthread.h>
#include <sys/syscall.h>

namespace USER_EVENTS_NAMESPACE::detail {

/// Initialized at compile time, and never destroyed.
class mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() noexcept {
        pthread_mutex_lock(&mutex_);
        owner_.store(pthread_self(), std::memory_order_relaxed);
    }
    bool try_lock() noexcept {
        const bool is_locked = pthread_mutex_trylock(&mutex_) == 0;
        if (is_locked)
            owner_.store(pthread_self(), std::memory_order_relaxed);
        return is_locked;
    }
    void unlock() noexcept {
        owner_.store(pthread_t{}, std::memory_order_relaxed);
        pthread_mutex_unlock(&mutex_);
    }

    /// Whether the calling thread has the mutex. Async-signal-safe.
    bool is_held_here() const noexcept {
        return owner_.load(std::memory_order_relaxed) == pthread_self();
    }

    /// Waits at most about 100 ms; not at all if the thread has the mutex, as in a signal handler
    /// that interrupted it. Async-signal-safe, and no cancellation point.
    [[gnu::noinline, gnu::visibility("hidden")]] bool lock_soon() noexcept {
        const long moment[2] = {0, 50'000};
        for (int attempt = 0; attempt < 1000; attempt++) {
            if (try_lock())
                return true;
            if (is_held_here())
                return false;
            user_events_call(SYS_nanosleep, reinterpret_cast<long>(moment), nullptr, 0);
        }
        return false;
    }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<pthread_t> owner_{};
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
