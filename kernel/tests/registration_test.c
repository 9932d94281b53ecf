// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registrations of address spaces that fork and exit while events are enabled and
 * disabled: every order of these steps. After each step the suite checks the bits,
 * which sets are shared, and the users of the events.
 *
 * The address spaces are real; the test's thread uses them in turns. A fork takes
 * two steps, as in fork.c, so that other steps can run in between.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>

#include "event_stub.h"
#include "format/rule_parse.h"
#include "port/debug_counter.h"
#include "port/kernel_symbols.h"
#include "programs/enabler.h"
#include "programs/fork.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/mm_attach.h"
#include "programs/registration.h"
#include "programs/scope.h"
#include "programs/stale.h"
#include "programs/update.h"
#include "programs/user_bit.h"

/* In place of kernel_symbols.c. Copies are reported by the tests themselves. */
void *ue_exit_mmap_entry;
void *ue_uprobe_dup_mmap_entry;
DEFINE_STATIC_CALL_RET0(ue_task_work_cancel_match, task_work_cancel_match);

#define UE_TEST_PROCESSES	3
#define UE_TEST_BITS		2

#define UE_TEST_ADDRESS		0x10000000UL

/* Another bit of the word, which nothing may change. */
#define UE_TEST_NEIGHBOUR	0x80000000U

/* Two bits of one word; each follows its own event. */
static const struct ue_user_bit ue_test_bits[UE_TEST_BITS] = {
	{ .address = UE_TEST_ADDRESS, .nr = 0, .size = 4 },
	{ .address = UE_TEST_ADDRESS, .nr = 5, .size = 4 },
};

enum ue_test_life {
	UE_TEST_ABSENT,
	UE_TEST_FORKED,		/* has not run yet */
	UE_TEST_ALIVE,
};

struct ue_test_process {
	enum ue_test_life life;
	struct mm_struct *mm;
	/* What is expected: */
	unsigned int registered;	/* a bit for each of ue_test_bits */
	int set;			/* equal numbers: the set is shared */
};

struct ue_test_world {
	struct ue_test_process processes[UE_TEST_PROCESSES];
	struct ue_event *events;
	unsigned int enabled;
	int last_set;
	int module_users;
};

/* The world and its processes */

static u32 __user *ue_test_memory(void)
{
	return (u32 __user *)UE_TEST_ADDRESS;
}

/* Between enter and leave, no assertion may end the test. */
static void ue_test_enter(struct ue_test_process *process)
{
	kthread_use_mm(process->mm);
}

static void ue_test_leave(struct ue_test_process *process)
{
	kthread_unuse_mm(process->mm);
}

static u32 ue_test_read(struct ue_test_process *process)
{
	u32 value = 0;

	ue_test_enter(process);
	if (get_user(value, ue_test_memory()))
		value = ~0;
	ue_test_leave(process);
	return value;
}

static void ue_test_begin(struct kunit *test, struct ue_test_process *process,
			  u32 value)
{
	unsigned long address;
	int err;

	process->mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, process->mm);
	ue_test_enter(process);
	address = vm_mmap(NULL, UE_TEST_ADDRESS, PAGE_SIZE,
			  PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0);
	err = put_user(value, ue_test_memory());
	ue_test_leave(process);
	KUNIT_ASSERT_EQ(test, address, UE_TEST_ADDRESS);
	KUNIT_ASSERT_EQ(test, err, 0);
}

static void ue_test_create_world(struct kunit *test,
				 struct ue_test_world *world)
{
	struct ue_test_process *first = &world->processes[0];

	*world = (struct ue_test_world){
		.events = test->priv,
		.module_users = module_refcount(THIS_MODULE),
	};
	ue_test_begin(test, first, UE_TEST_NEIGHBOUR);
	first->life = UE_TEST_ALIVE;
}

/* Whether no process with a lower number shares its set. */
static bool ue_test_is_first(const struct ue_test_world *world, int nr)
{
	for (int i = 0; i < nr; i++)
		if (world->processes[i].set == world->processes[nr].set)
			return false;
	return true;
}

static bool ue_test_counts_are_right(const struct ue_test_world *world)
{
	int sets = 0, users[UE_TEST_BITS] = { };

	for (int i = 0; i < UE_TEST_PROCESSES; i++) {
		const struct ue_test_process *process = &world->processes[i];

		if (!process->registered || !ue_test_is_first(world, i))
			continue;
		sets++;
		for (int bit = 0; bit < UE_TEST_BITS; bit++)
			users[bit] += !!(process->registered & BIT(bit));
	}
	for (int bit = 0; bit < UE_TEST_BITS; bit++)
		if (ue_stub_users(&world->events[bit]) != users[bit])
			return false;
	return module_refcount(THIS_MODULE) == world->module_users + sets;
}

