/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The address spaces that have enablers, and bringing their memory up to
 * date with the events.
 */
#ifndef UE_PROCESS_H
#define UE_PROCESS_H

#include "user_word.h"

struct ue_event;

/**
 * ue_process_has() - has the current address space registered this pair?
 * @address: of the word
 * @bit: of the word
 *
 * Context: process context; may sleep.
 */
bool ue_process_has(unsigned long address, u8 bit);

/**
 * ue_process_register() - let a bit of the current address space follow an
 * event
 * @event: the event; the caller is a user of it
 * @word: the bit, in user space
 *
 * On return the bit has the event's state.
 *
 * Context: process context; waits for the program's memory, no lock held.
 * Return: 0; -EADDRINUSE when the pair of address and bit is registered;
 * -EFAULT when the memory can't be written; -ENOMEM; -ERESTARTNOINTR when a
 * signal came first. On an error nothing is registered.
 */
int ue_process_register(struct ue_event *event, const struct ue_user_bit *word);

/**
 * ue_process_unregister() - end that, and clear the bit
 * @address: of the word
 * @bit: of the word
 *
 * Context: process context; waits for the program's memory, no lock held.
 * Return: 0; -ENOENT when the pair is not registered; -EFAULT when the bit
 * can't be cleared, with the registration ended all the same.
 */
int ue_process_unregister(unsigned long address, u8 bit);

/**
 * ue_processes_update() - bring all bits of an event up to date
 * @event: the event, whose state has changed
 *
 * What would need waiting for a program is left to a work item of that
 * program's own.
 *
 * Context: event_mutex held; waits for no program.
 */
void ue_processes_update(struct ue_event *event);

int ue_processes_init(void);

/* ue_processes_exit() - forget all address spaces; at unload. */
void ue_processes_exit(void);

#endif /* UE_PROCESS_H */
