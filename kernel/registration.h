/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registrations of the current address space, and bringing memory up to date
 * with the events.
 */
#ifndef UE_REGISTRATION_H
#define UE_REGISTRATION_H

#include "user_word.h"

struct mm_struct;
struct ue_event;
struct ue_process;

/**
 * ue_registered() - has the current address space registered this pair?
 * @address: of the word
 * @bit: of the word
 *
 * Context: process context; may sleep.
 */
bool ue_registered(unsigned long address, u8 bit);

/**
 * ue_register() - let a bit of the current address space follow an event
 * @event: the event; the caller is a user of it
 * @word: the bit, in user space
 * @id: set to what tells this registration from others of the same pair
 *
 * On return the bit has the event's state. Until it is written nothing is
 * registered, in a child that is forked meanwhile neither.
 *
 * Context: process context; waits for the program's memory, no lock held.
 * Return: 0; -EADDRINUSE when the pair of address and bit is registered;
 * -EFAULT when the memory can't be written; -ENOMEM; -ERESTARTNOINTR when a
 * signal came first; -EINTR when the caller is being killed. On an error nothing
 * is registered.
 */
int ue_register(struct ue_event *event, const struct ue_user_bit *word,
		u64 *id);

/**
 * ue_unregister() - end that, and clear the bit
 * @address: of the word
 * @bit: of the word
 *
 * Context: process context; waits for the program's memory, no lock held.
 * Return: 0; -ENOENT when the pair is not registered; -ENOMEM, or -EINTR when
 * the caller is being killed, with the registration as it was; -EFAULT when the
 * bit can't be cleared, with the registration ended all the same.
 */
int ue_unregister(unsigned long address, u8 bit);

/**
 * ue_register_undo() - take a registration back
 * @word: as it was registered
 * @id: from ue_register()
 *
 * Does nothing when the registration has been ended meanwhile.
 *
 * Context: as ue_unregister().
 */
void ue_register_undo(const struct ue_user_bit *word, u64 id);

/**
 * ue_registrations_update() - bring all bits of an event up to date
 * @event: the event, whose state has changed
 *
 * What would need waiting for a program is left to a worker of that
 * program's own.
 *
 * Context: event_mutex held; waits for no program.
 */
void ue_registrations_update(struct ue_event *event);

/**
 * ue_registrations_settle() - bring all bits of an address space up to date
 * @process: the address space, whose memory the caller holds (mmget())
 *
 * What can't be written is passed over, and tried again at the next change. Ends
 * early when the current task is being killed, or the program has ended.
 *
 * Context: may sleep; waits for the program's memory, no lock held.
 * Return: 0; -ENOMEM when there was no memory for some, which the caller is to
 * try again unless he is being killed.
 */
int ue_registrations_settle(struct ue_process *process);

int ue_registrations_init(void);
void ue_registrations_exit(void);

#endif /* UE_REGISTRATION_H */
