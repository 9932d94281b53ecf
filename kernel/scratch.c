// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for large payloads. Each CPU keeps one piece of the size that nearly
 * all of them fit into; whoever takes it has it alone, wherever he goes on.
 */
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "scratch.h"

/* More than perf takes, and than a sub-buffer of the usual size holds. */
#define UE_SCRATCH_KEPT		SZ_8K

static DEFINE_PER_CPU(void *, ue_scratch);

void *ue_scratch_get(size_t size)
{
	void *scratch;

	if (unlikely(size > UE_SCRATCH_KEPT))
		return kvmalloc(size, GFP_KERNEL);
	scratch = this_cpu_xchg(ue_scratch, NULL);
	return likely(scratch) ? scratch : kmalloc(UE_SCRATCH_KEPT, GFP_KERNEL);
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
