// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string_view>
#include <system_error>
#include <tuple>

import user_events;

namespace ue = user_events;

ue::event<"imported", ue::field<"number", std::uint32_t>, ue::field<"item", std::string_view>>
    imported;
ue::track<"imported_track", ue::with_place> work;
ue::counter<"imported_counter", double> load;
ue::log<"imported_log"> messages;

int main() {
    const ue::slice running(work, "main");
    imported(1, "tea");
    imported.lazily([] { return std::tuple(2u, "coffee"); });
    load(0.5);
    messages.warning("no milk");
    auto dynamic = ue::dynamic_event::create("imported_too", {{"a", ue::field_type::u32}});
    if (dynamic)
        dynamic->write({1});
    int events = 0;
    ue::for_each_event([&](const ue::event_state&) { events++; });
    return events == 5 && imported.lost() + imported.cut() == 0 ? 0 : 1;
}
