// SPDX-License-Identifier: MIT
// Coroutines on a pool of threads. Each request is a slice and an event with named fields.
#include <user_events/user_events.hpp>

#include <array>
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <queue>
#include <semaphore>
#include <thread>

namespace {

struct served {
    std::uint32_t number;
    std::uint64_t result;
};
inline user_events::structured_event<"pool_served", &served::number, &served::result> pool_served;
inline user_events::async_track<"pool_requests"> pool_requests;

std::mutex mutex;
std::counting_semaphore<> count{0};
/// What waits for a thread; a null handle ends one.
std::queue<std::coroutine_handle<>> ready;

void add(std::coroutine_handle<> handle) {
    const std::lock_guard lock(mutex);
    ready.push(handle);
    count.release();
}
std::coroutine_handle<> take() {
    count.acquire();
    const std::lock_guard lock(mutex);
    const auto handle = ready.front();
    ready.pop();
    return handle;
}

struct next_thread : std::suspend_always {
    void await_suspend(std::coroutine_handle<> handle) const { add(handle); }
};

struct Task {
    struct promise_type {
        Task get_return_object() const { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const {}
        void unhandled_exception() const { std::abort(); }
    };
};

Task serve(std::uint32_t number, std::latch& done) {
    user_events::async_slice request(pool_requests, "serve");
    co_await next_thread();
    USER_EVENT(pool_served, {.number = number, .result = std::uint64_t{number} * number});
    request.end();
    done.count_down();
}

} // namespace

int main() {
    constexpr std::uint32_t requests = 20;
    std::latch done(requests);
    std::array<std::jthread, 4> threads;
    for (std::jthread& thread : threads)
        thread = std::jthread([] {
            while (const auto handle = take())
                handle.resume();
        });
    for (std::uint32_t number = 1; number <= requests; number++)
        serve(number, done);
    done.wait();
    for (int i = 0; i < 4; i++)
        add(nullptr);
}
