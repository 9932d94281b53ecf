/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Doors: the files in tracefs by which programs come in, and when they may.
 */
#ifndef UE_DOOR_H
#define UE_DOOR_H

#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/types.h>

/* For ue_doors_are_open(). */
extern bool ue_doors_opened;

/* ue_doors_are_open() - is all ready, and can nothing fail any more? */
static inline bool ue_doors_are_open(void)
{
	/* Pairs with ue_doors_open(). */
	return smp_load_acquire(&ue_doors_opened);
}

/**
 * ue_door_create() - make a file in tracefs
 * @name: of the file
 * @mode: its permissions
 * @operations: what it does, owned by this module. Its open() must fail until
 *	ue_doors_are_open().
 *
 * Context: in the module's init function; may sleep.
 * Return: 0, or -ENODEV when tracefs makes no file.
 */
int ue_door_create(const char *name, umode_t mode,
		   const struct file_operations *operations);

/**
 * ue_doors_remove() - take all of these files away
 *
 * Nobody begins to open one from here on, whatever way he has to it; opening
 * then fails with EIO. Who has begun, and has not got hold of the module yet,
 * is through with that after synchronize_rcu_tasks(). Before this, a module that is
 * being unloaded can't be got hold of any more: in the few instructions in
 * between, opening fails with a warning of the kernel's.
 *
 * Context: in the module's init or exit function; may sleep.
 */
void ue_doors_remove(void);

/* ue_doors_open() - let programs in. Nothing may fail afterwards. */
void ue_doors_open(void);

/**
 * ue_doors_wait() - wait for those that were turned away at a door
 *
 * The module is freed when it could not be loaded, whoever has got hold of it
 * meanwhile to be turned away.
 *
 * Context: in the module's init function, after ue_doors_remove() and
 * synchronize_rcu_tasks(); may sleep.
 */
void ue_doors_wait(void);

#endif /* UE_DOOR_H */