/* The processes have no tasks, which would do this. */
static void ue_test_refresh(struct ue_test_world *world)
{
	for (int i = 0; i < UE_TEST_PROCESSES; i++) {
		struct ue_test_process *process = &world->processes[i];
		struct ue_mm *ue_mm;

		if (process->life != UE_TEST_ALIVE)
			continue;
		ue_test_enter(process);
		ue_mm = ue_mm_find_current();
		if (ue_mm)
			ue_mm_refresh(ue_mm);
		ue_test_leave(process);
	}
}

/* The steps: whether each is possible now, and how it runs */

/* A process that changes a shared set gets a copy. */
static void ue_test_own_set(struct ue_test_world *world,
			    struct ue_test_process *process)
{
	bool shared = !process->set;

	for (int i = 0; i < UE_TEST_PROCESSES; i++) {
		struct ue_test_process *other = &world->processes[i];

		shared |= other != process && other->set == process->set;
	}
	if (shared)
		process->set = ++world->last_set;
}

static bool ue_test_alive(struct ue_test_world *world, int process)
{
	return world->processes[process].life == UE_TEST_ALIVE;
}

static bool ue_can_register(struct ue_test_world *world, int process, int bit)
{
	return ue_test_alive(world, process) &&
	       !(world->processes[process].registered & BIT(bit));
}

static void ue_do_register(struct kunit *test, struct ue_test_world *world,
			   int nr, int bit)
{
	struct ue_test_process *process = &world->processes[nr];
	u64 id;
	int err;

	ue_test_own_set(world, process);
	process->registered |= BIT(bit);
	ue_test_enter(process);
	err = ue_register(&world->events[bit], &ue_test_bits[bit], &id);
	ue_test_leave(process);
	KUNIT_EXPECT_EQ(test, err, 0);
}

static bool ue_can_unregister(struct ue_test_world *world, int process,
			      int bit)
{
	return ue_test_alive(world, process) &&
	       world->processes[process].registered & BIT(bit);
}

static void ue_do_unregister(struct kunit *test, struct ue_test_world *world,
			     int nr, int bit)
{
	struct ue_test_process *process = &world->processes[nr];
	int err;

	ue_test_own_set(world, process);
	process->registered &= ~BIT(bit);
	ue_test_enter(process);
	err = ue_unregister(ue_test_bits[bit].address,
			    ue_test_bits[bit].nr);
	ue_test_leave(process);
	KUNIT_EXPECT_EQ(test, err, 0);
}

static int ue_test_child(struct ue_test_world *world)
{
	int nr = 0;

	while (nr < UE_TEST_PROCESSES &&
	       world->processes[nr].life != UE_TEST_ABSENT)
		nr++;
	return nr;
}

static bool ue_can_fork(struct ue_test_world *world, int process, int unused)
{
	return ue_test_alive(world, process) &&
	       ue_test_child(world) < UE_TEST_PROCESSES;
}

static void ue_do_fork(struct kunit *test, struct ue_test_world *world,
		       int nr, int unused)
{
	struct ue_test_process *parent = &world->processes[nr];
	struct ue_test_process *child =
		&world->processes[ue_test_child(world)];

	ue_test_begin(test, child, ue_test_read(parent));
	child->life = UE_TEST_FORKED;
	child->registered = parent->registered;
	child->set = parent->registered ? parent->set : 0;

	ue_fork_copy(parent->mm, child->mm);
	KUNIT_EXPECT_EQ(test, !!ue_fork_child(parent->mm, child->mm),
			!!child->registered);
}

static bool ue_can_run(struct ue_test_world *world, int process, int unused)
{
	return world->processes[process].life == UE_TEST_FORKED;
}

static void ue_do_run(struct kunit *test, struct ue_test_world *world, int nr,
		      int unused)
{
	struct ue_test_process *child = &world->processes[nr];
	struct ue_mm *ue_mm = ue_mm_find(child->mm);

	child->life = UE_TEST_ALIVE;
	if (!ue_mm)
		return;
	ue_test_enter(child);
	ue_fork_first_run(ue_mm);
	ue_test_leave(child);
}

static bool ue_can_exit(struct ue_test_world *world, int process, int unused)
{
	return world->processes[process].life != UE_TEST_ABSENT;
}

static void ue_do_exit(struct kunit *test, struct ue_test_world *world, int nr,
		       int unused)
{
	struct ue_test_process *process = &world->processes[nr];

	mmput(process->mm);
	ue_mm_detach_ended();
	*process = (struct ue_test_process){ };
}

static bool ue_can_toggle(struct ue_test_world *world, int event, int unused)
{
	return event < UE_TEST_BITS;
}

