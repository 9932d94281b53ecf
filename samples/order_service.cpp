// SPDX-License-Identifier: MIT
//
// A service with threads. Clients place orders into a queue, and cooks take them out. It has an
// event for each order, a slice for the time that each order takes, a counter for the length of the
// queue, and a log.
//
//	order_service [ORDERS [one_stove]]
//
// With one_stove, a cook holds a lock while it cooks, so the others wait.
// Documentation/howto/slow.rst finds that out.
#include <user_events/user_events.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ue = user_events;

namespace {

enum class Size : std::uint8_t { small, large };

ue::event<"order_placed", ue::field<"number", std::uint32_t>, ue::field<"size", Size>,
          ue::field<"item", std::string_view>>
    order_placed;
ue::event<"order_served", ue::field<"number", std::uint32_t>,
          ue::field<"waited", std::chrono::nanoseconds>>
    order_served;
ue::track<"order_work"> work;
ue::counter<"order_queue"> queue_length;
ue::log<"order_log"> messages;

using Clock = std::chrono::steady_clock;

struct Order {
    std::uint32_t number;
    Size size;
    Clock::time_point placed;
};

class Queue {
public:
    void put(const Order& order) {
        const std::lock_guard lock(mutex_);
        orders_.push_back(order);
        queue_length(orders_.size());
        changed_.notify_one();
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    std::optional<Order> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !orders_.empty(); });
        if (orders_.empty())
            return std::nullopt;
        const Order order = orders_.front();
        orders_.pop_front();
        queue_length(orders_.size());
        return order;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Order> orders_;
    bool closed_ = false;
};

std::mutex stove;

void cook(Queue& queue, bool needs_stove) {
    while (const auto order = queue.take()) {
        const ue::slice cooking(work, "cook");
        std::unique_lock lock(stove, std::defer_lock);
        if (needs_stove)
            lock.lock();
        std::this_thread::sleep_for(
            std::chrono::microseconds(order->size == Size::large ? 200 : 50));
        order_served(order->number, Clock::now() - order->placed);
    }
    // The text is made only if the log is recorded.
    messages.lazily(ue::level::info, [] { return std::string("a cook goes home"); });
}

} // namespace

int main(int argc, char* argv[]) {
    const auto orders = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 100);
    Queue queue;
    std::vector<std::thread> cooks(3);
    for (std::thread& each : cooks)
        each = std::thread(cook, std::ref(queue), argc > 2);
    for (std::uint32_t number = 1; number <= orders; number++) {
        const Size size = number % 3 ? Size::small : Size::large;
        order_placed(number, size, number % 2 ? "coffee" : "tea");
        queue.put({number, size, Clock::now()});
    }
    queue.close();
    for (std::thread& thread : cooks)
        thread.join();
}
