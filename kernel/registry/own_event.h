/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of the module itself: marks, and what limits have suppressed. They exist while the
 * module is loaded. The registry does not know them.
 */
#ifndef UE_OWN_EVENT_H
#define UE_OWN_EVENT_H

struct ue_event;

/**
 * enum ue_own - the events of the module, marks first
 * @UE_OWN_MARK_TEXT: user_mark:text
 * @UE_OWN_MARK_DATA: user_mark:data
 * @UE_OWN_SUPPRESSED: user_limit:suppressed
 * @UE_NR_OWN: number of these events
 */
enum ue_own {
	UE_OWN_MARK_TEXT,
	UE_OWN_MARK_DATA,
	UE_OWN_SUPPRESSED,
	UE_NR_OWN
};

/**
 * ue_own_event() - get an event of the module
 * @which: which one
 *
 * Context: any, once the module is ready.
 * Return: the event.
 */
struct ue_event *ue_own_event(enum ue_own which);

/**
 * ue_own_events_init() - create the events, all or none
 *
 * Must be the last part that is initialized: once the events exist, recorders
 * may use them, and the module can't fail to load any more.
 *
 * Context: module init; may sleep.
 * Return: 0; -ENOMEM; -ENODEV if tracing has no type number left.
 */
int ue_own_events_init(void);

/**
 * ue_own_events_exit() - remove the events
 *
 * Context: module exit, with no user of them; may sleep.
 */
void ue_own_events_exit(void);

#endif /* UE_OWN_EVENT_H */