static void ue_do_toggle(struct kunit *test, struct ue_test_world *world,
			 int nr, int unused)
{
	struct ue_event *event = &world->events[nr];

	world->enabled ^= BIT(nr);
	mutex_lock(ue_event_mutex);
	ue_stub_enable(event, world->enabled & BIT(nr));
	ue_update_event(event);
	mutex_unlock(ue_event_mutex);
	/* An update that takes too long, as on a busy machine, leaves bits to a work item. */
	ue_updates_finish();
	ue_test_refresh(world);
}

struct ue_test_step {
	const char *name;
	int nr_bits;
	bool (*can)(struct ue_test_world *world, int nr, int bit);
	void (*run)(struct kunit *test, struct ue_test_world *world, int nr,
		    int bit);
};

static const struct ue_test_step ue_test_steps[] = {
	{ "register", UE_TEST_BITS, ue_can_register, ue_do_register },
	{ "unregister", UE_TEST_BITS, ue_can_unregister, ue_do_unregister },
	{ "fork", 1, ue_can_fork, ue_do_fork },
	{ "run", 1, ue_can_run, ue_do_run },
	{ "exit", 1, ue_can_exit, ue_do_exit },
	{ "toggle", 1, ue_can_toggle, ue_do_toggle },
};

/* A choice is a number that means a step, a process and a bit. */
#define UE_TEST_CHOICES \
	((int)ARRAY_SIZE(ue_test_steps) * UE_TEST_PROCESSES * UE_TEST_BITS)

static const struct ue_test_step *ue_test_step_of(int choice)
{
	return &ue_test_steps[choice / UE_TEST_BITS / UE_TEST_PROCESSES];
}

/* Return: false if the step is not possible now. */
static bool ue_test_step(struct kunit *test, struct ue_test_world *world,
			 int choice)
{
	const struct ue_test_step *step = ue_test_step_of(choice);
	int nr = choice / UE_TEST_BITS % UE_TEST_PROCESSES;
	int bit = choice % UE_TEST_BITS;

	if (bit >= step->nr_bits || !step->can(world, nr, bit))
		return false;
	step->run(test, world, nr, bit);
	return true;
}

/* What must hold after each step */

static u32 ue_test_expected_bits(const struct ue_test_world *world,
				 const struct ue_test_process *process)
{
	u32 value = UE_TEST_NEIGHBOUR;

	for (int bit = 0; bit < UE_TEST_BITS; bit++)
		if (process->registered & world->enabled & BIT(bit))
			value |= BIT(ue_test_bits[bit].nr);
	return value;
}

static bool ue_test_is_as_expected(const struct ue_test_world *world,
				   struct ue_test_process *process)
{
	bool good = true;

	if (process->life != UE_TEST_ALIVE)
		return true;
	if (ue_test_read(process) != ue_test_expected_bits(world, process))
		good = false;
	ue_test_enter(process);
	for (int bit = 0; bit < UE_TEST_BITS; bit++)
		if (ue_registered(ue_test_bits[bit].address,
				  ue_test_bits[bit].nr) !=
		    !!(process->registered & BIT(bit)))
			good = false;
	ue_test_leave(process);
	return good;
}

static bool ue_test_is_consistent(struct ue_test_world *world)
{
	for (int i = 0; i < UE_TEST_PROCESSES; i++)
		if (!ue_test_is_as_expected(world, &world->processes[i]))
			return false;
	return ue_test_counts_are_right(world);
}

static void ue_test_end_world(struct kunit *test, struct ue_test_world *world)
{
	for (int i = 0; i < UE_TEST_PROCESSES; i++)
		if (ue_can_exit(world, i, 0))
			ue_do_exit(test, world, i, 0);
	for (int i = 0; i < UE_TEST_BITS; i++)
		if (world->enabled & BIT(i))
			ue_do_toggle(test, world, i, 0);
	KUNIT_EXPECT_TRUE(test, ue_test_counts_are_right(world));
}

/* Sequences of steps */

static const char *ue_test_history(const int *choices, int nr)
{
	static char text[2048];
	int length = 0;

	for (int i = 0; i < nr; i++)
		length += scnprintf(text + length, sizeof(text) - length,
				    "%s %d,%d; ",
				    ue_test_step_of(choices[i])->name,
				    choices[i] / UE_TEST_BITS %
				    UE_TEST_PROCESSES,
				    choices[i] % UE_TEST_BITS);
	return text;
}

#define UE_TEST_DEPTH_MAX	3

/* Register both bits, fork, run the child. */
static const int ue_test_prologue[] = {
	0, 1, 2 * UE_TEST_PROCESSES * UE_TEST_BITS,
	(3 * UE_TEST_PROCESSES + 1) * UE_TEST_BITS,
};

