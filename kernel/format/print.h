/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints a record for the files `trace` and `trace_pipe`.
 */
#ifndef UE_PRINT_H
#define UE_PRINT_H

#include <linux/trace_events.h>

struct ue_format;

/**
 * ue_print_record() - print one record as a line
 * @iter: the record, and where to print it
 * @name: name of the event
 * @format: format of the event
 *
 * Context: any; tracing calls this to print a record.
 * Return: what a callback of struct trace_event_functions returns.
 */
enum print_line_t ue_print_record(struct trace_iterator *iter, const char *name,
				  const struct ue_format *format);

#endif /* UE_PRINT_H */
