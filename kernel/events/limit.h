/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits: of how many payloads a recorder makes records (limit=, sample= of rules).
 *
 * A limit allows a number of records in a second, its rate. A bucket has at most that many tokens,
 * and gets that many back in a second. A record takes one; a payload that finds none is
 * suppressed. A limit has one bucket for all programs, or one for each process.
 */
#ifndef UE_LIMIT_H
#define UE_LIMIT_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "format/rule_parse.h"

struct ue_limit;

/**
 * struct ue_bucket - tokens for payloads
 * @tokens: how many there are; if negative, how many were missing since @filled
 * @filled: when tokens were last added, in jiffies
 */
struct ue_bucket {
	atomic_long_t tokens;
	unsigned long filled;
};

/**
 * struct ue_suppressed - payloads of a process that were suppressed
 * @process: its number; 0 for several processes
 * @nr: how many
 * @since: when the first of them was written, in jiffies
 */
struct ue_suppressed {
	pid_t process;
	unsigned long nr;
	unsigned long since;
};

/**
 * enum ue_verdict - what becomes of a payload
 * @UE_ADMITTED: a record is made of it
 * @UE_LEFT_OUT: sample= leaves it out
 * @UE_SUPPRESSED: it is beyond the limit
 */
enum ue_verdict {
	UE_ADMITTED,
	UE_LEFT_OUT,
	UE_SUPPRESSED,
};

/**
 * ue_bucket_init() - fill a bucket
 * @bucket: the bucket
 * @rate: tokens per second, also how many fit
 * @now: the time, in jiffies
 *
 * Context: any; not used by others yet.
 */
void ue_bucket_init(struct ue_bucket *bucket, u32 rate, unsigned long now);

/**
 * ue_bucket_take() - take a token
 * @bucket: the bucket
 * @rate: as passed to ue_bucket_init()
 * @now: the time, in jiffies
 *
 * Context: any.
 * Return: true; false if there is none.
 */
bool ue_bucket_take(struct ue_bucket *bucket, u32 rate, unsigned long now);

/**
 * ue_limit_create() - create a limit
 * @terms: what it allows
 * @limit: set to the limit; NULL if @terms allow everything
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_limit_create(const struct ue_rule_limit *terms, struct ue_limit **limit);

/**
 * ue_limit_free() - free a limit once the writes in progress have ended
 * @limit: the limit, or NULL
 *
 * Context: any.
 */
void ue_limit_free(struct ue_limit *limit);

/**
 * ue_limits_flush() - wait until the limits that were passed to ue_limit_free() are freed
 *
 * Also waits for all RCU callbacks that were queued before.
 *
 * Context: may sleep.
 */
void ue_limits_flush(void);

/**
 * ue_limit_terms() - get what a limit allows
 * @limit: the limit, or NULL
 *
 * Context: any.
 * Return: the terms, which live as long as the limit; without one, those that allow
 * everything.
 */
const struct ue_rule_limit *ue_limit_terms(const struct ue_limit *limit);

/**
 * ue_limit_take() - ask whether a payload of the current program may be recorded
 * @limit: the limit
 *
 * Context: preemption disabled, in the system call that writes.
 * Return: whether a record may be made; UE_SUPPRESSED is counted.
 */
enum ue_verdict ue_limit_take(struct ue_limit *limit);

/**
 * ue_limit_give_back() - undo ue_limit_take(), as the instance has made no record
 * @limit: the limit, which has admitted a payload of the current program
 *
 * What sample= counts is not undone.
 *
 * Context: as ue_limit_take().
 */
void ue_limit_give_back(struct ue_limit *limit);

/**
 * ue_limit_allows() - find out if there is a token for a process
 * @limit: the limit, or NULL
 * @process: the number of the process
 *
 * Context: in an RCU read-side critical section.
 * Return: true if its next payload would be admitted. Whether sample= leaves that payload out is
 * not looked at.
 */
bool ue_limit_allows(struct ue_limit *limit, pid_t process);

/**
 * ue_limit_collect() - get what was suppressed since the last call, by process
 * @limit: the limit
 * @suppressed: set to what was suppressed
 * @max: length of @suppressed; further processes are added up in the last element
 *
 * Context: no other call for @limit at the same time.
 * Return: number of elements.
 */
unsigned int ue_limit_collect(struct ue_limit *limit,
			      struct ue_suppressed *suppressed, unsigned int max);

/**
 * ue_limit_suppressed() - count the payloads beyond a limit
 * @limit: the limit, or NULL
 *
 * Context: any.
 * Return: the number, without those that sample= has left out.
 */
unsigned long ue_limit_suppressed(const struct ue_limit *limit);

#endif /* UE_LIMIT_H */