/* Each row ends hundreds of address spaces, so the depths are small. */
static const struct ue_test_start {
	const char *what;
	int prologue;
	int depth;
} ue_test_starts[] = {
	{ "from nothing", 0, 3 },
	{ "from both bits registered", 2, 2 },
	{ "from a child that has not run", 3, 2 },
	{ "from a child that has run", 4, 2 },
};

KUNIT_ARRAY_PARAM_DESC(ue_test_start, ue_test_starts, what);

/*
 * Runs the first steps of the prologue, then those of @choices. A step that is not
 * possible is replaced by the next one that is. Return: how many were run, which is
 * fewer than all if no step was possible.
 */
static int ue_test_sequence(struct kunit *test,
			    const struct ue_test_start *start, int *choices)
{
	struct ue_test_world world;
	int done;

	ue_test_create_world(test, &world);
	for (int i = 0; i < start->prologue; i++)
		KUNIT_EXPECT_TRUE(test, ue_test_step(test, &world,
						     ue_test_prologue[i]));
	for (done = 0; done < start->depth; done++) {
		while (choices[done] < UE_TEST_CHOICES &&
		       !ue_test_step(test, &world, choices[done]))
			choices[done]++;
		if (choices[done] == UE_TEST_CHOICES)
			break;
		KUNIT_EXPECT_TRUE_MSG(test, ue_test_is_consistent(&world),
				      "%s: %s", start->what,
				      ue_test_history(choices, done + 1));
	}
	ue_test_end_world(test, &world);
	return done;
}

/* All sequences, from each start. */
static void ue_every_sequence_test(struct kunit *test)
{
	const struct ue_test_start *start = test->param_value;
	int choices[UE_TEST_DEPTH_MAX] = { };
	int sequences = 0, done;

	while ((done = ue_test_sequence(test, start, choices))) {
		sequences += done == start->depth;
		/* Next: another last step, then all that follow it. */
		choices[done - 1]++;
		for (int i = done; i < start->depth; i++)
			choices[i] = 0;
		cond_resched();
	}
	kunit_info(test, "%d sequences of %d steps", sequences, start->depth);
	KUNIT_EXPECT_GT(test, sequences, 0);
}

/* Whether no process would be left alive after this step. */
static bool ue_test_is_last_exit(struct ue_test_world *world, int choice)
{
	int nr = choice / UE_TEST_BITS % UE_TEST_PROCESSES;

	if (ue_test_step_of(choice)->run != ue_do_exit)
		return false;
	for (int i = 0; i < UE_TEST_PROCESSES; i++)
		if (i != nr && ue_test_alive(world, i))
			return false;
	return true;
}

/* Random long sequences, the same in each run. */
static void ue_long_sequences_test(struct kunit *test)
{
	struct rnd_state random;
	int choices[64];

	prandom_seed_state(&random, 1);
	for (int walk = 0; walk < 60; walk++) {
		struct ue_test_world world;
		int nr = 0;

		ue_test_create_world(test, &world);
		while (nr < ARRAY_SIZE(choices)) {
			choices[nr] = prandom_u32_state(&random) %
				UE_TEST_CHOICES;
			if (ue_test_is_last_exit(&world, choices[nr]) ||
			    !ue_test_step(test, &world, choices[nr]))
				continue;
			nr++;
			KUNIT_EXPECT_TRUE_MSG(test, ue_test_is_consistent(&world), "%s",
					      ue_test_history(choices, nr));
		}
		ue_test_end_world(test, &world);
		cond_resched();
	}
}

/* Errors */

/* Registers in a set whose counter is at its maximum. */
static int ue_test_register_too_many(struct ue_test_world *world)
{
	struct ue_enabler_set *set = ue_mm_find_current()->set;
	unsigned int nr = set->nr;
	u64 id;
	int err;

	set->nr = UINT_MAX;
	err = ue_register(&world->events[1], &ue_test_bits[1], &id);
	set->nr = nr;
	return err;
}

static void ue_errors_test(struct kunit *test)
{
	const struct ue_user_bit *bit = &ue_test_bits[0];
	const struct ue_user_bit elsewhere = {
		.address = UE_TEST_ADDRESS + PAGE_SIZE, .size = 4
	};
	struct ue_test_world world;
	struct ue_test_process *process = &world.processes[0];
	struct ue_event *event;
	int errors[6];
	u64 id;

	ue_test_create_world(test, &world);
	event = &world.events[0];
	ue_test_enter(process);
	errors[0] = ue_unregister(bit->address, bit->nr);
	errors[1] = ue_register(event, bit, &id);
	errors[2] = ue_register(event, bit, &id);
	errors[3] = ue_register(event, &elsewhere, &id);
	errors[4] = ue_unregister(elsewhere.address, elsewhere.nr);
	errors[5] = ue_test_register_too_many(&world);
	ue_test_leave(process);
	process->registered = BIT(0);
	process->set = 1;

	KUNIT_EXPECT_EQ(test, errors[0], -ENOENT);
	KUNIT_EXPECT_EQ(test, errors[1], 0);
	KUNIT_EXPECT_EQ(test, errors[2], -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, errors[3], -EFAULT);
	KUNIT_EXPECT_EQ(test, errors[4], -ENOENT);
	KUNIT_EXPECT_EQ(test, errors[5], -ENOMEM);
	KUNIT_EXPECT_TRUE(test, ue_test_is_consistent(&world));
	ue_test_end_world(test, &world);
}

