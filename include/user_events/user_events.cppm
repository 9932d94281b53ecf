// SPDX-License-Identifier: MIT
// The library as a module: `import user_events;`. Compile this file with the options of the
// program. The names are those that user_events.hpp has for programs.
module;

#include "user_events.hpp"

export module user_events;

export namespace user_events {

// Events
using user_events::bit;
using user_events::data_loc_text;
using user_events::event;
using user_events::field;
using user_events::fields;
using user_events::member;
using user_events::members;
using user_events::multi_format;
using user_events::persistent;
using user_events::structure;
using user_events::structured_event;
using user_events::word;

using user_events::dynamic_event;
using user_events::dynamic_field;
using user_events::dynamic_value;
using user_events::field_type;

// Slices, counters, logs, marks
using user_events::async_slice;
using user_events::async_track;
using user_events::counter;
using user_events::flow;
using user_events::level;
using user_events::log;
using user_events::marker;
using user_events::place;
using user_events::slice;
using user_events::track;
using user_events::with_flow;
using user_events::with_place;

// What is common
using user_events::error;
using user_events::event_state;
using user_events::explain;
using user_events::for_each_event;
using user_events::kept;
using user_events::max_array;
using user_events::max_command;
using user_events::max_payload;
using user_events::result;
using user_events::retry;
using user_events::text;

} // namespace user_events
