// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scopes, and the address spaces that match them.
 *
 * An address space is described by the process that owns it (mm->owner): its own
 * process, or if processes share the memory, the one that has created it.
 *
 * Facts about a process are read without ue_enabler_mutex. A new scope, and a move
 * between control groups, change ue_generation with the mutex held, and only then are
 * the attached address spaces looked at. A task that looked before the change looks again.
 */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/glob.h>
#include <linux/limits.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>
#include <trace/events/cgroup.h>

#include "events/event.h"
#include "format/rule_parse.h"
#include "port/compat.h"
#include "port/debug_counter.h"
#include "port/kernel_hook.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mute.h"
#include "programs/scope.h"
#include "programs/stale.h"

/*
 * How long the work item waits at least after a process has moved to another control group, so that
 * it handles many moves at once.
 */
#define UE_RECHECK_DELAY	(HZ / 20)

/* The delay is at least this many times as long as looking at all address spaces took. */
#define UE_RECHECK_REST		10

/**
 * struct ue_scope - a scope
 * @text: the options as text; scopes with the same text and processes are one
 * @references: how many rules have the scope
 * @pids: the processes of pid=, not numbers: these may be given out again
 * @nr_pids: how many; 0 if any process matches
 * @uid: the list of user IDs, or NULL
 * @comm: the glob, or NULL
 * @exe: the glob, or NULL
 * @cgroup: the path in the unified hierarchy, or NULL
 */
struct ue_scope {
	char *text;
	unsigned int references;
	struct pid **pids;
	unsigned int nr_pids;
	char *uid;
	char *comm;
	char *exe;
	char *cgroup;
};

/*
 * Changed by one task at a time, with ue_enabler_mutex held; read with the mutex held
 * or under RCU.
 */
static struct ue_scope __rcu *ue_scopes[UE_SCOPES_MAX];

/* The scopes that there are, and those with a control group. Changed with ue_enabler_mutex held. */
static u64 ue_all_scopes, ue_cgroup_scopes;

/* See the comment of this file. Changed with ue_enabler_mutex held. */
static unsigned int ue_generation;

/* In jiffies. Only ue_recheck_cgroups() changes it. */
static unsigned long ue_recheck_delay = UE_RECHECK_DELAY;

static struct tracepoint *ue_move_tracepoint;

static bool ue_has_number(const char *list, u32 number)
{
	u32 one;

	while (ue_rule_next_number(&list, &one) > 0) {
		if (one == number)
			return true;
	}
	return false;
}

static bool ue_has_pid(const struct ue_scope *scope, struct task_struct *process)
{
	const struct pid *pid = task_tgid(process);

	for (unsigned int i = 0; i < scope->nr_pids; i++) {
		if (scope->pids[i] == pid)
			return true;
	}
	return !scope->nr_pids;
}

/**
 * struct ue_paths - paths of an owner
 * @cgroup: of its group; empty if not looked at yet
 * @exe: room for the path of its program
 */
struct ue_paths {
	char cgroup[PATH_MAX];
	char exe[PATH_MAX];
};

static bool ue_has_exe(const char *glob, struct task_struct *owner,
		       struct ue_paths *paths)
{
	struct file *file = static_call(ue_get_task_exe_file)(owner);
	const char *path;

	if (!file)
		return false;
	/* From the first root for any caller, and as named before it was replaced. */
	path = static_call(ue_d_absolute_path)(&file->f_path, paths->exe, PATH_MAX);
	fput(file);
	return !IS_ERR_OR_NULL(path) && glob_match(glob, path);
}

/* Is the group, or one above it, at @path? */
static bool ue_is_in_cgroup(const char *path, struct task_struct *owner,
			    struct ue_paths *paths)
{
	const size_t length = strlen(path);

	if (!paths->cgroup[0])
		ue_cgroup_path(owner, paths->cgroup, PATH_MAX);
	return length == 1 || (!strncmp(paths->cgroup, path, length) &&
			       (!paths->cgroup[length] ||
				paths->cgroup[length] == '/'));
}

/*
 * What takes least time comes first. If the main thread has ended, the owner is another thread.
 * Paths are taken from the owner, because an ended main thread has no program and does not move
 * between groups.
 */
static bool ue_scope_matches(const struct ue_scope *scope,
			     struct task_struct *owner, struct ue_paths *paths)
{
	struct task_struct *process = owner->group_leader;

	return ue_has_pid(scope, process) &&
	       (!scope->uid ||
		ue_has_number(scope->uid, __kuid_val(task_uid(process)))) &&
	       (!scope->comm || glob_match(scope->comm, process->comm)) &&
	       (!scope->cgroup ||
		ue_is_in_cgroup(scope->cgroup, owner, paths)) &&
	       (!scope->exe || ue_has_exe(scope->exe, owner, paths));
}

