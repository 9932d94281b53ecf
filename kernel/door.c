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

int ue_door_create(const char *name, umode_t mode,
		   const struct file_operations *operations,
		   struct dentry **door)
{
	*door = static_call(ue_tracefs_create_file)(name, mode, NULL, NULL,
						    operations);
	return *door ? 0 : -ENODEV;
}

void ue_door_remove(struct dentry *door)
{
	struct inode *inode = d_inode(door);

	ihold(inode);
	static_call(ue_tracefs_remove)(door);
	/* The name has gone; nor may what it stood for lead here any more. */
	make_bad_inode(inode);
	iput(inode);
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
