// SPDX-License-Identifier: GPL-2.0-only
// The events of lttng_ust.cpp. LTTng's header includes this file several times.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.hpp"

#if !defined(BENCH_LTTNG_EVENTS_HPP) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_EVENTS_HPP

#include <cstdint>
#include <lttng/tracepoint.h>

// clang-format off
LTTNG_UST_TRACEPOINT_EVENT(bench, number,
    LTTNG_UST_TP_ARGS(std::uint64_t, value_),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(std::uint64_t, value, value_)))

LTTNG_UST_TRACEPOINT_EVENT(bench, text,
    LTTNG_UST_TP_ARGS(std::uint32_t, number_, const char*, text_),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(std::uint32_t, number, number_)
        lttng_ust_field_string(text, text_)))
// clang-format on

#endif

#include <lttng/tracepoint-event.h>
