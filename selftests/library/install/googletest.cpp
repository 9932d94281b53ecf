// SPDX-License-Identifier: MIT
// A program with a unit test, as library.rst shows it.
#include <gtest/gtest.h>
#include <user_events/testing.hpp>
#include <user_events/user_events.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace {

struct Order {
    std::uint32_t number;
    std::string_view item;
};

user_events::event<"order_placed", user_events::field<"number", std::uint32_t>,
                   user_events::field<"item", std::string_view>>
    order_placed;

void serve(const Order& order) {
    order_placed(order.number, order.item);
}

constexpr Order order{17, "coffee"};

class Orders : public testing::Test {
protected:
    user_events::testing::sink sink;
};

TEST_F(Orders, AreRecorded) {
    serve(order);
    ASSERT_EQ(sink.records("order_placed").size(), 1u);
    EXPECT_EQ(sink.records()[0].get<std::string>("item"), "coffee");
}

} // namespace