/*
 * Of two threads that register the first bits of a program at the same time, one
 * finds that the other has inserted the address space. The table compares only
 * the address of the mm_struct.
 */
static void ue_insert_twice_test(struct kunit *test)
{
	struct mm_struct *mm = kunit_kzalloc(test, sizeof(*mm), GFP_KERNEL);
	struct ue_mm *first, *second;

	KUNIT_ASSERT_NOT_NULL(test, mm);
	/* For the references below not to be the last ones. */
	mmgrab(mm);
	first = ue_mm_create(mm, GFP_KERNEL);
	second = ue_mm_create(mm, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_ASSERT_NOT_NULL(test, second);

	KUNIT_EXPECT_EQ(test, ue_mm_insert(first), 0);
	KUNIT_EXPECT_EQ(test, ue_mm_insert(second), -EEXIST);
	rcu_read_lock();
	KUNIT_EXPECT_PTR_EQ(test, ue_mm_find(mm), first);
	rcu_read_unlock();
	ue_mm_erase(first);
	ue_mm_put(first);
	ue_mm_put(second);
}

/* An undo ends its own registration, not a later one of the same bit. */
static void ue_undo_test(struct kunit *test)
{
	const struct ue_user_bit *bit = &ue_test_bits[0];
	struct ue_test_world world;
	struct ue_test_process *process = &world.processes[0];
	struct ue_event *event;
	bool before, other, own;
	u64 first, second;

	ue_test_create_world(test, &world);
	event = &world.events[0];
	ue_test_enter(process);
	ue_register(event, bit, &first);
	before = ue_registered(bit->address, bit->nr);
	ue_unregister(bit->address, bit->nr);
	ue_register(event, bit, &second);
	ue_register_undo(bit, first);
	other = ue_registered(bit->address, bit->nr);
	ue_register_undo(bit, second);
	own = ue_registered(bit->address, bit->nr);
	ue_test_leave(process);

	KUNIT_EXPECT_TRUE(test, before);
	KUNIT_EXPECT_NE(test, first, second);
	KUNIT_EXPECT_TRUE(test, other);
	KUNIT_EXPECT_FALSE(test, own);
	KUNIT_EXPECT_TRUE(test, ue_test_is_consistent(&world));
	ue_test_end_world(test, &world);
}

/*
 * Process 0 has registered, and the memory of 1 and 2 are copies of its own. Its
 * event has changed since.
 */
static void ue_test_create_copies(struct kunit *test,
				  struct ue_test_world *world)
{
	struct ue_test_process *parent = &world->processes[0];

	ue_test_create_world(test, world);
	ue_do_register(test, world, 0, 0);
	for (int nr = 1; nr <= 2; nr++)
		ue_test_begin(test, &world->processes[nr],
			      ue_test_read(parent));
	ue_do_toggle(test, world, 0, 0);
}

/* Process 1 inherits the set that its parent has when it is about to run. */
static void ue_test_inherit_late(struct kunit *test,
				 struct ue_test_world *world)
{
	struct ue_test_process *parent = &world->processes[0],
		*child = &world->processes[1];

	KUNIT_EXPECT_TRUE(test, ue_fork_child(parent->mm, child->mm));
	child->registered = parent->registered;
	child->set = parent->set;
	ue_do_run(test, world, 1, 0);
	KUNIT_EXPECT_TRUE(test, ue_test_is_consistent(world));
}

/* Process 2 inherits nothing. */
static void ue_test_inherit_nothing(struct kunit *test,
				    struct ue_test_world *world)
{
	struct ue_test_process *child = &world->processes[2];

	KUNIT_EXPECT_FALSE(test, ue_fork_child(world->processes[0].mm,
					       child->mm));
	child->life = UE_TEST_ALIVE;
	KUNIT_EXPECT_TRUE(test, ue_test_is_consistent(world));
}

/*
 * A copy that could not be attached is attached when its child is about to run.
 * Other children of the parent are not: they would inherit what was registered
 * since.
 */
static void ue_pending_fork_test(struct kunit *test)
{
	struct ue_test_world world;

	ue_test_create_copies(test, &world);
	ue_fork_leave_copy(world.processes[0].mm, world.processes[1].mm);
	/* As if the copy for process 2 had been reported before process 0 registered. */
	ue_test_inherit_nothing(test, &world);
	ue_test_inherit_late(test, &world);
	ue_test_end_world(test, &world);
}

/* Return: the copy, which no process has. */
static struct mm_struct *ue_test_leave_copy(struct kunit *test,
					    struct ue_test_world *world)
{
	struct mm_struct *copy = mm_alloc();

	KUNIT_ASSERT_NOT_NULL(test, copy);
	ue_fork_leave_copy(world->processes[0].mm, copy);
	return copy;
}

/* A copy that could not be attached, and whose fork fails, leaves no entry. */
static void ue_pending_fork_failed_test(struct kunit *test)
{
	struct ue_test_world world;

	ue_test_create_copies(test, &world);
	for (int i = 0; i < 100; i++) {
		/* Calls exit_mmap(). */
		mmput(ue_test_leave_copy(test, &world));
	}
	ue_fork_leave_copy(world.processes[0].mm, world.processes[1].mm);
	ue_test_inherit_nothing(test, &world);
	ue_test_inherit_late(test, &world);
	ue_test_end_world(test, &world);
}

/* More than 64 copies at a time cannot be noted. */
static void ue_pending_forks_test(struct kunit *test)
{
	struct ue_test_world world;
	struct mm_struct *copies[64];

	ue_test_create_copies(test, &world);
	for (int i = 0; i < ARRAY_SIZE(copies); i++)
		copies[i] = ue_test_leave_copy(test, &world);
	ue_fork_leave_copy(world.processes[0].mm, world.processes[2].mm);
	ue_test_inherit_nothing(test, &world);
	mmput(copies[0]);
	ue_fork_leave_copy(world.processes[0].mm, world.processes[1].mm);
	ue_test_inherit_late(test, &world);
	for (int i = 1; i < ARRAY_SIZE(copies); i++)
		mmput(copies[i]);
	ue_test_end_world(test, &world);
}

static int ue_test_references_at_start;

/* Sees the set that an address space has when it becomes stale. */
static int ue_test_see_start(struct kprobe *probe, struct pt_regs *regs)
{
	const struct ue_mm *ue_mm =
		(void *)regs_get_kernel_argument(regs, 0);

	ue_test_references_at_start = atomic_read(&ue_mm->set->references);
	return 0;
}

/*
 * A process gets a set of its own while an update has not reached its bit. The
 * process is stale before it has the copy: a fork that takes the copy must see
 * that the bit is to be updated.
 */
static void ue_copy_in_update_test(struct kunit *test)
{
	struct kprobe probe = {
		.addr = (void *)ue_mm_set_stale,
		.pre_handler = ue_test_see_start,
	};
	struct ue_test_world world;

	ue_test_create_world(test, &world);
	ue_do_register(test, &world, 0, 0);
	ue_do_register(test, &world, 0, 1);
	ue_do_fork(test, &world, 0, 0);
	ue_do_run(test, &world, 1, 0);
	ue_test_references_at_start = 0;
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe), 0);
	mutex_lock(&ue_enabler_mutex);
	world.events[0].update++;
	mutex_unlock(&ue_enabler_mutex);
	ue_do_unregister(test, &world, 1, 1);
	unregister_kprobe(&probe);
	/*
	 * The set has references of both processes, and of the copy in
	 * progress.
	 */
	KUNIT_EXPECT_EQ(test, ue_test_references_at_start, 3);
	ue_test_refresh(&world);
	ue_test_end_world(test, &world);
}

