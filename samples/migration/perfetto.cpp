// SPDX-License-Identifier: MIT
//
// The program of the guide of Perfetto's tracing SDK: a game that draws, with slices, a counter and
// a flow.
#include <user_events/user_events.hpp>

#include <cstdint>

namespace {

// PERFETTO_DEFINE_CATEGORIES(perfetto::Category("rendering").SetDescription("..."), ...);
// PERFETTO_TRACK_EVENT_STATIC_STORAGE();
user_events::track<"rendering", user_events::with_flow> rendering;
user_events::async_track<"network"> network;
user_events::counter<"Framerate", double> framerate;
// The arguments of a slice are an event.
user_events::event<"player", user_events::field<"player_number", std::int32_t>> player;

void draw_player(int number) {
    // TRACE_EVENT("rendering", "DrawPlayer", "player_number", number);
    const user_events::slice drawing(rendering, "DrawPlayer");
    player(number);
}

void draw_game(user_events::flow frame) {
    // TRACE_EVENT("rendering", "DrawGame", perfetto::Flow::ProcessScoped(frame));
    const user_events::slice drawing(rendering, "DrawGame", frame);
    draw_player(1);
    draw_player(2);
}

void flip(user_events::flow frame) {
    // TRACE_EVENT("rendering", "Flip", perfetto::TerminatingFlow::ProcessScoped(frame));
    const user_events::slice flipping(rendering, "Flip", frame);
    // TRACE_COUNTER("rendering", "Framerate", 59.9);
    framerate(59.9);
}

} // namespace

int main() {
    // perfetto::Tracing::Initialize(...) and perfetto::TrackEvent::Register(): nothing.
    // TRACE_EVENT_BEGIN("network", "Load", perfetto::Track(7));
    network.begin(7, "Load");
    const auto frame = user_events::flow::next();
    draw_game(frame);
    flip(frame);
    // TRACE_EVENT_END("network", perfetto::Track(7));
    network.end(7);
    return 0;
}
