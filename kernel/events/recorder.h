/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The recorders of an event. See record.h for what they do with a payload.
 */
#ifndef UE_RECORDER_H
#define UE_RECORDER_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct trace_event_file;
struct ue_limit;

/**
 * enum ue_recorder_kind - kinds of recorders
 * @UE_RECORDER_FTRACE: one for each ftrace instance that has the event enabled
 * @UE_RECORDER_PERF: one for all of perf, including BPF programs
 * @UE_RECORDER_SCOPED: as UE_RECORDER_FTRACE, but for some programs only
 * @UE_RECORDER_LIMITED: as UE_RECORDER_FTRACE or UE_RECORDER_SCOPED, with a limit
 * @UE_RECORDER_KINDS: number of kinds
 */
enum ue_recorder_kind {
	UE_RECORDER_FTRACE,
	UE_RECORDER_PERF,
	UE_RECORDER_SCOPED,
	UE_RECORDER_LIMITED,
	UE_RECORDER_KINDS
};

/**
 * struct ue_recorder - a recorder of an event
 * @node: entry in the list of the event
 * @kind: kind of the recorder
 * @file: event file of an ftrace instance, NULL for perf
 * @number: no other recorder ever has it
 * @scopes: bits of the scopes whose programs are recorded; 0 for all programs. Changed
 *	with event_mutex held, as @kind
 * @limit: of UE_RECORDER_LIMITED; changed with event_mutex held, read under RCU-sched
 * @rcu: frees the memory
 */
struct ue_recorder {
	struct list_head node;
	enum ue_recorder_kind kind;
	struct trace_event_file *file;
	unsigned long number;
	u64 scopes;
	struct ue_limit __rcu *limit;
	struct rcu_head rcu;
};

/**
 * struct ue_recorders - the recorders of an event
 * @list: of struct ue_recorder; changed with event_mutex held, read under
 *	RCU-sched
 * @nr: number of recorders of each kind; those with a limit are counted as
 *	UE_RECORDER_FTRACE or UE_RECORDER_SCOPED; changed with event_mutex held
 * @lost: number of payloads that a recorder dropped although the write
 *	succeeded
 * @suppressed: number of payloads beyond limits that have ended; changed with event_mutex
 *	held
 */
struct ue_recorders {
	struct list_head list;
	unsigned int nr[UE_RECORDER_KINDS];
	atomic_long_t lost;
	unsigned long suppressed;
};

/**
 * ue_recorder_prepare() - say what the next recorder of an ftrace instance has
 * @recorders: recorders of the event
 * @scopes: its scopes; 0: it records all programs
 * @limit: its limit, which it takes over; or NULL
 *
 * ue_recorder_prepare_end() has to follow.
 *
 * Context: event_mutex held until then.
 */
void ue_recorder_prepare(const struct ue_recorders *recorders, u64 scopes,
			 struct ue_limit *limit);

/**
 * ue_recorder_prepare_end() - end what ue_recorder_prepare() began
 *
 * The limit is freed if no recorder has taken it over.
 *
 * Context: event_mutex held.
 */
void ue_recorder_prepare_end(void);

/**
 * ue_recorders_init() - initialize an empty list
 * @recorders: recorders of the event
 *
 * Context: any.
 */
void ue_recorders_init(struct ue_recorders *recorders);

/**
 * ue_recorders_any() - check for recorders
 * @recorders: recorders of the event
 *
 * Context: any.
 * Return: true if there is a recorder.
 */
static inline bool ue_recorders_any(const struct ue_recorders *recorders)
{
	return !list_empty(&recorders->list);
}

/**
 * ue_recorder_add() - add a recorder
 * @recorders: recorders of the event
 * @file: event file of an ftrace instance, NULL for perf; the kernel keeps it
 *	until a grace period after the recorder is removed
 * @kind: set to the kind, as it is counted
 *
 * The recorder of an instance has what ue_recorder_prepare() says.
 *
 * Context: event_mutex held; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_recorder_add(struct ue_recorders *recorders,
		    struct trace_event_file *file, enum ue_recorder_kind *kind);

/**
 * ue_recorder_remove() - remove a recorder
 * @recorders: recorders of the event
 * @file: as passed to ue_recorder_add()
 *
 * Context: event_mutex held. Writes in progress may still record with it.
 * Return: its kind, as it was counted; UE_RECORDER_KINDS if there is none, which is a
 * fault of tracing.
 */