/* The program exits after an update has found it alive, while its page is pinned. */
static struct mm_struct *ue_test_exiting;

static int ue_test_exit_in_pin(struct kretprobe_instance *unused,
			       struct pt_regs *regs)
{
	if (ue_test_exiting)
		atomic_dec(&ue_test_exiting->mm_users);
	ue_test_exiting = NULL;
	return 0;
}

/* Return: the process that a walk meets next; -1 at its end. */
static int ue_test_next(struct ue_test_world *world, struct ue_set_walk *walk)
{
	struct ue_mm *ue_mm;
	int nr = -1;

	mutex_lock(&ue_enabler_mutex);
	ue_mm = ue_set_walk_next(walk);
	for (int i = 0; ue_mm && i < UE_TEST_PROCESSES; i++)
		if (world->processes[i].mm == ue_mm->mm)
			nr = i;
	mutex_unlock(&ue_enabler_mutex);
	return nr;
}

static void ue_test_fork_and_run(struct kunit *test, struct ue_test_world *world, int nr)
{
	ue_do_fork(test, world, 0, 0);
	ue_do_run(test, world, nr, 0);
}

/* Processes exit and unshare the set while a task goes through those of the set. */
static void ue_set_walk_test(struct kunit *test)
{
	struct ue_set_walk walk = { }, second = { };
	struct ue_enabler_set *set;
	struct ue_test_world world;

	ue_test_create_world(test, &world);
	ue_do_register(test, &world, 0, 0);
	ue_test_fork_and_run(test, &world, 1);
	ue_test_fork_and_run(test, &world, 2);
	set = ue_mm_find(world.processes[0].mm)->set;
	mutex_lock(&ue_enabler_mutex);
	ue_set_walk_begin(&walk, set);
	ue_set_walk_begin(&second, set);
	mutex_unlock(&ue_enabler_mutex);
	/* The newest comes first. */
	KUNIT_EXPECT_EQ(test, ue_test_next(&world, &walk), 2);
	/* One walk is at the process that exits, the other before it. */
	ue_do_exit(test, &world, 1, 0);
	KUNIT_EXPECT_EQ(test, ue_test_next(&world, &walk), 0);
	KUNIT_EXPECT_EQ(test, ue_test_next(&world, &second), 2);
	/* The last one gets a set of its own. */
	ue_do_register(test, &world, 0, 1);
	KUNIT_EXPECT_EQ(test, ue_test_next(&world, &second), -1);
	KUNIT_EXPECT_EQ(test, ue_test_next(&world, &walk), -1);
	mutex_lock(&ue_enabler_mutex);
	ue_set_walk_end(&walk);
	ue_set_walk_end(&walk);
	mutex_unlock(&ue_enabler_mutex);
	/* The last of the set exits, so that the set is freed and its walk ends. */
	ue_do_exit(test, &world, 2, 0);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&second.of_set));
	mutex_lock(&ue_enabler_mutex);
	ue_set_walk_end(&second);
	mutex_unlock(&ue_enabler_mutex);
	ue_test_end_world(test, &world);
}

