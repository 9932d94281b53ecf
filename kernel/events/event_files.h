/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of an event in tracefs, on kernels where an open file of a removed
 * event still points to the event.
 */
#ifndef UE_EVENT_FILES_H
#define UE_EVENT_FILES_H

struct ue_event;

/**
 * ue_event_files_disconnect() - make the event's open files harmless
 * @event: the event, about to be unpublished; each open file that still leads
 *	to it takes a reference
 *
 * Context: event_mutex held; may sleep. Exists if UE_KEEP_EVENT_FILES.
 */
void ue_event_files_disconnect(struct ue_event *event);

/**
 * ue_event_files_exit() - put references of closed files, abandon events of others
 *
 * Context: module exit, with no event published; may sleep; event_mutex not
 * held. Exists if UE_KEEP_EVENT_FILES.
 */
void ue_event_files_exit(void);

#endif /* UE_EVENT_FILES_H */
