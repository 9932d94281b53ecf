/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a record reads in the `trace` and `trace_pipe` files.
 */
#ifndef UE_PRINT_H
#define UE_PRINT_H

struct trace_event_functions;

/* For every event; tracing calls them with its trace_event_sem held. */
extern struct trace_event_functions ue_print_functions;

#endif /* UE_PRINT_H */
