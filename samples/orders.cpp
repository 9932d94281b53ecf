// SPDX-License-Identifier: MIT
//
// A program with an event, for the demo. It reads orders from standard input. Each line is the
// price in cents and the item.
#include <user_events/user_events.hpp>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

using user_events::event, user_events::field;

static event<"order_placed", field<"number", std::uint32_t>, field<"cents", std::uint32_t>,
             field<"item", std::string_view>>
    order_placed;

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (const auto error = order_placed.error()) {
        std::fprintf(stderr, "order_placed: %s\n", user_events::explain(error).c_str());
        return 1;
    }
    std::printf("registered order_placed\n");
    std::uint32_t number = 0;
    std::uint32_t cents = 0;
    std::string item;
    while (std::cin >> cents && std::getline(std::cin >> std::ws, item)) {
        const bool wanted(order_placed);
        order_placed(++number, cents, item);
        std::printf("order %u, %s: the bit is %d, %s\n", number, item.c_str(), wanted,
                    wanted ? "recorded" : "not recorded");
    }
}
