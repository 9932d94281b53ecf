/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User events in the kernel's file dynamic_events: "u:" lines create, list
 * and delete them.
 */
#ifndef UE_DYNAMIC_EVENTS_H
#define UE_DYNAMIC_EVENTS_H

/* Return: 0, also where the kernel lacks what it needs; or an errno. */
int ue_dynamic_events_init(void);
void ue_dynamic_events_exit(void);

#endif /* UE_DYNAMIC_EVENTS_H */
