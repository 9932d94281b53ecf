/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and unregisters enable bits of the current address space.
 */
#ifndef UE_REGISTRATION_H
#define UE_REGISTRATION_H

#include "programs/user_bit.h"

struct ue_event;

/**
 * ue_registered() - is a bit registered in the current address space?
 * @address: of the word that holds the bit
 * @nr: number of the bit
 *
 * Context: process context; may sleep.
 * Return: true if it is, for any event.
 */
bool ue_registered(unsigned long address, u8 nr);

/**
 * ue_register() - register a bit of the current address space
 * @event: the event to follow; the caller is a user of it
 * @bit: the bit, at an address of user space
 * @id: set to an identifier that no other registration ever has
 *
 * On return the bit has the state of the event. A child that is forked before the bit is written
 * does not inherit the registration, unless the child is attached late (fork.c).
 *
 * Context: process context; may sleep, see ue_mm_access().
 * Return: 0. On an error nothing is registered: -EADDRINUSE if the pair of
 * address and number is registered; -EMFILE if the user would have more
 * registrations than permitted, with those that are copied because a fork shares
 * them; -EFAULT if the memory cannot be written; -ENOMEM; -EINTR if the caller was
 * killed.
 */
int ue_register(struct ue_event *event, const struct ue_user_bit *bit, u64 *id);

/**
 * ue_unregister() - clear a bit and end its registration
 * @address: of the word that holds the bit
 * @nr: number of the bit
 *
 * Context: process context; may sleep, see ue_mm_access().
 * Return: 0; -ENOENT if the pair is not registered; -EFAULT if the bit cannot be
 * written: the registration ends all the same. The registration is unchanged after
 * these: -EMFILE if a set that a fork shares would have to be copied, and the user
 * would have more than twice as many registrations as permitted; -ENOMEM; -EINTR if
 * the caller was killed.
 */
int ue_unregister(unsigned long address, u8 nr);

/**
 * ue_register_undo() - end a registration that ue_register() has just made
 * @bit: the bit
 * @id: from ue_register()
 *
 * Does nothing if another thread has ended the registration since, or where
 * ue_unregister() would fail with -EMFILE.
 *
 * Context: as ue_unregister().
 */
void ue_register_undo(const struct ue_user_bit *bit, u64 id);

/**
 * ue_registrations_init() - get ready to register bits
 *
 * Return: 0 or -ENOMEM.
 */
int ue_registrations_init(void);

/**
 * ue_registrations_exit() - detach all address spaces
 *
 * Context: at unload; no registration is left.
 */
void ue_registrations_exit(void);

#endif /* UE_REGISTRATION_H */
