/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaches address spaces to the module, and detaches them when they end.
 */
#ifndef UE_MM_ATTACH_H
#define UE_MM_ATTACH_H

struct mm_struct;
struct ue_enabler_set;

/**
 * ue_mm_attach() - attach an address space until it ends
 * @mm: the address space, whose memory the caller holds (mmget())
 * @set: its set; on success the caller's reference becomes the address space's
 *
 * Context: may sleep.
 * Return: 0; -EEXIST if it is attached already; -ENOMEM.
 */
int ue_mm_attach(struct mm_struct *mm, struct ue_enabler_set *set);

/**
 * ue_mm_detach_ended() - wait for the work item that detaches address spaces
 *
 * Afterwards, the address spaces that ended in a kernel thread before the call
 * are detached. The others are detached by the task in which they ended, on its
 * way to user space or while it exits.
 *
 * Context: may sleep.
 */
void ue_mm_detach_ended(void);

/**
 * ue_mm_attach_init() - begin to track the ends of address spaces
 *
 * Return: 0; an error of ue_kernel_hook_add(); -ENOMEM.
 */
int ue_mm_attach_init(void);

/**
 * ue_mm_attach_exit() - detach all address spaces
 *
 * Context: at unload; may sleep. No set has enablers any more.
 */
void ue_mm_attach_exit(void);

#endif /* UE_MM_ATTACH_H */
