// SPDX-License-Identifier: GPL-2.0-only
/*
 * Temporary memory for large payloads. Each CPU keeps one piece, large enough
 * for nearly all payloads. A task that takes the piece owns it until
 * ue_scratch_put(), even if the task moves to another CPU.
 *
 * By a page fault that is not answered, a program can hold such memory for any
 * time. So the memory is charged to the task that allocates it, also while a
 * CPU keeps the piece.
 */
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "format/scratch.h"

/* About the largest record of perf and, with pages of 4 KiB, more than the largest of ftrace. */
#define UE_SCRATCH_KEPT		SZ_8K

static DEFINE_PER_CPU(void *, ue_scratch);

void *ue_scratch_get(size_t size)
{
	void *scratch;

	if (unlikely(size > UE_SCRATCH_KEPT))
		return kvmalloc(size, GFP_KERNEL_ACCOUNT);
	scratch = this_cpu_xchg(ue_scratch, NULL);
	return likely(scratch) ? scratch :
				 kmalloc(UE_SCRATCH_KEPT, GFP_KERNEL_ACCOUNT);
}

void ue_scratch_put(void *scratch, size_t size)
{
	if (likely(size <= UE_SCRATCH_KEPT))
		scratch = this_cpu_xchg(ue_scratch, scratch);
	if (unlikely(scratch))
		kvfree(scratch);
}

void ue_scratch_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kfree(per_cpu(ue_scratch, cpu));
}
