/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Enablers, the words that follow an event's state, and sets of them.
 *
 * An address space has one set; address spaces may share one. Everything
 * here is protected by ue_enabler_mutex, whose holders wait for no program.
 */
#ifndef UE_ENABLER_H
#define UE_ENABLER_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>

#include "user_word.h"

struct ue_event;

/*
 * Taken inside mmap_lock and event_mutex; inside it only the lock of an address
 * space, and by trying an mmap_lock.
 */
extern struct mutex ue_enabler_mutex;

/**
 * struct ue_enabler - one registration
 * @word: the bit that follows the event's state
 * @event: the event, of which the enabler is a user
 * @set: the set it belongs to
 * @id: of the registration, and of its copies in other sets; no other has it
 * @in_set: its place there, by address and bit
 * @of_event: its place among the event's enablers
 */
struct ue_enabler {
	struct ue_user_bit word;
	struct ue_event *event;
	struct ue_enabler_set *set;
	u64 id;
	struct rb_node in_set;
	struct list_head of_event;
};

/**
 * struct ue_enabler_set - what an address space has registered
 * @enablers: by address and bit
 * @nr: how many
 * @shares: how many address spaces have the set, those included that are just
 *	being forked; rises without ue_enabler_mutex, see process.c
 * @changes: counts changes of state of any of its events; read without the
 *	mutex
 * @writes_left: how many bits are still written at once, while a change is
 *	spread; see registration.c
 * @processes: the struct ue_process that have the set
 */
struct ue_enabler_set {
	struct rb_root enablers;
	unsigned int nr;
	atomic_t shares;
	unsigned int changes;
	unsigned int writes_left;
	struct hlist_head processes;
};

/* Return: a set of one share without enablers, or NULL. */
struct ue_enabler_set *ue_enabler_set_create(gfp_t gfp);

/**
 * ue_enabler_set_free() - free a set that no address space has any more
 * @set: the set; its enablers go with it, and cease to use their events
 *
 * Context: ue_enabler_mutex held, which is dropped now and then.
 */
void ue_enabler_set_free(struct ue_enabler_set *set);

/**
 * ue_enablers_create() - make enablers that are in no set
 * @list: they are added here, by @of_event
 * @nr: how many
 * @gfp: how to get memory
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM, with none added, also when the current task is being killed.
 */
int ue_enablers_create(struct list_head *list, unsigned int nr, gfp_t gfp);

/* ue_enablers_free() - free enablers that are in no set. May sleep. */
void ue_enablers_free(struct list_head *list);

/**
 * ue_enabler_set_copy() - make another set with all enablers of one
 * @set: the set, which nobody changes meanwhile: the caller has a share of it, and
 *	somebody else has one
 * @gfp: how to get memory
 *
 * Context: may sleep; ue_enabler_mutex not held, is taken and dropped now and then.
 * Return: a set of one share; NULL without memory, or when the current task is
 * being killed, but with __GFP_NOFAIL.
 */
struct ue_enabler_set *ue_enabler_set_copy(const struct ue_enabler_set *set,
					   gfp_t gfp);

/**
 * ue_enabler_insert() - put an enabler into a set
 * @set: the set; owns the enabler from a success on
 * @enabler: the enabler
 * @word: the bit
 * @event: the event to follow; the enabler becomes a user of it
 * @id: of the registration
 *
 * Context: ue_enabler_mutex held.
 * Return: 0, or -EADDRINUSE when the set has its address and bit.
 */
int ue_enabler_insert(struct ue_enabler_set *set, struct ue_enabler *enabler,
		      const struct ue_user_bit *word, struct ue_event *event,
		      u64 id);

/**
 * ue_enabler_erase() - take an enabler out of its set and free it
 * @enabler: the enabler
 *
 * Context: ue_enabler_mutex held.
 * Return: its event, of which the caller is now the user in its place.
 */
struct ue_event *ue_enabler_erase(struct ue_enabler *enabler);

/**
 * ue_enabler_find() - the enabler of an address and bit
 * @set: the set
 * @address: of the word
 * @bit: of the word
 *
 * Context: ue_enabler_mutex held.
 * Return: the enabler, or NULL.
 */
struct ue_enabler *ue_enabler_find(const struct ue_enabler_set *set,
				   unsigned long address, u8 bit);

/**
 * ue_enabler_after() - the enabler that follows an address and bit
 * @set: the set
 * @address: of a word, registered or not; 0 to begin
 * @bit: of the word; -1 to begin
 *
 * Context: ue_enabler_mutex held.
 * Return: the one with the next higher bit or address; NULL after the last.
 */
struct ue_enabler *ue_enabler_after(const struct ue_enabler_set *set,
				    unsigned long address, int bit);

#endif /* UE_ENABLER_H */
