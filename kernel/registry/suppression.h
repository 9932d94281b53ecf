/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records that tell what limits have suppressed: a second after the first payload that was
 * suppressed, in the instance that has the limit, one for each event and process. With more
 * than 63 processes, the rest of them have one record together.
 */
#ifndef UE_SUPPRESSION_H
#define UE_SUPPRESSION_H

struct ue_event;

/* The command of the event user_limit:suppressed. Its layout is in user_events_ext.h. */
#define UE_SUPPRESSED_COMMAND \
	"suppressed u32 process; u32 milliseconds; u64 count; __rel_loc char[] event"

/**
 * ue_suppression_begin() - queue the record that says what was suppressed
 * @event: the event, which had a recorder with a limit
 *
 * Called for each payload that a limit suppresses.
 *
 * Context: in the system call that writes; does not sleep.
 */
void ue_suppression_begin(struct ue_event *event);

/**
 * ue_suppressions_tell() - tell now what the limits of an event have suppressed
 * @event: the event; one of its limits is about to end
 *
 * Context: event_mutex held.
 */
void ue_suppressions_tell(struct ue_event *event);

/**
 * ue_suppressions_init() - begin to make such records
 * @event: the event that they belong to
 *
 * Context: event_mutex held.
 */
void ue_suppressions_init(struct ue_event *event);

/**
 * ue_suppressions_exit() - undo ue_suppressions_init()
 *
 * Context: module exit, with no limit left; may sleep.
 */
void ue_suppressions_exit(void);

#endif /* UE_SUPPRESSION_H */
