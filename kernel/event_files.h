/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of an event in tracefs, on kernels that leave those that are open
 * to an event that has gone.
 */
#ifndef UE_EVENT_FILES_H
#define UE_EVENT_FILES_H

#include "compat.h"

struct ue_event;

#if UE_EVENT_FILES_DANGLE

/**
 * ue_event_files_forget() - have files that are open lead nowhere
 * @event: about to be withdrawn; its memory is kept, by a reference, as long as
 *	a file is open that leads to it all the same
 *
 * Context: event_mutex held; may sleep.
 */
void ue_event_files_forget(struct ue_event *event);

/* ue_event_files_exit() - give up what is kept; at unload, no event left. */
void ue_event_files_exit(void);

#else

static inline void ue_event_files_forget(struct ue_event *event)
{
}

static inline void ue_event_files_exit(void)
{
}

#endif

#endif /* UE_EVENT_FILES_H */