/* A child that joins the set during a walk of an update is not met, and updates its own bits. */
static void ue_fork_in_walk_test(struct kunit *test)
{
	struct ue_set_walk walk = { };
	struct ue_test_world world;

	ue_test_create_world(test, &world);
	ue_do_register(test, &world, 0, 0);
	ue_do_fork(test, &world, 0, 0);
	mutex_lock(&ue_enabler_mutex);
	ue_set_walk_begin(&walk, ue_mm_find(world.processes[0].mm)->set);
	KUNIT_EXPECT_NOT_NULL(test, ue_set_walk_next(&walk));
	KUNIT_EXPECT_NULL(test, ue_set_walk_next(&walk));
	mutex_unlock(&ue_enabler_mutex);
	/* The memory was copied before the bit was written. */
	mutex_lock(ue_event_mutex);
	ue_stub_enable(&world.events[0], true);
	mutex_unlock(ue_event_mutex);
	ue_do_run(test, &world, 1, 0);
	KUNIT_EXPECT_EQ(test, ue_test_read(&world.processes[1]), UE_TEST_NEIGHBOUR | BIT(0));
	mutex_lock(&ue_enabler_mutex);
	ue_set_walk_end(&walk);
	mutex_unlock(&ue_enabler_mutex);
	mutex_lock(ue_event_mutex);
	ue_stub_enable(&world.events[0], false);
	ue_update_event(&world.events[0]);
	mutex_unlock(ue_event_mutex);
	ue_test_refresh(&world);
	ue_test_end_world(test, &world);
}

/* The bit of such a program is not written. */
static void ue_exit_in_update_test(struct kunit *test)
{
	struct kretprobe probe = {
		.kp.symbol_name = "pin_user_pages_remote",
		.handler = ue_test_exit_in_pin,
	};
	struct ue_test_world world;
	struct ue_test_process *process = &world.processes[0];
	int err;

	ue_test_create_world(test, &world);
	ue_do_register(test, &world, 0, 0);
	/* As an update does, so that the memory outlives the program. */
	mmget(process->mm);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe), 0);
	ue_test_exiting = process->mm;
	mmap_read_lock(process->mm);
	err = ue_user_bit_write(process->mm, 1, &ue_test_bits[0], true, NULL);
	mmap_read_unlock(process->mm);
	unregister_kretprobe(&probe);
	KUNIT_EXPECT_NULL(test, ue_test_exiting);
	KUNIT_EXPECT_EQ(test, err, -ESRCH);
	KUNIT_EXPECT_EQ(test, ue_test_read(process), UE_TEST_NEIGHBOUR);
	ue_test_end_world(test, &world);
}

