// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files in tracefs. The kernel's own are there for ever; ours come and go, and
 * whoever has found one can have kept it: an O_PATH descriptor and a bind mount
 * hold a file without having it open, and so without holding the module.
 */
#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/module.h>

#include "door.h"
#include "kernel_symbols.h"

bool ue_doors_opened;

/* Changed while the module is loaded and unloaded, by nobody else. */
static struct dentry *ue_doors[2];
static int ue_nr_doors;

int ue_door_create(const char *name, umode_t mode,
		   const struct file_operations *operations)
{
	struct dentry *door;

	if (WARN_ON_ONCE(ue_nr_doors == ARRAY_SIZE(ue_doors)))
		return -ENODEV;
	door = static_call(ue_tracefs_create_file)(name, mode, NULL, NULL,
						   operations);
	if (!door)
		return -ENODEV;
	ue_doors[ue_nr_doors++] = door;
	return 0;
}

/* At once for all of them: removing one may have to wait for who lists them. */
static void ue_doors_shut(void)
{
	for (int i = 0; i < ue_nr_doors; i++) {
		ihold(d_inode(ue_doors[i]));
		make_bad_inode(d_inode(ue_doors[i]));
	}
}

void ue_doors_remove(void)
{
	ue_doors_shut();
	while (ue_nr_doors) {
		struct dentry *door = ue_doors[--ue_nr_doors];
		struct inode *inode = d_inode(door);

		static_call(ue_tracefs_remove)(door);
		iput(inode);
	}
}

void ue_doors_open(void)
{
	/* Pairs with ue_doors_are_open(). */
	smp_store_release(&ue_doors_opened, true);
}

void ue_doors_wait(void)
{
	/* One is of who loads the module. */
	while (module_refcount(THIS_MODULE) > 1)
		msleep(20);
}