/*
 * A task that is being forked has no process yet. If the fork fails, the parts of the task are
 * freed without a grace period. The child itself looks which scopes match, before it runs.
 * Return: the owner; NULL if the memory has none that can be looked at.
 */
static struct task_struct *ue_scope_owner(struct mm_struct *mm)
{
	struct task_struct *owner = ue_mm_owner(mm);

	return owner && !(READ_ONCE(owner->__state) & (TASK_NEW | TASK_DEAD)) ?
	       owner : NULL;
}

/*
 * Return: the bits of those scopes in @of that match the owner of @mm, and the bits of
 * @before for the others; @before without an owner: the memory is at its beginning or
 * its end.
 */
static u64 ue_scopes_find(struct mm_struct *mm, u64 of, u64 before,
			  struct ue_paths *paths)
{
	u64 found = before & ~of;
	struct task_struct *owner;

	paths->cgroup[0] = '\0';
	rcu_read_lock();
	owner = ue_scope_owner(mm);
	if (!owner)
		found = before;
	for (; owner && of; of &= of - 1) {
		const int place = __ffs64(of);
		const struct ue_scope *scope = rcu_dereference(ue_scopes[place]);

		if (scope && ue_scope_matches(scope, owner, paths))
			found |= BIT_ULL(place);
	}
	rcu_read_unlock();
	return found;
}

/* An allocation of this size does not fail for long. */
static struct ue_paths *ue_paths_create(void)
{
	return kmalloc(sizeof(struct ue_paths), GFP_KERNEL | __GFP_NOFAIL);
}

bool ue_scopes_lock(struct ue_mm *ue_mm)
{
	u64 found = 0;
	bool differ;

	ue_enabler_lock();
	while (ue_all_scopes) {
		const unsigned int generation = ue_generation;
		const u64 all = ue_all_scopes;
		struct ue_paths *paths;

		ue_enabler_unlock();
		paths = ue_paths_create();
		found = ue_scopes_find(ue_mm->mm, all, 0, paths);
		kfree(paths);
		ue_enabler_lock();
		if (generation == ue_generation)
			break;
	}
	/* Bits of scopes that have ended say nothing. */
	found &= ue_all_scopes;
	differ = found != (ue_mm->scopes & ue_all_scopes);
	WRITE_ONCE(ue_mm->scopes, found);
	ue_mm_scopes_changed();
	return differ;
}

bool ue_current_has_scopes(u64 scopes)
{
	return ue_mm_scopes_in_write() & scopes;
}

/* Another recorder may record the program now, so it is not muted any more. */
static void ue_mm_update_all(struct ue_mm *ue_mm)
{
	ue_mutes_free(ue_mm);
	if (ue_mm->set->nr)
		ue_mm_set_stale(ue_mm);
}

/*
 * @update: an event may be recorded for one of the scopes. It is not known here which event that
 * is, so all bits are updated.
 */
static void ue_mm_set_scopes(struct ue_mm *ue_mm, u64 scopes, bool update)
{
	lockdep_assert_held(&ue_enabler_mutex);
	if (!ue_mm->set || ue_mm->scopes == scopes)
		return;
	WRITE_ONCE(ue_mm->scopes, scopes);
	ue_mm_scopes_changed();
	if (hlist_unhashed(&ue_mm->of_set))
		/* A forked child updates all its bits before it runs. */
		ue_mm->inherited_stale = true;
	else if (update)
		ue_mm_update_all(ue_mm);
	/* For children that are being forked, as in ue_update_enablers(). */
	smp_store_release(&ue_mm->set->changes, ue_mm->set->changes + 1);
}

/*
 * Looks anew which scopes in @of match an address space. Usually all of them match as
 * before. Then the mutex is not taken.
 */
static void ue_mm_recheck(struct ue_mm *ue_mm, u64 of, bool update,
			  struct ue_paths *paths)
{
	unsigned int generation;
	bool again;
	u64 found;

	do {
		generation = READ_ONCE(ue_generation);
		found = ue_scopes_find(ue_mm->mm, of, READ_ONCE(ue_mm->scopes),
				       paths);
		if (!((found ^ READ_ONCE(ue_mm->scopes)) & of))
			return;
		mutex_lock(&ue_enabler_mutex);
		again = generation != ue_generation;
		if (!again)
			ue_mm_set_scopes(ue_mm, (ue_mm->scopes & ~of) |
						(found & of & ue_all_scopes),
					 update);
		mutex_unlock(&ue_enabler_mutex);
	} while (again);
}

/* Return: 0; -ENOMEM. */
static int ue_mms_recheck(u64 of, bool update)
{
	struct ue_paths *paths = ue_paths_create();
	struct ue_mm **mms;
	int nr = ue_mms_get(&mms);

	for (int i = 0; i < nr; i++) {
		ue_mm_recheck(mms[i], of, update, paths);
		ue_mm_put(mms[i]);
		cond_resched();
	}
	if (nr >= 0)
		kvfree(mms);
	kfree(paths);
	return min(nr, 0);
}