/* A killed task leaves the bits to others, and bits are written only as long as they are stale. */
static void ue_stale_test(struct kunit *test)
{
	struct ue_test_world world;
	struct ue_test_process *process = &world.processes[0];
	struct ue_mm *ue_mm;
	u32 values[2] = { };
	int errors[2];

	ue_test_create_world(test, &world);
	ue_do_register(test, &world, 0, 0);
	mutex_lock(ue_event_mutex);
	ue_stub_enable(&world.events[0], true);
	mutex_unlock(ue_event_mutex);

	ue_test_enter(process);
	ue_mm = ue_mm_find_current();
	errors[0] = ue_mm_update(ue_mm);
	mutex_lock(&ue_enabler_mutex);
	ue_mm_set_stale(ue_mm);
	mutex_unlock(&ue_enabler_mutex);
	ue_stub_kill();
	errors[1] = ue_mm_update(ue_mm);
	ue_stub_revive();
	if (get_user(values[0], ue_test_memory()))
		values[0] = ~0;
	ue_mm_refresh(ue_mm);
	if (get_user(values[1], ue_test_memory()))
		values[1] = ~0;
	ue_test_leave(process);
	KUNIT_EXPECT_EQ(test, errors[0], 0);
	KUNIT_EXPECT_EQ(test, errors[1], -EINTR);
	KUNIT_EXPECT_EQ(test, values[0], UE_TEST_NEIGHBOUR);
	KUNIT_EXPECT_EQ(test, values[1], UE_TEST_NEIGHBOUR | BIT(0));
	KUNIT_EXPECT_FALSE(test, ue_mm->stale);
	world.enabled = BIT(0);
	KUNIT_EXPECT_TRUE(test, ue_test_is_consistent(&world));
	ue_test_end_world(test, &world);
}

/*
 * While a program forks, the owner of the child's memory is a task without a process: a fork
 * that fails takes its parts away. Scopes look at other owners only.
 */
static void ue_scope_in_fork_test(struct kunit *test)
{
	const struct ue_rule_text rule = {
		.name = "*", .options[UE_RULE_UID] = "0",
	};
	struct task_struct *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	struct ue_test_world world;
	struct ue_scope_counts counts;
	struct mm_struct *mm;
	u64 scope;

	KUNIT_ASSERT_NOT_NULL(test, child);
	child->group_leader = child;
	ue_test_create_world(test, &world);
	ue_do_register(test, &world, 0, 0);
	mm = world.processes[0].mm;
	for (int i = 0; i < 3; i++) {
		WRITE_ONCE(child->__state, i ? TASK_DEAD : TASK_NEW);
		rcu_assign_pointer(mm->owner, i < 2 ? child : current);
		KUNIT_EXPECT_EQ(test, ue_scope_get(&rule, &scope), 0);
		KUNIT_EXPECT_EQ(test, ue_scopes_count(&counts), 0);
		KUNIT_EXPECT_EQ(test, ue_scope_count(&counts, scope), i == 2);
		ue_scope_put(scope);
	}
	ue_test_end_world(test, &world);
}

static int ue_test_find_exit_mmap(void)
{
	struct kprobe probe = {
		.symbol_name = "exit_mmap",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&probe);

	if (err)
		return err;
	ue_exit_mmap_entry = probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

static int ue_test_setup(struct kunit *test)
{
	int err = ue_test_find_exit_mmap();

	if (err)
		return err;
	test->priv = ue_stub_events(test, UE_TEST_BITS);
	return ue_registrations_init();
}

static void ue_test_teardown(struct kunit *test)
{
	ue_registrations_exit();
	ue_debug_counters_check();
}

static struct kunit_case ue_registration_cases[] = {
	KUNIT_CASE(ue_pending_fork_test),
	KUNIT_CASE(ue_pending_fork_failed_test),
	KUNIT_CASE(ue_copy_in_update_test),
	KUNIT_CASE(ue_set_walk_test),
	KUNIT_CASE(ue_fork_in_walk_test),
	KUNIT_CASE(ue_exit_in_update_test),
	KUNIT_CASE(ue_stale_test),
	KUNIT_CASE_PARAM(ue_every_sequence_test, ue_test_start_gen_params),
	KUNIT_CASE(ue_long_sequences_test),
	KUNIT_CASE(ue_errors_test),
	KUNIT_CASE(ue_insert_twice_test),
	KUNIT_CASE(ue_undo_test),
	KUNIT_CASE(ue_scope_in_fork_test),
	KUNIT_CASE(ue_pending_forks_test),
	{ }
};

static struct kunit_suite ue_registration_suite = {
	.name = "user_events_registration",
	.init = ue_test_setup,
	.exit = ue_test_teardown,
	.test_cases = ue_registration_cases,
};

kunit_test_suite(ue_registration_suite);
