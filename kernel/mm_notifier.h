/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attaches address spaces to the module, and detaches them when they end.
 */
#ifndef UE_MM_NOTIFIER_H
#define UE_MM_NOTIFIER_H

struct mm_struct;
struct ue_enabler_set;

/**
 * ue_mm_attach() - attach an address space, until its last task exits
 * @mm: the address space, whose memory the caller holds (mmget())
 * @set: its set; on success the caller's reference becomes the address space's
 *
 * Context: may sleep; takes the mmap_lock, and waits for invalidations in
 * progress.
 * Return: 0; -EEXIST if it is attached already; -ENOMEM; -EINTR if a signal is
 * pending.
 */
int ue_mm_attach(struct mm_struct *mm, struct ue_enabler_set *set);

/**
 * ue_mm_detach_all() - detach all address spaces
 *
 * Context: at unload; may sleep. No set has enablers any more.
 */
void ue_mm_detach_all(void);

#endif /* UE_MM_NOTIFIER_H */
