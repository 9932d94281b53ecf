/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The triggers that a rule may have:
 *
 *	traceon | traceoff | snapshot | stacktrace [:COUNT][ if FILTER]
 *	hist:keys=KEY[,KEY]...[:vals=FIELD[,FIELD]...][:sort=FIELD[.ORDER]...][:size=N][ if FILTER]
 *
 * The kernel's histograms can do more: share a name and with it the fields of another event,
 * use variables of another histogram, act on a match, set the clock of the instance. All of that
 * reaches beyond the event, and programs choose when events are added and removed.
 */
#ifndef UE_TRIGGER_PARSE_H
#define UE_TRIGGER_PARSE_H

#include <linux/types.h>

struct ue_format;

/* The size without "size="; larger ones would take more than 1 MiB for each event. */
#define UE_HIST_SIZE_MAX	2048

/**
 * ue_trigger_parse() - check the text of a trigger
 * @trigger: the text, without spaces around it
 *
 * The filter is not looked at.
 *
 * Context: any.
 * Return: NULL, or why a rule can't have the trigger.
 */
const char *ue_trigger_parse(const char *trigger);

/**
 * ue_trigger_fits() - check the fields of a histogram
 * @trigger: a text for which ue_trigger_parse() has returned NULL
 * @format: format of the event
 *
 * For a string with ".log2" or ".buckets", the kernel reads its own stack as the key.
 *
 * Context: any.
 * Return: false if a key is not a field of the event or a common one, or if a value, or such a key,
 * is not a number.
 */
bool ue_trigger_fits(const char *trigger, const struct ue_format *format);

#endif /* UE_TRIGGER_PARSE_H */