static void ue_recheck_cgroups(struct work_struct *work);

static DECLARE_DELAYED_WORK(ue_recheck_work, ue_recheck_cgroups);

static void ue_generation_next(void)
{
	lockdep_assert_held(&ue_enabler_mutex);
	WRITE_ONCE(ue_generation, ue_generation + 1);
}

static void ue_recheck_later(void)
{
	queue_delayed_work(ue_unbound_wq, &ue_recheck_work,
			   READ_ONCE(ue_recheck_delay));
}

/*
 * Without memory, the work item runs again later. If a user moves programs all the time, the work
 * item takes about a tenth of a processor.
 */
static void ue_recheck_cgroups(struct work_struct *work)
{
	const unsigned long start = jiffies;
	int err;

	mutex_lock(&ue_enabler_mutex);
	ue_generation_next();
	mutex_unlock(&ue_enabler_mutex);
	err = ue_mms_recheck(READ_ONCE(ue_cgroup_scopes), true);
	WRITE_ONCE(ue_recheck_delay, max((jiffies - start) * UE_RECHECK_REST,
					 (unsigned long)UE_RECHECK_DELAY));
	if (err)
		ue_recheck_later();
}

/* Called with interrupts disabled, and with locks of control groups held. */
static void ue_move_probe(void *data, struct cgroup *to, const char *path,
			  struct task_struct *task, bool threadgroup)
{
	ue_recheck_later();
}

static int ue_watch_moves(void)
{
	check_trace_callback_type_cgroup_attach_task(ue_move_probe);
	ue_move_tracepoint = ue_tracepoint_find("cgroup_attach_task");
	if (!ue_move_tracepoint)
		return -EOPNOTSUPP;
	return tracepoint_probe_register(ue_move_tracepoint, ue_move_probe, NULL);
}

static void ue_stop_watching_moves(void)
{
	tracepoint_probe_unregister(ue_move_tracepoint, ue_move_probe, NULL);
	tracepoint_synchronize_unregister();
	cancel_delayed_work_sync(&ue_recheck_work);
}

static void ue_scope_free(struct ue_scope *scope)
{
	while (scope->nr_pids)
		put_pid(scope->pids[--scope->nr_pids]);
	kfree(scope->pids);
	kfree(scope->uid);
	kfree(scope->comm);
	kfree(scope->exe);
	kfree(scope->cgroup);
	kfree(scope->text);
	kfree(scope);
	ue_debug_count(UE_COUNT_SCOPES, -1);
}

/* Return: 0; -ENOENT if one of them does not exist; -ENOMEM. */
static int ue_scope_find_pids(struct ue_scope *scope, const char *list)
{
	/* Not more than there are characters. */
	scope->pids = kcalloc(strlen(list), sizeof(*scope->pids), GFP_KERNEL);
	if (!scope->pids)
		return -ENOMEM;
	for (u32 number; ue_rule_next_number(&list, &number) > 0;) {
		struct pid *pid = find_get_pid(number);

		if (!pid)
			return -ENOENT;
		scope->pids[scope->nr_pids++] = pid;
		if (!pid_has_task(pid, PIDTYPE_TGID))
			return -ENOENT;
	}
	return 0;
}

/* Return: whether the option could be copied, if there is one. */
static bool ue_copy_option(const struct ue_rule_text *rule,
			   enum ue_rule_option option, char **copy)
{
	*copy = kstrdup(rule->options[option], GFP_KERNEL);
	return *copy || !rule->options[option];
}

static int ue_scope_fill(struct ue_scope *scope, const struct ue_rule_text *rule)
{
	scope->text = ue_rule_scope_to_text(rule);
	if (!scope->text || !ue_copy_option(rule, UE_RULE_UID, &scope->uid) ||
	    !ue_copy_option(rule, UE_RULE_COMM, &scope->comm) ||
	    !ue_copy_option(rule, UE_RULE_EXE, &scope->exe) ||
	    !ue_copy_option(rule, UE_RULE_CGROUP, &scope->cgroup))
		return -ENOMEM;
	return rule->options[UE_RULE_PID] ?
	       ue_scope_find_pids(scope, rule->options[UE_RULE_PID]) : 0;
}

static struct ue_scope *ue_scope_create(const struct ue_rule_text *rule)
{
	struct ue_scope *scope = kzalloc(sizeof(*scope), GFP_KERNEL);
	int err;

	if (!scope)
		return ERR_PTR(-ENOMEM);
	ue_debug_count(UE_COUNT_SCOPES, 1);
	scope->references = 1;
	err = ue_scope_fill(scope, rule);
	if (!err)
		return scope;
	ue_scope_free(scope);
	return ERR_PTR(err);
}