enum ue_recorder_kind ue_recorder_remove(struct ue_recorders *recorders,
					 struct trace_event_file *file);

/**
 * ue_recorder_set_scopes() - change for which programs an ftrace instance records
 * @recorders: recorders of the event
 * @file: as passed to ue_recorder_add(), not NULL
 * @scopes: bits of scopes; 0 for all programs
 *
 * Context: event_mutex held. Writes in progress may still record as before.
 * Return: true if there is one more or one less recorder of all programs.
 */
bool ue_recorder_set_scopes(struct ue_recorders *recorders,
			    struct trace_event_file *file, u64 scopes);

/**
 * ue_recorder_set_limit() - change the limit of the recorder of an ftrace instance
 * @recorders: recorders of the event
 * @file: as passed to ue_recorder_add(), not NULL
 * @limit: the new limit, or NULL; the recorder takes it over
 *
 * Context: event_mutex held. Writes in progress may still use the old limit.
 */
void ue_recorder_set_limit(struct ue_recorders *recorders,
			   struct trace_event_file *file, struct ue_limit *limit);

/**
 * ue_recorder_limit() - get the limit of the recorder of an ftrace instance
 * @recorders: recorders of the event
 * @file: as passed to ue_recorder_add(), not NULL
 *
 * Context: event_mutex held.
 * Return: the limit; NULL if it has none, or if there is no recorder.
 */
const struct ue_limit *ue_recorder_limit(const struct ue_recorders *recorders,
					 const struct trace_event_file *file);

/**
 * ue_recorders_suppressed() - count the payloads beyond limits
 * @recorders: recorders of the event
 *
 * Context: in an RCU read-side critical section.
 * Return: the number, as for ue_limit_suppressed().
 */
unsigned long ue_recorders_suppressed(const struct ue_recorders *recorders);

/**
 * ue_recorders_exhausted() - find out if limits forbid further records of a program
 * @recorders: recorders of the event
 * @scopes: bits of the scopes of the program
 * @process: its number
 *
 * perf is not looked at.
 *
 * Context: any task; does not sleep.
 * Return: true if instances record the program, all of them with a limit, and no limit
 * has a token for the program.
 */
bool ue_recorders_exhausted(const struct ue_recorders *recorders, u64 scopes,
			    pid_t process);

/**
 * ue_recorder_scopes() - get for which programs an ftrace instance records
 * @recorders: recorders of the event
 * @file: as passed to ue_recorder_add(), not NULL
 *
 * Context: event_mutex held.
 * Return: bits of scopes; 0 for all programs, or if there is no recorder.
 */
u64 ue_recorder_scopes(const struct ue_recorders *recorders,
		       const struct trace_event_file *file);

/**
 * ue_recorders_scopes() - get the scopes of all recorders
 * @recorders: recorders of the event
 *
 * Context: event_mutex held.
 * Return: the bits of all recorders; a recorder of all programs adds none.
 */
u64 ue_recorders_scopes(const struct ue_recorders *recorders);

/**
 * ue_recorder_file() - find the event file of a recorder
 * @recorders: recorders of the event
 * @number: from ue_recorder_number()
 *
 * Context: event_mutex held.
 * Return: the file; NULL if the recorder was removed.
 */
struct trace_event_file *ue_recorder_file(const struct ue_recorders *recorders,
					  unsigned long number);

/**
 * ue_recorder_number() - identify the recorder of an ftrace instance
 * @recorders: recorders of the event
 * @file: as passed to ue_recorder_add(), not NULL
 *
 * A recorder that is removed and added again gets another number.
 *
 * Context: event_mutex held.
 * Return: the number; 0 if there is no such recorder.
 */
unsigned long ue_recorder_number(const struct ue_recorders *recorders,
				 const struct trace_event_file *file);

/**
 * ue_recorders_have_all() - check for ftrace instances that record all programs
 * @recorders: recorders of the event
 *
 * Context: any; without event_mutex the result may be outdated.
 * Return: true if there is one.
 */
static inline bool ue_recorders_have_all(const struct ue_recorders *recorders)
{
	return READ_ONCE(recorders->nr[UE_RECORDER_FTRACE]);
}

#endif /* UE_RECORDER_H */