static struct ue_scope *ue_scope_at(int place)
{
	/* The caller is the only task that changes scopes. */
	return rcu_dereference_protected(ue_scopes[place], true);
}

/* When the other scope was made, the same pid= number may have meant another process. */
static bool ue_scopes_equal(const struct ue_scope *one, const struct ue_scope *other)
{
	return !strcmp(one->text, other->text) && one->nr_pids == other->nr_pids &&
	       !memcmp(one->pids, other->pids,
		       one->nr_pids * sizeof(*one->pids));
}

/* Return: the place of an equal scope, or if there is none, a free one; -ENOSPC. */
static int ue_scope_place(const struct ue_scope *new)
{
	int free = -ENOSPC;

	for (int i = UE_SCOPES_MAX - 1; i >= 0; i--) {
		const struct ue_scope *scope = ue_scope_at(i);

		if (!scope)
			free = i;
		else if (ue_scopes_equal(scope, new))
			return i;
	}
	return free;
}

static void ue_scope_publish(int place, struct ue_scope *scope)
{
	const u64 bit = BIT_ULL(place);

	mutex_lock(&ue_enabler_mutex);
	rcu_assign_pointer(ue_scopes[place], scope);
	ue_all_scopes &= ~bit;
	ue_cgroup_scopes &= ~bit;
	if (scope)
		ue_all_scopes |= bit;
	if (scope && scope->cgroup)
		ue_cgroup_scopes |= bit;
	ue_generation_next();
	mutex_unlock(&ue_enabler_mutex);
}

/*
 * Address spaces keep the bit. It says nothing until another scope has the place, which
 * then sets or clears the bit everywhere.
 */
static void ue_scope_remove(int place)
{
	struct ue_scope *scope = ue_scope_at(place);

	ue_scope_publish(place, NULL);
	if (scope->cgroup && !ue_cgroup_scopes)
		ue_stop_watching_moves();
	synchronize_rcu();
	ue_scope_free(scope);
}

/* Frees the scope after a failure. */
static int ue_scope_add(int place, struct ue_scope *scope)
{
	int err = scope->cgroup && !ue_cgroup_scopes ? ue_watch_moves() : 0;

	if (err) {
		ue_scope_free(scope);
		return err;
	}
	ue_scope_publish(place, scope);
	err = ue_mms_recheck(BIT_ULL(place), false);
	if (err)
		ue_scope_remove(place);
	return err;
}

/* Consumes @scope. */
static int ue_scope_find_or_add(struct ue_scope *scope)
{
	const int place = ue_scope_place(scope);

	if (place >= 0 && !ue_scope_at(place))
		return ue_scope_add(place, scope) ?: place;
	ue_scope_free(scope);
	if (place >= 0)
		ue_scope_at(place)->references++;
	return place;
}

int ue_scope_get(const struct ue_rule_text *rule, u64 *scope)
{
	struct ue_scope *new;
	int place;

	*scope = 0;
	if (!ue_rule_has_scope(rule))
		return 0;
	if (!IS_ENABLED(CONFIG_MEMCG))
		return -EOPNOTSUPP;
	new = ue_scope_create(rule);
	if (IS_ERR(new))
		return PTR_ERR(new);
	place = ue_scope_find_or_add(new);
	if (place < 0)
		return place;
	*scope = BIT_ULL(place);
	return 0;
}

const char *ue_scope_reason(int err)
{
	switch (err) {
	case -ENOENT:
		return "no such process";
	case -ENOSPC:
		return "64 other sets of options are in use";
	case -EOPNOTSUPP:
		return "this kernel lacks memory cgroups or the tracepoint cgroup_attach_task";
	default:
		return "out of memory";
	}
}

void ue_scope_put(u64 scope)
{
	const int place = scope ? __ffs64(scope) : -1;

	if (place >= 0 && !--ue_scope_at(place)->references)
		ue_scope_remove(place);
}

static void ue_scopes_add(struct ue_scope_counts *counts, u64 scopes)
{
	for (; scopes; scopes &= scopes - 1)
		counts->of[__ffs64(scopes)]++;
}

int ue_scopes_count(struct ue_scope_counts *counts)
{
	struct ue_mm **mms;
	int nr = 0;

	memset(counts, 0, sizeof(*counts));
	if (!READ_ONCE(ue_all_scopes))
		return 0;
	nr = ue_mms_get(&mms);
	for (int i = 0; i < nr; i++) {
		ue_scopes_add(counts, READ_ONCE(mms[i]->scopes));
		ue_mm_put(mms[i]);
		cond_resched();
	}
	if (nr >= 0)
		kvfree(mms);
	return min(nr, 0);
}
